/** Reads of the log on a connection of their own. While the store is being reopened they are refused, not kept waiting. */
import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import type { ActivityBucket, LedgerSum, LogReader, RowKind, StoredRow } from "../ports/journal.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import type { Blobs } from "./blobs.ts";
import { rowsOf } from "./database.ts";
import { COLUMNS, readRows } from "./rows.ts";
import { ACTIVITY, ACTORS_AT } from "./schema.ts";
import { Serial } from "./serial.ts";

const KINDS: readonly RowKind[] = ["actor", "part", "payload", "transcript", "ledger"];
/** Of the `ledger` view, by what a query may ask to group. */
const GROUPS = { agent: "agent", model: "model", day: "day" } as const;

export class DuckdbReader implements LogReader {
  readonly #blobs: Blobs;
  readonly #serial = new Serial();
  #connection: DuckDBConnection | null = null;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Null refuses from now on. */
  use(connection: DuckDBConnection | null): void {
    this.#connection = connection;
  }

  /** Interrupts what runs and resolves when nothing does. */
  async drain(): Promise<void> {
    this.#connection?.interrupt();
    this.#connection = null;
    await this.#serial.run(async () => {});
  }

  async transcript(session: string, { before, limit }: { before?: number; limit: number }): Promise<StoredRow[]> {
    const rows = await this.#read(
      `select ${COLUMNS} from log where kind = 'transcript' and key = $1 and (head->>'$.seq')::bigint < $2
       order by (head->>'$.seq')::bigint desc limit ${whole(limit)}`,
      [session, BigInt(before ?? Number.MAX_SAFE_INTEGER)],
    );
    return rows.reverse();
  }

  async payloads(ids: readonly string[]): Promise<Map<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#read(
      `select ${COLUMNS} from log where kind = 'payload' and key in (select unnest(from_json($1::json, '["VARCHAR"]')))`,
      [JSON.stringify(ids)],
    );
    return new Map(rows.map((row) => [row.key, row.body ?? ""]));
  }

  async story(address: string, limit: number): Promise<StoredRow[]> {
    const rows = await this.#read(
      `select ${COLUMNS} from log where kind = 'actor' and key = $1
       order by epoch desc, commit desc, n desc limit ${whole(limit)}`,
      [address],
    );
    return rows.reverse();
  }

  actorsAt(at: number): Promise<StoredRow[]> {
    return this.#read(ACTORS_AT, [BigInt(at)]);
  }

  async activity({ from, to, bucketMs }: { from: number; to: number; bucketMs: number }): Promise<ActivityBucket[]> {
    const rows = await this.#rows(ACTIVITY, [BigInt(from), BigInt(to), BigInt(bucketMs)]);
    return rows.map(([at, commits, questions, failures, restarts]) => ({
      at: Number(at),
      commits: Number(commits),
      questions: Number(questions),
      failures: Number(failures),
      restarts: Number(restarts),
    }));
  }

  async ledger({ by, under, since }: { by: ("agent" | "model" | "day")[]; under?: string; since?: number }): Promise<LedgerSum[]> {
    const groups = [...new Set(by)].map((name) => GROUPS[name]);
    const scope = under === undefined || under === "/" ? null : under;
    const rows = await this.#rows(
      `select ${(["agent", "model", "day"] as const).map((name) => (groups.includes(name) ? name : `null as ${name}`)).join(", ")},
         sum(input)::double, sum(output)::double, sum(cache_read)::double, sum(cache_write)::double, sum(reasoning)::double,
         sum(cost_usd), count(*) - count(cost_usd), bool_or(estimated)
       from ledger
       where ($1::varchar is null or address = $1 or starts_with(address, $1 || '/')) and ($2::bigint is null or at_ms >= $2)
       ${groups.length === 0 ? "" : `group by ${groups.join(", ")}`}
       having count(*) > 0
       order by ${groups.length === 0 ? "1" : groups.map((name) => `${name} nulls first`).join(", ")}`,
      [scope, since === undefined ? null : BigInt(since)],
    );
    return rows.map(([agent, model, day, input, output, cacheRead, cacheWrite, reasoning, costUsd, unknown, estimated]) => ({
      agent: textOrNull(agent),
      model: textOrNull(model),
      day: textOrNull(day),
      input: Number(input),
      output: Number(output),
      cacheRead: Number(cacheRead),
      cacheWrite: Number(cacheWrite),
      reasoning: Number(reasoning),
      costUsd: costUsd === null || costUsd === undefined ? null : Number(costUsd),
      unknown: Number(unknown),
      estimated: estimated === true,
    }));
  }

  async counts(): Promise<Record<RowKind, number>> {
    const found = new Map((await this.#rows("select kind, count(*) from log group by kind")).map(([kind, count]) => [kind, Number(count)]));
    return Object.fromEntries(KINDS.map((kind) => [kind, found.get(kind) ?? 0])) as Record<RowKind, number>;
  }

  async #read(sql: string, values: DuckDBValue[]): Promise<StoredRow[]> {
    return readRows(await this.#rows(sql, values), this.#blobs);
  }

  #rows(sql: string, values: DuckDBValue[] = []): Promise<DuckDBValue[][]> {
    return this.on((connection) => rowsOf(connection, sql, values));
  }

  /** Work on the reading connection, after the reads asked for before it. */
  on<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result> {
    return this.#serial.run(async () => {
      if (this.#connection !== null) return work(this.#connection);
      throw new SomoraError("STORE_STALLED", "The store is closed or being reopened; nothing can be read now.", {
        hint: "Ask again in a moment.",
      });
    });
  }
}

/** A limit stands in the SQL text: never anything but digits. */
function whole(limit: number): number {
  if (!Number.isSafeInteger(limit) || limit < 0) throw new RangeError(`A limit is a whole number from 0, not ${limit}.`);
  return limit;
}

function textOrNull(value: DuckDBValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}
