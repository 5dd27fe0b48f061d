/**
 * The kernel on the real store: durable steps per second (1,000 actors, 1 and 10 events each a round), beside a bare appender
 * loop that writes the same number of rows of the same size in the same number of commits; and what an idle actor weighs.
 * Prints one JSON object. `node scripts/bench.mjs kernel [--runs 5]`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { assign, setup } from "xstate";
import { Kernel } from "../src/actors/kernel/kernel.ts";
import { systemCalendar, systemClock, systemScheduler } from "../src/host/index.ts";
import type { Journal, LogRow } from "../src/ports/journal.port.ts";
import { effects, type ChildSpec } from "../src/protocol/effects.ts";
import type { Address, Token } from "../src/protocol/ids.ts";
import { createDuckdbJournal } from "../src/store/index.ts";
import { appendRows } from "../src/store/rows.ts";
import { DDL } from "../src/store/schema.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "5" } } });
const RUNS = Number(values.runs);
const ACTORS = 1_000;
const ROUNDS = 20;

const spec: ChildSpec = { restart: "permanent", shutdown: 1_000, identity: "keep", past: "park", intensity: 3, periodMs: 60_000 };

const counter = setup({
  types: {} as { context: { count: number; note: string }; events: { type: "poke" } },
  actions: effects,
}).createMachine({
  context: { count: 0, note: "x".repeat(180) },
  on: { poke: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
});

interface FeederEvent {
  type: "spawn" | "feed";
  first: number;
  count: number;
  events: number;
  token: Token;
}
const feeder = setup({ types: {} as { context: Record<string, never>; events: FeederEvent }, actions: effects }).createMachine({
  context: {},
  on: {
    spawn: {
      actions: many((event) =>
        Array.from({ length: event.count }, (_, n) => ({
          type: "spawn",
          params: { name: `c${event.first + n}`, chart: "counter", spec: "child", input: {} },
        })),
      ),
    },
    feed: {
      actions: many((event) =>
        Array.from({ length: event.count * event.events }, (_, n) => ({
          type: "send",
          params: { to: `/c${event.first + (n % event.count)}` as Address, event: { type: "poke" } },
        })),
      ),
    },
  },
});

function many(effectsOf: (event: FeederEvent) => { type: string; params: unknown }[]): never {
  return decide((_: unknown, event: FeederEvent) => ({
    effects: [...effectsOf(event), { type: "reply", params: { token: event.token, value: null } }] as never,
  }));
}
import { decide } from "../src/machines/decide.ts";

async function openKernel(folder: string, watch: (journal: Journal) => Journal): Promise<{ kernel: Kernel; journal: Journal }> {
  const journal = watch(createDuckdbJournal({ folder, now: () => systemClock.now() }));
  const kernel = await Kernel.open({
    journal,
    clock: { ...systemClock, ...systemCalendar },
    scheduler: systemScheduler,
    charts: [
      { name: "feeder", version: 1, machine: feeder },
      { name: "counter", version: 1, machine: counter },
    ],
    drivers: [],
    specs: { root: spec, child: spec },
    root: { chart: "feeder", spec: "root", input: {} },
    observer: {
      committed: () => {},
      stalled: () => {},
      fatal: (why, reason) => {
        throw new Error(`${why}: ${reason}`);
      },
    },
  });
  return { kernel, journal };
}

interface Measured {
  stepsPerSecond: number;
  rows: number;
  bytes: number;
  commits: number;
  longestCommitMs: number;
}

async function durable(events: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
  const seen = { rows: 0, bytes: 0, commits: 0, longest: 0, counting: false };
  const { kernel, journal } = await openKernel(folder, (inner) => {
    const append = inner.append.bind(inner);
    inner.append = async (batch) => {
      const began = performance.now();
      const answer = await append(batch);
      if (seen.counting) {
        seen.commits += 1;
        seen.rows += batch.rows.length;
        for (const row of batch.rows) seen.bytes += row.head.length + (row.body?.length ?? 0);
        seen.longest = Math.max(seen.longest, performance.now() - began);
      }
      return answer;
    };
    return inner;
  });
  await kernel.command("/" as Address, { type: "spawn", first: 0, count: ACTORS, events: 0 });
  await kernel.idle();
  await kernel.command("/" as Address, { type: "feed", first: 0, count: ACTORS, events });
  await kernel.idle();
  seen.counting = true;
  const before = kernel.stats().steps;
  const began = performance.now();
  for (let n = 0; n < ROUNDS; n += 1) {
    await kernel.command("/" as Address, { type: "feed", first: 0, count: ACTORS, events });
    await kernel.idle();
  }
  const ms = performance.now() - began;
  const steps = kernel.stats().steps - before;
  // Completion: every poke was counted by its actor.
  const counted = (kernel.context("/c7" as Address) as { count: number }).count;
  if (counted !== (ROUNDS + 1) * events || steps !== ROUNDS * (ACTORS * events + 1))
    throw new Error(`not all steps were done: ${counted}, ${steps}`);
  kernel.close();
  await journal.close();
  rmSync(folder, { recursive: true });
  return { stepsPerSecond: (steps / ms) * 1000, rows: seen.rows, bytes: seen.bytes, commits: seen.commits, longestCommitMs: seen.longest };
}

/** The same rows and bytes in the same number of commits, nothing else. */
async function bare({ rows, bytes, commits }: Measured): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
  const instance = await DuckDBInstance.create(join(folder, "bare.duckdb"));
  const connection = await instance.connect();
  for (const statement of DDL) await connection.run(statement);
  const perCommit = Math.round(rows / commits);
  const body = "x".repeat(Math.max(0, Math.round(bytes / rows) - 200));
  const appender = await connection.createAppender("log");
  const began = performance.now();
  for (let commit = 1; commit <= commits; commit += 1) {
    const batch: LogRow[] = Array.from({ length: perCommit }, (_, n) => ({
      shard: "root",
      kind: "actor",
      key: `/c${n}`,
      head: "h".repeat(200),
      body,
    }));
    await connection.run("begin");
    appendRows(
      appender,
      { epoch: 1, commit, rows: batch },
      batch.map((row) => row.body),
    );
    appender.flushSync();
    await connection.run("commit");
  }
  const ms = performance.now() - began;
  const count = (await connection.runAndReadAll("select count(*) from log")).getRows()[0]?.[0];
  if (Number(count) !== perCommit * commits) throw new Error(`rows are missing: ${String(count)}`);
  appender.closeSync();
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true });
  return ((perCommit * commits) / ms) * 1000;
}

async function idleBytes(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
  const { kernel, journal } = await openKernel(folder, (inner) => inner);
  await kernel.idle();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const count = 10_000;
  for (let first = 0; first < count; first += 1_000) {
    await kernel.command("/" as Address, { type: "spawn", first, count: 1_000, events: 0 });
    await kernel.idle();
  }
  globalThis.gc?.();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  kernel.close();
  await journal.close();
  rmSync(folder, { recursive: true });
  return bytes;
}

function spread(numbers: number[]): { median: number; least: number; most: number } {
  const sorted = [...numbers].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1] as number, least: sorted[0] as number, most: sorted.at(-1) as number };
}

const results: Record<string, unknown> = {};
for (const events of [1, 10]) {
  const steps: number[] = [];
  const rowsRatio: number[] = [];
  let longest = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const measured = await durable(events);
    const rowsPerSecond = (measured.rows / (ROUNDS * (ACTORS * events + 1))) * measured.stepsPerSecond;
    steps.push(measured.stepsPerSecond);
    rowsRatio.push(rowsPerSecond / (await bare(measured)));
    longest = Math.max(longest, measured.longestCommitMs);
  }
  results[`durable steps per second, 1,000 actors, ${events} each`] = {
    ...spread(steps),
    ratioToBareAppender: spread(rowsRatio),
    longestCommitMs: longest,
  };
}
results["bytes of heap per idle actor"] = await idleBytes();
process.stdout.write(`${JSON.stringify({ bench: "kernel", runs: RUNS, node: process.version, results }, null, 2)}\n`);
