/**
 * A store that grows and is pruned while it is written to. Would catch: a newest row, a transcript or a ledger row taken by
 * pruning, room that is never given back or used again, a gap told where pruning made one. HOSTILE_ROWS sets how many rows.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogRow } from "../../src/ports/journal.port.ts";
import { createDuckdbJournal } from "../../src/store/index.ts";

const ROWS = Number(process.env["HOSTILE_ROWS"] ?? "100000");
const PER_COMMIT = 500;
const ACTORS = 401;

let folder: string;
const said: string[] = [];
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "somora-growth-")), "store");
});
afterEach(() => rm(join(folder, ".."), { recursive: true }));
afterAll(() => console.log(said.join("\n")));

const journalHere = (news: string[] = []) =>
  createDuckdbJournal({ folder, now: Date.now, onNews: (level, line) => news.push(`${level}: ${line}`) });
const sizes = async (): Promise<{ database: number; wal: number }> => ({
  database: await sizeOf(join(folder, "somora.duckdb")),
  wal: await sizeOf(join(folder, "somora.duckdb.wal")),
});
const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  );
const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`;

/** Nine of ten rows are states of actors that the next ones stand over; the tenth is part of a conversation. */
function rowsOf(commit: number, rows: number): LogRow[] {
  return Array.from({ length: rows }, (_, n) => {
    const at = commit * PER_COMMIT + n;
    if (n % 10 === 0)
      return {
        shard: "/agents/a",
        kind: "transcript" as const,
        key: "/agents/a/sessions/main",
        head: JSON.stringify({ seq: at, at, kind: "notice" }),
        body: JSON.stringify({ text: `row ${at} ${"word ".repeat(20)}` }),
      };
    const address = `/agents/a/${at % ACTORS}`;
    return {
      shard: "/agents/a",
      kind: "actor" as const,
      key: address,
      head: JSON.stringify({ address, birth: "1.1.1", at, status: "live" }),
      body: JSON.stringify({ at, state: `${at.toString(36).repeat(12)}${"x".repeat(150)}` }),
    };
  });
}

describe("pruning while commits go on", () => {
  it("takes no newest row, no transcript, and leaves no gap behind", async () => {
    const news: string[] = [];
    const journal = journalHere(news);
    const { epoch } = await journal.open();
    const newest = new Map<string, string>();
    let transcript = 0;
    let over = false;
    let pruned = 0;
    const pruning = (async () => {
      while (!over) pruned += await journal.prune(Number.MAX_SAFE_INTEGER);
    })();
    for (let commit = 1; commit <= 70; commit++) {
      const rows = rowsOf(commit, 60);
      await journal.append({ epoch, commit, rows });
      for (const row of rows)
        if (row.kind === "actor") newest.set(row.key, row.head);
        else transcript += 1;
    }
    over = true;
    await pruning;
    expect(pruned).toBeGreaterThan(1_000);
    const check = async (from = journal): Promise<void> => {
      expect(new Map((await from.newest()).map((row) => [row.key, row.head]))).toEqual(newest);
      expect((await from.reader.counts()).transcript).toBe(transcript);
    };
    await check();
    await journal.close();
    const again = journalHere(news);
    await again.open();
    await check(again);
    await again.close();
    expect(news).toEqual([]);
  });
});

describe(`a store of ${ROWS} rows`, () => {
  it("gives back or uses again what pruning frees", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    let commit = 0;
    let largestWal = 0;
    const write = async (rows: number): Promise<void> => {
      for (let written = 0; written < rows; written += PER_COMMIT) {
        commit += 1;
        await journal.append({ epoch, commit, rows: rowsOf(commit, PER_COMMIT) });
        if (commit % 20 === 0) largestWal = Math.max(largestWal, (await sizes()).wal);
      }
    };
    let began = performance.now();
    const lap = (): string => {
      const ms = performance.now() - began;
      began = performance.now();
      return `${(ms / 1000).toFixed(1)} s`;
    };
    await write(ROWS);
    await journal.checkpoint();
    const full = await sizes();
    said.push(`${ROWS} rows: database ${mb(full.database)}, largest log ${mb(largestWal)}, written in ${lap()}`);
    const pruned = await journal.prune(Number.MAX_SAFE_INTEGER);
    await journal.checkpoint();
    const left = await sizes();
    const rows = Object.values(await journal.reader.counts()).reduce((sum, count) => sum + count, 0);
    said.push(`pruned ${pruned} rows in ${lap()}: ${rows} rows left in ${mb(left.database)}`);
    expect(rows).toBe(ACTORS + ROWS / 10);
    await write(ROWS / 4);
    await journal.checkpoint();
    const again = await sizes();
    said.push(`a quarter as many written again in ${lap()}: ${mb(again.database)}`);
    expect(again.wal).toBe(0);
    // What was freed is used first.
    expect(again.database).toBeLessThan(full.database * 1.3);
    // The log is folded in at 8 MB, never in the middle of a commit.
    expect(largestWal).toBeLessThan(14_000_000);
    await journal.close();
    const reopened = journalHere();
    await reopened.open();
    said.push(`opened again in ${lap()}`);
    expect(await reopened.newest()).toHaveLength(ACTORS);
    await reopened.close();
  }, 600_000);
});
