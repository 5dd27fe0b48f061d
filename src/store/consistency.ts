/**
 * Whether the log hangs together: asked after a database was opened and before anything is written to it.
 *
 * Every row knows how many rows its commit has (`size`) and which commit with rows came before it (`previous`), so a commit
 * that is half there and one that is missing show by themselves. Only the newest epoch is looked at: each opening looks
 * before it begins the next one. Up to the place that pruning and erasing reached last (`horizon`) rows may be missing.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { rowsOf } from "./database.ts";
import type { MarkPlace } from "./mark.ts";
import type { LostCommits } from "./report.ts";
import { BROKEN_COMMITS, LAST_PLACE, OPENINGS } from "./schema.ts";

export interface Standing {
  /** The newest epoch that was opened (0: none), and its last commit. */
  last: MarkPlace;
  /** The newest epoch's first commit that does not follow whole on `before`; null when all hang together. */
  broken: { commit: number; before: number; why: string } | null;
  /** Rows of another store are among ours, or rows stand twice: in words. */
  foreign: string | null;
  /** The highest format an opening of this store wrote. */
  format: number;
}

/** `linked`: the rows know size and predecessor of their commits (from format 2 on). */
export async function standingOf(connection: DuckDBConnection, linked: boolean): Promise<Standing> {
  const [opening] = await rowsOf(connection, OPENINGS);
  const [unopened = 0, doubled = 0, stores = 0, format = 0, stray = 0] = (opening ?? []).map(Number);
  const last = await lastPlace(connection);
  const broken = linked ? await rowsOf(connection, BROKEN_COMMITS, [last.epoch]) : [];
  const [first] = broken;
  const twice = broken.find(([, , tooMany]) => tooMany === true);
  let foreign: string | null = null;
  if (doubled > 0) foreign = "an epoch was opened twice";
  else if (stores > 1) foreign = "it holds rows of another store";
  else if (unopened > 0) foreign = "it holds commits of an epoch that was never opened here";
  else if (stray > 0) foreign = "its last rows belong to an epoch that was over";
  else if (twice !== undefined) foreign = `commit ${String(twice[0])} of epoch ${last.epoch} stands there twice`;
  return {
    last,
    broken: first === undefined ? null : { commit: Number(first[0]), before: Number(first[3]), why: String(first[1]) },
    foreign,
    format,
  };
}

/** The newest epoch and its last commit; rows that were pruned count as there. */
export async function lastPlace(connection: DuckDBConnection, epoch: number | null = null): Promise<MarkPlace> {
  const [row] = await rowsOf(connection, LAST_PLACE, [epoch]);
  return { epoch: Number(row?.[0] ?? 0), commit: Number(row?.[1] ?? 0) };
}

/** What the mark knows to have been acknowledged and the log does not hold. */
export function lostSince(last: MarkPlace, mark: MarkPlace | null): LostCommits[] {
  if (mark === null || mark.epoch < last.epoch) return [];
  if (mark.epoch === last.epoch) return mark.commit > last.commit ? [{ epoch: mark.epoch, from: last.commit + 1, to: mark.commit }] : [];
  const lost: LostCommits[] = [];
  // An opening makes the epochs before it durable, so only those between can be unknown.
  if (mark.epoch > last.epoch + 1) lost.push({ epoch: last.epoch, from: last.commit + 1, to: null });
  if (mark.commit > 0) lost.push({ epoch: mark.epoch, from: 1, to: mark.commit });
  return lost;
}
