/** The order of rows in the log: (epoch, commit, n). */
import type { StoredRow } from "../ports/journal.port.ts";

export type Place = Pick<StoredRow, "epoch" | "commit" | "n">;

export function comparePlaces(a: Place, b: Place): number {
  return a.epoch - b.epoch || a.commit - b.commit || a.n - b.n;
}
