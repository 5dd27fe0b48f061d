/**
 * The tables and views of `somora.duckdb`. DDL runs at start-up only, before anything else is written, and is followed by
 * a checkpoint, so that the WAL never carries DDL. No index, constraint beyond NOT NULL, default or JSON column.
 */

/**
 * One hot table. `size`: how many rows the commit has; `previous`: the commit with rows before it in its epoch, 0 for the
 * first; both null in rows of format 1. Rows with commit 0 are the store's own: `opening`, one per epoch, so that none is
 * used twice; `pruned`, with the place up to which rows may be missing.
 */
const LOG = `create table if not exists log(
  epoch integer not null, commit bigint not null, n integer not null,
  shard varchar not null, kind varchar not null, key varchar not null, head varchar not null, body varchar,
  size integer, previous bigint)`;

export const LOG_COLUMNS = ["epoch", "commit", "n", "shard", "kind", "key", "head", "body", "size", "previous"] as const;
/** How many of them a store of format 1 has. */
export const FORMAT_1_COLUMNS = 8;

/** From format 1. */
export const MIGRATE: readonly string[] = [
  "alter table log add column if not exists size integer",
  "alter table log add column if not exists previous bigint",
];

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

const PLACE_IN_HEAD = "((head->>'$.epoch')::hugeint * 1208925819614629174706176 + (head->>'$.commit')::hugeint)";

/** Two steps in one statement, so that one snapshot serves both: newest per key first, then the bodies of those rows only. */
export const NEWEST = `with newest as (
  select arg_max(rowid, ${PLACE}) as row from log where kind in ('actor', 'part') group by kind, key)
select epoch, commit, n, shard, kind, key, head, body from log join newest on log.rowid = newest.row
where kind = 'actor' or body is not null
order by epoch, commit, n`;

/** The newest actor rows of $1 or before, as `NEWEST`. */
export const ACTORS_AT = `with newest as (
  select arg_max(rowid, ${PLACE}) as row from log where kind = 'actor' and (head->>'$.at')::bigint <= $1 group by key)
select epoch, commit, n, shard, kind, key, head, body from log join newest on log.rowid = newest.row
order by epoch, commit, n`;

/** Per bucket of $3 ms from $1 to before $2: commits, questions, failed turns, openings. A commit counts where its rows say `at`. */
export const ACTIVITY = `with moments as (
  select epoch, commit, kind, head, body, (head->>'$.at')::bigint as at_ms from log where kind in ('actor', 'transcript', 'opening'))
select $1 + ((at_ms - $1) // $3) * $3 as bucket,
  count(distinct epoch::hugeint * 1208925819614629174706176 + commit::hugeint) filter (kind <> 'opening'),
  count(distinct head->>'$.birth') filter (kind = 'actor' and (head->>'$.kind') = 'question' and (head->>'$.state') = 'open'),
  count(*) filter (case when kind = 'transcript' and (head->>'$.kind') = 'turn_end' then (body->>'$.outcome') = 'failed' else false end),
  count(*) filter (kind = 'opening')
from moments where at_ms >= $1 and at_ms < $2 group by bucket order by bucket`;

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

/** Reads every block of every column, so that damage shows by its checksum. */
export const DEEP_CHECK = "select bit_xor(hash(log)) from log";

/** Up to where rows may be missing: the highest place of the `pruned` rows, as epoch and commit. */
const HORIZON = `select arg_max((head->>'$.epoch')::integer, ${PLACE_IN_HEAD}) as epoch, arg_max((head->>'$.commit')::bigint, ${PLACE_IN_HEAD}) as commit
  from log where commit = 0 and kind = 'pruned'`;

/**
 * Epochs with commits but no opening · epochs opened more than once · how many stores opened it · the highest format · whether
 * the rows written last belong to an epoch that was over.
 */
export const OPENINGS = `with openings as (select epoch, head from log where commit = 0 and kind = 'opening')
select
  (select count(*) from (select distinct epoch from log where commit > 0) as used anti join openings using (epoch)),
  (select count(*) from (select epoch from openings group by epoch having count(*) > 1)),
  (select count(distinct head->>'$.store') from openings),
  (select coalesce(max((head->>'$.format')::integer), 1) from openings),
  (select coalesce(arg_max(epoch, rowid) < max(epoch), false)::integer from log)`;

/** The newest epoch, or $1 where it is given, and its last commit. */
export const LAST_PLACE = `with newest as (select coalesce($1::integer, (select max(epoch) from log), 0) as epoch), horizon as (${HORIZON})
select newest.epoch, greatest(
  coalesce((select max(commit) from log where log.epoch = newest.epoch), 0),
  coalesce((select commit from horizon where horizon.epoch = newest.epoch), 0)) from newest`;

/** Commits of epoch $1 that do not hang together, first one first: commit, what is wrong, whether rows stand twice, the commit before. */
export const BROKEN_COMMITS = `with horizon as (${HORIZON}), commits as (
  select commit, count(*) as found, count(distinct n) as places, max(n) + 1 as span, max(size) as size, min(previous) as previous
  from log where epoch = $1 and commit > 0 group by commit),
linked as (select *, lag(commit, 1, 0) over (order by commit) as before from commits),
judged as (select *, commit > coalesce((select commit from horizon where epoch = $1), 0) as whole_expected,
  previous <= coalesce((select commit from horizon where epoch = $1), 0) as previous_may_be_gone from linked)
select commit,
  case when found > places then 'rows of it stand twice'
    when whole_expected and size is not null and found < size then found || ' of its ' || size || ' rows are there'
    else 'commit ' || previous || ' before it is missing' end,
  found > places or found > coalesce(size, found) as too_many, before
from judged
where found > places or (size is not null and (found > size or span > size or previous < before))
  or (whole_expected and size is not null and (found < size or (previous <> before and not (previous_may_be_gone and before <= previous))))
order by commit`;
