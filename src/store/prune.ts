/**
 * Deletes what nobody needs any more, in small chunks that the writer runs between commits: rows of actors and parts that
 * a newer row stands over, and payloads that no row names. Newest rows, transcript and ledger are never touched.
 *
 * What to delete is found on the reader's connection. That it may go stays true while commits go on: a superseded row
 * stays superseded, and a payload is named first in the commit that brings it, so one that no row names at a moment at
 * which its commit is over is named by no later row.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { isBlobMark } from "./blobs.ts";
import type { Blobs } from "./blobs.ts";
import { rowsOf } from "./database.ts";
import type { Place } from "./place.ts";
import { ERASE, SUPERSEDED } from "./schema.ts";

/** How a payload id looks: `<event id>:<number>`, where an event id is `epoch.commit.k`. */
export const PAYLOAD_ID = /[0-9]+\.[0-9]+\.[0-9]+:[0-9]+/g;

const CHUNK = 2_000;
/** What one look finds at most: a million places would be 200 MB. Who gets as many looks again. */
export const FOUND_LIMIT = 20_000;

/** Superseded rows whose `at` is before `before`, oldest first, at most FOUND_LIMIT. */
export async function findSuperseded(reader: DuckDBConnection, before: number): Promise<Place[]> {
  return places(await rowsOf(reader, SUPERSEDED, [BigInt(before), BigInt(FOUND_LIMIT)]));
}

/** Payloads no row names, at most FOUND_LIMIT, of commits before the newest row of an actor older than `before`. */
export async function findUnnamed(reader: DuckDBConnection, before: number, blobs: Blobs): Promise<Place[]> {
  const [border] = await rowsOf(
    reader,
    `select epoch, commit from log where kind = 'actor' and (head->>'$.at')::bigint < $1 order by epoch desc, commit desc limit 1`,
    [BigInt(before)],
  );
  if (border === undefined) return [];
  const named = await namedInFiles(reader, blobs);
  return places(
    await rowsOf(
      reader,
      `with named as (
         select distinct unnest(regexp_extract_all(head || ' ' || coalesce(body, ''), '${PAYLOAD_ID.source}')) as id from log where kind <> 'payload'
         union select unnest(from_json($3::json, '["VARCHAR"]')) as id)
       select epoch, commit, n from log
       where kind = 'payload' and (epoch < $1 or (epoch = $1 and commit <= $2)) and key not in (select id from named)
       order by epoch, commit, n limit ${FOUND_LIMIT}`,
      [border[0] ?? 0, border[1] ?? 0n, JSON.stringify(named)],
    ),
  );
}

/** The places cut into chunks of neighbours. */
export function chunksOf(all: readonly Place[]): Place[][] {
  const chunks: Place[][] = [];
  for (let start = 0; start < all.length; start += CHUNK) chunks.push(all.slice(start, start + CHUNK));
  return chunks;
}

/** Deletes the rows at these places, in one transaction of the writer's. Naming the range lets DuckDB skip what is outside. */
export async function deletePlaces(writer: DuckDBConnection, chunk: readonly Place[]): Promise<void> {
  const first = chunk[0];
  const last = chunk.at(-1);
  if (first === undefined || last === undefined) return;
  await writer.run(
    `delete from log where epoch between $1 and $2 and (epoch > $1 or commit >= $3) and (epoch < $2 or commit <= $4)
     and (epoch, commit, n) in (
       select (r.epoch, r.commit, r.n) from (select unnest(from_json($5::json, '[{"epoch":"INTEGER","commit":"BIGINT","n":"INTEGER"}]')) as r))`,
    [first.epoch, last.epoch, BigInt(first.commit), BigInt(last.commit), JSON.stringify(chunk)],
  );
}

/** A deleted session: its transcript and all superseded rows at and below its address, in one transaction. Payloads go with the next prune. */
export async function eraseSession(writer: DuckDBConnection, session: string): Promise<void> {
  await writer.run(ERASE, [session]);
}

/** Up to this place rows may be missing: the opening that checks the log must know before the first one is. */
export async function noteHorizon(
  writer: DuckDBConnection,
  epoch: number,
  { epoch: upTo, commit }: Pick<Place, "epoch" | "commit">,
): Promise<void> {
  await writer.run("insert into log values ($1, 0, 1, '', 'pruned', '', $2, null, 1, 0)", [epoch, JSON.stringify({ epoch: upTo, commit })]);
}

/** All marks of blob files that stand in rows. */
export async function namedBlobs(reader: DuckDBConnection): Promise<Set<string>> {
  const rows = await rowsOf(reader, "select distinct body from log where body is not null and starts_with(body, chr(1))");
  return new Set(rows.map(([body]) => String(body)).filter(isBlobMark));
}

/** Ids named by bodies that are files, which SQL cannot look into. */
async function namedInFiles(reader: DuckDBConnection, blobs: Blobs): Promise<string[]> {
  const marks = await rowsOf(
    reader,
    "select distinct body from log where kind <> 'payload' and body is not null and starts_with(body, chr(1))",
  );
  const named = new Set<string>();
  for (const [mark] of marks) for (const [id] of (await blobs.load(String(mark))).matchAll(PAYLOAD_ID)) named.add(id);
  return [...named];
}

function places(rows: readonly unknown[][]): Place[] {
  return rows.map(([epoch, commit, n]) => ({ epoch: Number(epoch), commit: Number(commit), n: Number(n) }));
}
