/** Opens an address in the person's browser, only where there is a desktop with somebody in front of it. */
import { spawn } from "node:child_process";

export interface BrowserPlace {
  platform: NodeJS.Platform;
  env: Readonly<Record<string, string | undefined>>;
  /** Standard output is a terminal. */
  terminal: boolean;
  /** False with `--no-open`. */
  wanted: boolean;
}

/** Why no browser is opened here, or null when one is. */
export function whyNoBrowser({ platform, env, terminal, wanted }: BrowserPlace): string | null {
  if (!wanted) return "--no-open was given";
  if (env["CI"] !== undefined && env["CI"] !== "" && env["CI"] !== "false") return "CI is set";
  if (!terminal) return "standard output is no terminal";
  if (env["SSH_CONNECTION"] || env["SSH_CLIENT"] || env["SSH_TTY"]) return "this is an ssh session";
  if (platform === "darwin") return null;
  if (platform === "win32") return "opening a browser is not built for Windows";
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? null : "there is no desktop (neither DISPLAY nor WAYLAND_DISPLAY is set)";
}

/** A program that opens a browser and stays with it counts as good after this. */
const PATIENCE_MS = 2_000;

/** True when the system's opener took the address. Never rejects: a person can always open the address by hand. */
export async function openBrowser(address: string, place: BrowserPlace): Promise<boolean> {
  if (whyNoBrowser(place) !== null) return false;
  const opener = place.platform === "darwin" ? "open" : "xdg-open";
  return new Promise((resolve) => {
    // Its own group: Ctrl-C in our terminal is not meant for the browser.
    const child = spawn(opener, [address], { stdio: "ignore", detached: true, env: { ...place.env } });
    const patience = setTimeout(() => resolve(true), PATIENCE_MS);
    const end = (taken: boolean): void => {
      clearTimeout(patience);
      resolve(taken);
    };
    child.once("error", () => end(false));
    child.once("exit", (code) => end(code === 0));
    child.unref();
  });
}
