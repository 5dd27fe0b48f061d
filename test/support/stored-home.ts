/**
 * A store as a kill -9 leaves it, to be damaged: its files are copied while a journal has them open, the log (WAL) not yet
 * checkpointed. What must be in it is known: commit N holds `rowsOf(N)`.
 */
import { copyFile, cp, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LogRow, StoredRow } from "../../src/ports/journal.port.ts";
import { createDuckdbJournal, type DuckdbJournalOptions } from "../../src/store/index.ts";

export const NOW = Date.UTC(2026, 11, 1, 10, 0, 0);
export const FILES = { database: "somora.duckdb", wal: "somora.duckdb.wal", mark: "last-commit", report: "report.json" } as const;

/** One to seven rows; texts of different lengths, the same at each call. */
export function rowsOf(commit: number): LogRow[] {
  return Array.from({ length: 1 + ((commit * 5) % 7) }, (_, n) => ({
    shard: "/agents/guide",
    kind: n === 0 ? ("transcript" as const) : ("actor" as const),
    key: n === 0 ? "/agents/guide/sessions/main" : `/agents/guide/${n}`,
    head: JSON.stringify({ seq: commit, at: commit, kind: "notice", birth: "1.1.1", status: "live" }),
    body: JSON.stringify({ commit, n, text: textOf(commit * 31 + n) }),
  }));
}

/** Hard to compress, so that a database of it has many blocks. */
function textOf(seed: number): string {
  let state = seed + 1;
  let text = "";
  for (let length = 20 + ((seed * 97) % 4_000); text.length < length;) {
    state = (state * 1103515245 + 12345) % 2147483648;
    text += state.toString(36);
  }
  return text;
}

export interface KilledStore {
  folder: string;
  /** The epoch of the run that was killed, and its last acknowledged commit. */
  epoch: number;
  commits: number;
  walBytes: number;
  databaseBytes: number;
}

/** `checkpointed` commits lie in the database, the others in the log only. */
export async function killedStore(folder: string, checkpointed: number, commits: number): Promise<KilledStore> {
  const living = `${folder}-living`;
  const journal = createDuckdbJournal({ folder: living, now: () => NOW });
  const { epoch } = await journal.open();
  for (let commit = 1; commit <= commits; commit++) {
    await journal.append({ epoch, commit, rows: rowsOf(commit) });
    if (commit === checkpointed) await journal.checkpoint();
  }
  await mkdir(folder, { recursive: true });
  for (const name of Object.values(FILES)) await copyFile(join(living, name), join(folder, name));
  await journal.close();
  const [wal, database] = await Promise.all([stat(join(folder, FILES.wal)), stat(join(folder, FILES.database))]);
  return { folder, epoch, commits, walBytes: wal.size, databaseBytes: database.size };
}

/** Two at a time, results in order: the work waits for the disk half of its time. */
export async function inPairs<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as Item, index);
  };
  await Promise.all([worker(), worker()]);
  return results;
}

export async function copyOf(store: KilledStore, folder: string): Promise<string> {
  await cp(store.folder, folder, { recursive: true });
  return folder;
}

export async function flipBit(file: string, place: number, bit: number): Promise<void> {
  const bytes = await readFile(file);
  bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place);
  await writeFile(file, bytes);
}

export interface Opened {
  epoch: number;
  rows: StoredRow[];
  /** What the opening said, level first. */
  news: string[];
}

/** Opens, reads all, closes. Rejects as the journal does. */
export async function openAll(folder: string, options: Partial<DuckdbJournalOptions> = {}): Promise<Opened> {
  const news: string[] = [];
  const journal = createDuckdbJournal({ folder, now: () => NOW, onNews: (level, line) => news.push(`${level}: ${line}`), ...options });
  const { epoch } = await journal.open();
  const rows = await journal.tail({ epoch: 0, commit: 0, n: 0 }, 1_000_000);
  await journal.close();
  return { epoch, rows, news };
}

/** How many commits of the killed run are there, when they are whole and the first ones; else what is wrong. */
export function prefixOf(rows: readonly StoredRow[], epoch: number): number | string {
  let expected = 0;
  let at = 0;
  while (at < rows.length) {
    expected += 1;
    const whole = rowsOf(expected);
    for (const [n, row] of whole.entries()) {
      const found = rows[at + n];
      if (found === undefined || JSON.stringify(found) !== JSON.stringify({ epoch, commit: expected, n, ...row }))
        return `row ${n} of commit ${expected} is ${JSON.stringify(found)}`;
    }
    at += whole.length;
  }
  return expected;
}
