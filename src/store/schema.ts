/**
 * The tables and views of `somora.duckdb`. DDL runs at start-up only, before anything else is written, and is followed by
 * a checkpoint, so that the WAL never carries DDL. No index, constraint beyond NOT NULL, default or JSON column.
 */

/** One hot table. `kind = 'opening'` with commit 0 is the store's own: one row per opening, so that no epoch is used twice. */
const LOG = `create table if not exists log(
  epoch integer not null, commit bigint not null, n integer not null,
  shard varchar not null, kind varchar not null, key varchar not null, head varchar not null, body varchar)`;

export const LOG_COLUMNS = ["epoch", "commit", "n", "shard", "kind", "key", "head", "body"] as const;

const TRANSCRIPT = `create or replace view transcript as
select key as session, (head->>'$.seq')::bigint as seq, (head->>'$.at')::bigint as at_ms, head->>'$.kind' as kind,
  head->>'$.turnId' as turn_id, body as data, epoch, commit, n
from log where kind = 'transcript'`;

const LEDGER = `create or replace view ledger as
select (head->>'$.at')::bigint as at_ms, head->>'$.address' as address, head->>'$.agent' as agent, head->>'$.model' as model,
  head->>'$.provider' as provider, head->>'$.day' as day,
  coalesce((head->>'$.usage.input')::bigint, 0) as input, coalesce((head->>'$.usage.output')::bigint, 0) as output,
  coalesce((head->>'$.usage.cacheRead')::bigint, 0) as cache_read, coalesce((head->>'$.usage.cacheWrite')::bigint, 0) as cache_write,
  coalesce((head->>'$.usage.reasoning')::bigint, 0) as reasoning, coalesce((head->>'$.usage.estimated')::boolean, false) as estimated,
  (head->>'$.costUsd')::double as cost_usd, key, epoch, commit, n
from log where kind = 'ledger'`;

const STORY = `create or replace view story as
select key as address, (head->>'$.at')::bigint as at_ms, head->>'$.birth' as birth, head->>'$.status' as status,
  head, body, epoch, commit, n
from log where kind = 'actor'`;

export const DDL: readonly string[] = [LOG, TRANSCRIPT, LEDGER, STORY];

/**
 * A place as one 128-bit number: `max` over numbers is quick, where `max` over structs and `arg_max(body)` are not (the
 * latter reads every body: 1 GB for 10,000 keys of a million rows).
 */
const PLACE = "(epoch::hugeint * 1208925819614629174706176 + commit::hugeint * 1099511627776 + n::hugeint)";

/** Two steps in one statement, so that one snapshot serves both: newest per key first, then the bodies of those rows only. */
export const NEWEST = `with newest as (
  select arg_max(rowid, ${PLACE}) as row from log where kind in ('actor', 'part') group by kind, key)
select epoch, commit, n, shard, kind, key, head, body from log join newest on log.rowid = newest.row
where kind = 'actor' or body is not null
order by epoch, commit, n`;

/** Rows of actors and parts that a newer row of the same key stands over, and whose \`at\` is before $1. */
export const SUPERSEDED = `with newest as (
  select kind, key, max(${PLACE}) as place from log where kind in ('actor', 'part') group by kind, key)
select epoch, commit, n from log join newest using (kind, key)
where ${PLACE} < newest.place and (head->>'$.at')::bigint < $1
order by epoch, commit, n limit $2`;

/** The transcript of session $1, and rows of actors and parts at and below it that a newer row of the same key stands over. */
export const ERASE = `delete from log where (kind = 'transcript' and key = $1)
  or (kind in ('actor', 'part') and (key = $1 or starts_with(key, $1 || '/') or starts_with(key, $1 || ' ')) and rowid not in (
    select arg_max(rowid, ${PLACE}) from log where kind in ('actor', 'part') group by kind, key))`;
