/** Older pages of a conversation in front of what a snapshot brought. Order and cursor are sequence numbers only. */
import type { SessionView } from "../protocol/session-view.ts";
import type { HistoryPage } from "./api.ts";

/** Puts a page in front. Rows that are there already are not added again. */
export function withOlder(view: SessionView, page: Pick<HistoryPage, "rows" | "hasMore">): SessionView {
  const oldest = view.rows[0]?.seq ?? Infinity;
  const older = page.rows.filter((row) => row.seq < oldest);
  const rows = older.length === 0 ? view.rows : [...older, ...view.rows];
  return { ...view, rows, oldestSeq: rows[0]?.seq ?? null, hasMore: page.hasMore };
}

/**
 * A snapshot replaces what is held, except that older pages stay when they join it without a gap: what a person scrolled
 * back to read stays where it is after a reconnect or a server restart.
 */
export function takeSession(snapshot: SessionView, held: SessionView | null): SessionView {
  const first = snapshot.oldestSeq;
  if (held === null || first === null || !snapshot.hasMore) return snapshot;
  const older = held.rows.filter((row) => row.seq < first);
  const joins = held.rows.some((row) => row.seq >= first);
  if (!joins || older.length === 0) return snapshot;
  const known = new Map(held.rows.map((row) => [row.seq, row]));
  const rows = snapshot.rows.map((row) => {
    const same = known.get(row.seq);
    return same?.kind === row.kind && same.at === row.at ? same : row;
  });
  return { ...snapshot, rows: [...older, ...rows], oldestSeq: older[0]?.seq ?? first, hasMore: held.hasMore };
}
