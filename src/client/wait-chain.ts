/** A wait followed to its end: who waits for whom, for what, since when; the last link is who can end it. Pure. */
import { type Address, isWithin, placeOf } from "../protocol/ids.ts";
import type { WaitView } from "../protocol/waits.ts";

export interface ChainLink {
  /** The line of work or actor this link is about. */
  address: string;
  /** What it waits for; null on the last link, which waits for nobody. */
  wait: { on: string; why: string; since: number; stuck: boolean } | null;
  /** It stands above already: nothing in this circle can move. */
  closed: boolean;
}

/** Empty when nobody waits here. Follows the longest standing wait at each link. */
export function waitChain(address: string, waits: readonly WaitView[]): ChainLink[] {
  const links: ChainLink[] = [];
  const passed = new Set<WaitView>();
  for (let at = address as Address; ;) {
    const next = waits
      .filter((wait) => isWithin(wait.from, at))
      .toSorted((a, b) => Number(b.blocks) - Number(a.blocks) || a.since - b.since)[0];
    if (next === undefined || passed.has(next)) {
      if (links.length > 0) links.push({ address: at, wait: null, closed: next !== undefined });
      return links;
    }
    passed.add(next);
    const on = next.onLine ?? next.on ?? next.to;
    links.push({ address: next.line, wait: { on, why: next.why, since: next.since, stuck: next.stuck !== null }, closed: false });
    at = on;
  }
}

/** `marlow / main`, `marlow / main: turns/turn_1`, else the address. */
export function lineName(address: string): string {
  const { agent, session } = placeOf(address as Address);
  if (agent === undefined) return address;
  if (session === undefined) return address === `/agents/${agent}` ? agent : address.slice("/agents/".length);
  const rest = address.split("/").slice(5).join("/");
  return `${agent} / ${session}${rest === "" ? "" : `: ${rest}`}`;
}
