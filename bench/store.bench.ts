/**
 * How fast the disk takes what the kernel writes: a bare appender loop (begin, append, flush, commit) with rows like the
 * kernel's, and the journal with the same rows. Prints one JSON object. `node scripts/bench.mjs store [--runs 5]`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import type { LogRow } from "../src/ports/journal.port.ts";
import { createDuckdbJournal } from "../src/store/index.ts";
import { appendRows } from "../src/store/rows.ts";
import { DDL } from "../src/store/schema.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "5" } } });
const RUNS = Number(values.runs);
/** Rows per commit, and commits per run. */
const SHAPES = [
  { rows: 1, commits: 200 },
  { rows: 100, commits: 100 },
  { rows: 1_000, commits: 40 },
];

/** About 600 bytes, as an actor's row after ten events. */
function rowsOf(count: number, commit: number): LogRow[] {
  return Array.from({ length: count }, (_, n) => {
    const address = `/agents/guide/sessions/s${n}`;
    return {
      shard: "/agents/guide",
      kind: "actor",
      key: address,
      head: JSON.stringify({
        address,
        birth: `1.1.${n}`,
        parent: "/agents/guide",
        status: "live",
        at: 1_790_000_000_000 + commit,
        n: commit,
      }),
      body: JSON.stringify({
        version: 1,
        snapshot: { value: "idle", context: { count: commit, note: "x".repeat(180) } },
        pending: [],
        mail: [],
        story: Array.from({ length: 3 }, (_, k) => ({ id: `1.${commit}.${k}`, type: "poke", from: "/agents/guide" })),
      }),
    };
  });
}

interface Run {
  rowsPerSecond: number;
  p50: number;
  p99: number;
  max: number;
}

async function timed(shape: { rows: number; commits: number }, write: (rows: LogRow[], commit: number) => Promise<unknown>): Promise<Run> {
  const batches = Array.from({ length: shape.commits }, (_, index) => rowsOf(shape.rows, index + 1));
  const each: number[] = [];
  const began = performance.now();
  for (const [index, rows] of batches.entries()) {
    const start = performance.now();
    await write(rows, index + 1);
    each.push(performance.now() - start);
  }
  const total = performance.now() - began;
  each.sort((a, b) => a - b);
  const at = (share: number) => round(each[Math.min(each.length - 1, Math.floor(each.length * share))] ?? 0);
  return { rowsPerSecond: Math.round((shape.rows * shape.commits * 1000) / total), p50: at(0.5), p99: at(0.99), max: at(1) };
}

async function bare(shape: { rows: number; commits: number }): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
  const instance = await DuckDBInstance.fromCache(join(folder, "bare.duckdb"), { threads: "2", checkpoint_threshold: "1TB" });
  const connection = await instance.connect();
  await connection.run(DDL[0] ?? "");
  await connection.run("checkpoint");
  const appender = await connection.createAppender("log");
  const run = await timed(shape, async (rows, commit) => {
    await connection.run("begin");
    appendRows(
      appender,
      { epoch: 1, commit, rows },
      rows.map((row) => row.body),
    );
    appender.flushSync();
    await connection.run("commit");
  });
  appender.closeSync();
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true });
  return run;
}

async function journal(shape: { rows: number; commits: number }): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
  const log = createDuckdbJournal({ folder, now: Date.now });
  const { epoch } = await log.open();
  const run = await timed(shape, (rows, commit) => log.append({ epoch, commit, rows }));
  await log.close();
  rmSync(folder, { recursive: true });
  return run;
}

const summary = (runs: Run[]) => ({
  rowsPerSecond: median(runs.map((run) => run.rowsPerSecond)),
  spread: [Math.min(...runs.map((run) => run.rowsPerSecond)), Math.max(...runs.map((run) => run.rowsPerSecond))],
  commitMs: {
    p50: median(runs.map((run) => run.p50)),
    p99: median(runs.map((run) => run.p99)),
    max: Math.max(...runs.map((run) => run.max)),
  },
});

const results = [];
for (const shape of SHAPES) {
  const runs: { bare: Run[]; journal: Run[] } = { bare: [], journal: [] };
  // In turn, so that a busy neighbour hits both.
  for (let run = 0; run < RUNS; run++) {
    runs.bare.push(await bare(shape));
    runs.journal.push(await journal(shape));
  }
  const [one, other] = [summary(runs.bare), summary(runs.journal)];
  results.push({ ...shape, bare: one, journal: other, ratio: round(other.rowsPerSecond / one.rowsPerSecond) });
}
const bytesPerRow = Math.round(JSON.stringify(rowsOf(100, 1)).length / 100);
console.log(JSON.stringify({ bench: "store", runs: RUNS, node: process.versions.node, bytesPerRow, results }, null, 2));

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
