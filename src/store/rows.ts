/** Rows between the log table and the port. */
import type { DuckDBAppender, DuckDBValue } from "@duckdb/node-api";
import type { Batch, RowKind, StoredRow } from "../ports/journal.port.ts";
import type { Blobs } from "./blobs.ts";

/** The columns of `readRows`, in its order. */
export const COLUMNS = "epoch, commit, n, shard, kind, key, head, body";

/** Puts the rows of a batch into the appender; `bodies` are what `Blobs.store` made of theirs, `previous` the commit with rows before it. Nothing is on disk yet. */
export function appendRows(appender: DuckDBAppender, batch: Batch, bodies: readonly (string | null)[], previous = batch.commit - 1): void {
  const commit = BigInt(batch.commit);
  const before = BigInt(previous);
  let n = 0;
  for (const row of batch.rows) {
    const body = bodies[n] ?? null;
    appender.appendInteger(batch.epoch);
    appender.appendBigInt(commit);
    appender.appendInteger(n);
    appender.appendVarchar(row.shard);
    appender.appendVarchar(row.kind);
    appender.appendVarchar(row.key);
    appender.appendVarchar(row.head);
    if (body === null) appender.appendNull();
    else appender.appendVarchar(body);
    appender.appendInteger(batch.rows.length);
    appender.appendBigInt(before);
    appender.endRow();
    n++;
  }
}

/** Large bodies are fetched from their files. */
export async function readRows(rows: readonly DuckDBValue[][], blobs: Blobs): Promise<StoredRow[]> {
  const stored: StoredRow[] = [];
  for (const [epoch, commit, n, shard, kind, key, head, body] of rows) {
    stored.push({
      epoch: Number(epoch),
      commit: Number(commit),
      n: Number(n),
      shard: String(shard),
      kind: String(kind) as RowKind,
      key: String(key),
      head: String(head),
      body: body === null || body === undefined ? null : await blobs.load(String(body)),
    });
  }
  return stored;
}
