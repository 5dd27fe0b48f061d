/** Waits as arrows beside the rows of the tree: from who waits to whom it waits for, each in a lane of its own. Pure. */
import type { WaitView } from "../protocol/waits.ts";
import type { TreeRow } from "./tree-rows.ts";

export interface WaitArrow {
  /** Numbers of rows. */
  from: number;
  to: number;
  /** 0 is nearest to the rows; arrows of one lane never overlap. */
  lane: number;
  stuck: boolean;
}

/** An end that is folded away is drawn at the row that hides it; an arrow within one row is none. */
export function waitArrows(rows: readonly TreeRow[], waits: readonly WaitView[]): WaitArrow[] {
  const at = new Map(rows.flatMap((row, index) => (row.more === undefined ? [[row.node.address, index] as const] : [])));
  const drawn = new Map<string, WaitArrow>();
  for (const wait of waits) {
    const [from, to] = [rowOf(wait.from, at), rowOf(wait.on ?? wait.to, at)];
    if (from === null || to === null || from === to) continue;
    const stuck = wait.stuck !== null || drawn.get(`${from} ${to}`)?.stuck === true;
    drawn.set(`${from} ${to}`, { from, to, lane: 0, stuck });
  }
  const lanes: number[][][] = [];
  for (const arrow of [...drawn.values()].sort((a, b) => Math.abs(a.to - a.from) - Math.abs(b.to - b.from))) {
    const [top, bottom] = [Math.min(arrow.from, arrow.to), Math.max(arrow.from, arrow.to)];
    const free = lanes.findIndex((taken) => taken.every(([first = 0, last = 0]) => bottom < first || top > last));
    arrow.lane = free < 0 ? lanes.length : free;
    (lanes[arrow.lane] ??= []).push([top, bottom]);
  }
  return [...drawn.values()];
}

function rowOf(address: string, at: ReadonlyMap<string, number>): number | null {
  for (let up = address; up !== ""; up = up.slice(0, up.lastIndexOf("/"))) {
    const found = at.get(up);
    if (found !== undefined) return found;
  }
  return null;
}
