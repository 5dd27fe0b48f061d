/**
 * The log: append-only, one writer per owner (design §12). All implementations pass `test/suites/journal`.
 * A batch is one transaction: all of its rows are on disk when `append` answers `done`, or none ever counts.
 */
export type RowKind = "actor" | "part" | "payload" | "transcript" | "ledger";

export interface LogRow {
  shard: string;
  kind: RowKind;
  /**
   * actor: address · part: `address collection entry` (spaces; the entry may hold any character) · payload: payload id ·
   * transcript: session address · ledger: effect key, or `address`.
   */
  key: string;
  /** Small JSON, read at every start for actors and parts. */
  head: string;
  /** JSON or text; null when there is none (a part that is gone). */
  body: string | null;
}

export interface StoredRow extends LogRow {
  epoch: number;
  commit: number;
  /** Place within the commit, from 0. */
  n: number;
}

export interface Batch {
  epoch: number;
  /** One more than the last one of this epoch; the first is 1. */
  commit: number;
  rows: readonly LogRow[];
}

export interface Journal {
  /** Opens and gives this opening its epoch, above all earlier ones. Throws SomoraError STORE_UNREADABLE (bytes kept aside), never loops. */
  open(): Promise<{ epoch: number }>;
  /**
   * A compare-and-set on (epoch, commit − 1): the same batch twice is one. `fenced` is final: a newer epoch owns the log.
   * Throws on I/O; then the batch's fate may be open: `reopen`, then `append` the same batch again.
   */
  append(batch: Batch): Promise<"done" | "fenced">;
  /** After a failure: closes everything, opens again under the same epoch, looks up the last commit. Throws when it cannot. */
  reopen(): Promise<{ lastCommit: number }>;
  /** The newest row per key of kinds actor and part, in order of (epoch, commit, n). */
  newest(): Promise<StoredRow[]>;
  /** Rows after a place, oldest first. */
  tail(after: { epoch: number; commit: number; n: number }, limit: number): Promise<StoredRow[]>;
  /** In small chunks between commits: superseded actor and part rows older than `before` (wall ms in the head's `at`), payloads nothing names. Returns rows deleted. */
  prune(before: number): Promise<number>;
  /** Removes what a deleted session left: its transcript, and the superseded rows of actors and parts at and below it. Newest rows (tombstones) and the ledger stay. */
  erase(session: string): Promise<void>;
  checkpoint(): Promise<void>;
  close(): Promise<void>;
  readonly reader: LogReader;
}

export interface LedgerSum {
  agent: string | null;
  model: string | null;
  /** `YYYY-MM-DD`, the server's time zone. */
  day: string | null;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
  /** Null when nothing priced was in it. */
  costUsd: number | null;
  /** Rows whose cost is not known. */
  unknown: number;
  estimated: boolean;
}

/** Reads on a connection of their own; they see committed rows only and never hold up the writer. */
/** `failures`: turns that failed; `restarts`: openings of the store; `questions`: questions to a person that came up. */
export interface ActivityBucket {
  at: number;
  commits: number;
  questions: number;
  failures: number;
  restarts: number;
}

export interface LogReader {
  /** Transcript rows of a session with number < before (or the newest), oldest first, at most `limit`. Bodies as stored. */
  transcript(session: string, options: { before?: number; limit: number }): Promise<StoredRow[]>;
  /** Texts by payload id; ids that are not there are absent. */
  payloads(ids: readonly string[]): Promise<Map<string, string>>;
  /** All rows of one actor, oldest first, the last `limit`. */
  story(address: string, limit: number): Promise<StoredRow[]>;
  /** The newest row of each actor whose head says `at` (wall clock) or earlier, oldest first; of those that had gone by then too. */
  actorsAt(at: number): Promise<StoredRow[]>;
  /** What happened from `from` to before `to`, in buckets of `bucketMs` wall clock; buckets in which nothing did are absent. */
  activity(span: { from: number; to: number; bucketMs: number }): Promise<ActivityBucket[]>;
  ledger(query: { by: ("agent" | "model" | "day")[]; under?: string; since?: number }): Promise<LedgerSum[]>;
  counts(): Promise<Record<RowKind, number>>;
}
