/** Reads of the log in memory: what the views and queries on DuckDB answer, over an array of rows in order. */
import { z } from "zod";
import type { ActivityBucket, LedgerSum, LogReader, RowKind, StoredRow } from "../ports/journal.port.ts";

const count = z.number().default(0);
const ledgerHead = z.object({
  at: z.number().optional(),
  address: z.string().optional(),
  agent: z.string().nullable().default(null),
  model: z.string().nullable().default(null),
  day: z.string().nullable().default(null),
  usage: z
    .object({ input: count, output: count, cacheRead: count, cacheWrite: count, reasoning: count, estimated: z.boolean().default(false) })
    .prefault({}),
  costUsd: z.number().nullable().default(null),
});
const transcriptHead = z.object({ seq: z.number() });

const momentHead = z.object({
  at: z.number().default(Number.NaN),
  kind: z.string().optional(),
  state: z.string().optional(),
  birth: z.string().optional(),
});
const turnEnd = z.object({ outcome: z.string().optional() });
const momentOf = (row: StoredRow): number => momentHead.parse(JSON.parse(row.head)).at;

type Group = "agent" | "model" | "day";
const GROUPS: readonly Group[] = ["agent", "model", "day"];

export class MemoryReader implements LogReader {
  /** Throws while nothing can be read. */
  readonly #rows: () => readonly StoredRow[];

  constructor(rows: () => readonly StoredRow[]) {
    this.#rows = rows;
  }

  async transcript(
    session: string,
    { before = Number.POSITIVE_INFINITY, limit }: { before?: number; limit: number },
  ): Promise<StoredRow[]> {
    const found = this.#rows()
      .filter((row) => row.kind === "transcript" && row.key === session)
      .map((row) => ({ row, seq: transcriptHead.parse(JSON.parse(row.head)).seq }))
      .filter(({ seq }) => seq < before)
      .sort((a, b) => a.seq - b.seq);
    return last(found, limit).map(({ row }) => ({ ...row }));
  }

  async payloads(ids: readonly string[]): Promise<Map<string, string>> {
    const wanted = new Set(ids);
    const found = new Map<string, string>();
    for (const row of this.#rows()) if (row.kind === "payload" && wanted.has(row.key)) found.set(row.key, row.body ?? "");
    return found;
  }

  async story(address: string, limit: number): Promise<StoredRow[]> {
    const rows = this.#rows().filter((row) => row.kind === "actor" && row.key === address);
    return last(rows, limit).map((row) => ({ ...row }));
  }

  async actorsAt(at: number): Promise<StoredRow[]> {
    const newest = new Map<string, StoredRow>();
    for (const row of this.#rows()) {
      if (row.kind !== "actor" || momentOf(row) > at) continue;
      newest.delete(row.key);
      newest.set(row.key, { ...row });
    }
    return [...newest.values()];
  }

  /** The twin is opened once and keeps no openings: restarts are 0. */
  async activity({ from, to, bucketMs }: { from: number; to: number; bucketMs: number }): Promise<ActivityBucket[]> {
    const buckets = new Map<number, { commits: Set<string>; questions: Set<string>; failures: number }>();
    for (const row of this.#rows()) {
      const at = row.kind === "actor" || row.kind === "transcript" ? momentOf(row) : Number.NaN;
      if (!(at >= from && at < to)) continue;
      const start = from + Math.floor((at - from) / bucketMs) * bucketMs;
      const bucket = buckets.get(start) ?? { commits: new Set(), questions: new Set(), failures: 0 };
      buckets.set(start, bucket);
      bucket.commits.add(`${row.epoch}.${row.commit}`);
      const head = momentHead.parse(JSON.parse(row.head));
      if (row.kind === "actor" && head.kind === "question" && head.state === "open") bucket.questions.add(head.birth ?? "");
      if (row.kind === "transcript" && head.kind === "turn_end" && turnEnd.parse(JSON.parse(row.body ?? "{}")).outcome === "failed")
        bucket.failures += 1;
    }
    return [...buckets]
      .sort(([a], [b]) => a - b)
      .map(([at, { commits, questions, failures }]) => ({ at, commits: commits.size, questions: questions.size, failures, restarts: 0 }));
  }

  async ledger({ by, under, since }: { by: Group[]; under?: string; since?: number }): Promise<LedgerSum[]> {
    const sums = new Map<string, LedgerSum>();
    for (const row of this.#rows()) {
      if (row.kind !== "ledger") continue;
      const head = ledgerHead.parse(JSON.parse(row.head));
      if (since !== undefined && !(head.at !== undefined && head.at >= since)) continue;
      if (under !== undefined && under !== "/" && head.address !== under && !head.address?.startsWith(`${under}/`)) continue;
      const place = Object.fromEntries(GROUPS.map((name) => [name, by.includes(name) ? head[name] : null])) as Pick<LedgerSum, Group>;
      const key = JSON.stringify(place);
      const sum = sums.get(key) ?? { ...place, ...NOTHING };
      sums.set(key, {
        ...place,
        input: sum.input + head.usage.input,
        output: sum.output + head.usage.output,
        cacheRead: sum.cacheRead + head.usage.cacheRead,
        cacheWrite: sum.cacheWrite + head.usage.cacheWrite,
        reasoning: sum.reasoning + head.usage.reasoning,
        costUsd: head.costUsd === null ? sum.costUsd : (sum.costUsd ?? 0) + head.costUsd,
        unknown: sum.unknown + (head.costUsd === null ? 1 : 0),
        estimated: sum.estimated || head.usage.estimated,
      });
    }
    return [...sums.values()].sort((a, b) => {
      const first = [...new Set(by)].find((name) => a[name] !== b[name]);
      return first === undefined ? 0 : nullsFirst(a[first], b[first]);
    });
  }

  async counts(): Promise<Record<RowKind, number>> {
    const counts = { actor: 0, part: 0, payload: 0, transcript: 0, ledger: 0 };
    for (const row of this.#rows()) counts[row.kind]++;
    return counts;
  }
}

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, costUsd: null, unknown: 0, estimated: false };

function last<Item>(items: readonly Item[], limit: number): Item[] {
  return items.slice(Math.max(0, items.length - limit));
}

/** By bytes, as the database sorts. */
function nullsFirst(a: string | null, b: string | null): number {
  if (a === null || b === null) return a === null ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
