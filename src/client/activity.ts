/** What happened when, for the time strip: its span, its bars, and the moments one can step to. Pure. */
import { count } from "./words.ts";

export interface Activity {
  at: number;
  commits: number;
  questions: number;
  failures: number;
  restarts: number;
}

export const BUCKET_MS = 30_000;
/** Stepping looks this closely: what was committed within it is one step. */
export const FINE_MS = 100;
const HOUR = 3_600_000;
/** A server that has just begun is not drawn as two wide bars. */
const SHORTEST = 600_000;

/** Buckets stand at whole half minutes, so that one keeps its place while the strip moves on. `to` is the end of the bucket that runs. */
export function hourBefore(now: number): { from: number; to: number } {
  const to = (Math.floor(now / BUCKET_MS) + 1) * BUCKET_MS;
  return { from: to - HOUR, to };
}

/** The last hour, or since the first thing that happened in it. */
export function spanOf(buckets: readonly Activity[], to: number): { from: number; to: number } {
  const first = buckets[0]?.at ?? to;
  return { from: Math.max(to - HOUR, Math.min(first, to - SHORTEST)), to };
}

/** From 0 to 1: a root, so that one commit can be seen beside five hundred. */
export function barsOf(buckets: readonly Activity[]): { at: number; height: number }[] {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.commits));
  return buckets.filter((bucket) => bucket.commits > 0).map(({ at, commits }) => ({ at, height: Math.sqrt(commits / most) }));
}

/** `12 commits, 1 question, 1 failed turn`, or nothing. */
export function activityWords(bucket: Activity | undefined): string {
  if (bucket === undefined) return "";
  const parts: [number, string][] = [
    [bucket.commits, "commit"],
    [bucket.questions, "question"],
    [bucket.failures, "failed turn"],
    [bucket.restarts, "start of the server"],
  ];
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, word]) => (word.startsWith("start") && amount > 1 ? `${amount} starts of the server` : count(amount, word)))
    .join(", ");
}

/**
 * The next (1) or last (-1) moment at which something had just been committed, seen from `at`. `fine` gives what happened between
 * two times in steps of `FINE_MS`. Null: there is none in these buckets.
 */
export async function stepFrom(
  at: number,
  by: 1 | -1,
  buckets: readonly Activity[],
  fine: (from: number, to: number) => Promise<readonly Activity[]>,
): Promise<number | null> {
  for (const bucket of by === 1 ? buckets : buckets.toReversed()) {
    const [first, last] = [bucket.at + FINE_MS - 1, bucket.at + BUCKET_MS - 1];
    if (by === 1 ? last <= at : first >= at) continue;
    const moments = (await fine(bucket.at, bucket.at + BUCKET_MS)).map((one) => one.at + FINE_MS - 1);
    const found = by === 1 ? moments.find((moment) => moment > at) : moments.findLast((moment) => moment < at);
    if (found !== undefined) return found;
  }
  return null;
}
