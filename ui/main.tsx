/** Starts the page: pairs when the address carries a code, makes the one client, mounts the frame. */
import "./styles/page.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createClient, keepInMemory, openWebSocket, realTime, RequestFailed, type Keep } from "../src/client/index.ts";
import { App } from "./frame/app.tsx";
import { applyTheme } from "./frame/page-state.ts";
import { ClientContext } from "./hooks/use-client.ts";

applyTheme();

function storage(): Keep {
  try {
    localStorage.getItem("somora.outbox");
    return localStorage;
  } catch {
    return keepInMemory(); // the browser forbids storage: drafts live as long as the page
  }
}

/** A frame when somebody looks, else a timer: a hidden tab gets no frames and must not fall behind. */
function batch(flush: () => void): void {
  if (document.visibilityState === "visible") requestAnimationFrame(flush);
  else setTimeout(flush, 50);
}

const live = new URL("/live", window.location.href);
live.protocol = live.protocol.replace("http", "ws");
const client = createClient({
  open: openWebSocket(live.href),
  fetch: (url, init) => fetch(url, init),
  keep: storage(),
  time: realTime,
  batch,
});

/** The code is single-use: it leaves the address bar before anything else happens. */
async function pair(): Promise<string | null> {
  const code = /^#pair=(.+)$/u.exec(window.location.hash)?.[1];
  if (code === undefined) return null;
  window.history.replaceState(null, "", `${window.location.pathname}${window.location.search}`);
  try {
    await client.api.pair(decodeURIComponent(code));
    return null;
  } catch (error) {
    return error instanceof RequestFailed ? error.message : String(error);
  }
}

const said = await pair();
client.start();
window.addEventListener("online", client.wake);
window.addEventListener("pageshow", client.wake);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") client.wake();
});
window.addEventListener("storage", (event) => {
  if (event.key === "somora.outbox") client.outbox.reload();
  if (event.key === "somora.seen") client.unread.reload();
});

const root = document.getElementById("page");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <ClientContext value={client}>
        <App pairingSaid={said} />
      </ClientContext>
    </StrictMode>,
  );
}
