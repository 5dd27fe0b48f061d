/** Hash routes: the address bar is the only memory of where the page is. */
import { useSyncExternalStore } from "react";

export type Route =
  | { place: "talk"; agent: string; session: string; row: number | null }
  | { place: "tree"; query: string; at: number | null }
  | { place: "actor"; address: string }
  | { place: "home" };

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/u, "").split("?");
  const parts = path.split("/").filter((part) => part !== "");
  const [place, ...rest] = parts.map(safeDecode);
  const search = new URLSearchParams(query);
  if (place === "talk" && rest[0] !== undefined) {
    const row = Number(search.get("row"));
    return { place: "talk", agent: rest[0], session: rest[1] ?? "main", row: Number.isInteger(row) && row > 0 ? row : null };
  }
  if (place === "tree") return { place: "tree", query: search.get("q") ?? "", at: Number(search.get("at")) || null };
  if (place === "actor") return { place: "actor", address: `/${rest.join("/")}` };
  return { place: "home" };
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a typed percent sign is just that
  }
}

export const talkHref = (agent: string, session: string): string => `#/talk/${encodeURIComponent(agent)}/${encodeURIComponent(session)}`;
export const actorHref = (address: string): string => `#/actor${address}`;

let cached: { hash: string; route: Route } | null = null;
function current(): Route {
  const { hash } = window.location;
  if (cached?.hash !== hash) cached = { hash, route: parseRoute(hash) };
  return cached.route;
}
function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current);
}

export function goTo(href: string, replace = false): void {
  if (replace) window.location.replace(href);
  else window.location.hash = href;
}
