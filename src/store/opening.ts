/**
 * Opening the file: tables, views, the number of this opening, and what to say when it does not open. Nothing here tries
 * twice: a file that does not open is copied aside and refused with one sentence.
 */
import { dirname } from "node:path";
import { SomoraError } from "../protocol/errors.ts";
import { keepAside } from "./aside.ts";
import { Database, rowsOf } from "./database.ts";
import { DDL, LOG_COLUMNS } from "./schema.ts";

/** Opens and makes sure of tables and views, with a checkpoint behind them so that the WAL never carries DDL. */
export function openDatabase(file: string, now: number): Promise<Database> {
  return opened(file, now, async ({ writer }) => {
    for (const statement of DDL) await writer.run(statement);
    await writer.run("checkpoint");
  });
}

/** Opens what was open before. Writes nothing: it must succeed on a full disk, too. */
export function openAgain(file: string, now: number): Promise<Database> {
  return opened(file, now, async () => {});
}

async function opened(file: string, now: number, prepare: (database: Database) => Promise<void>): Promise<Database> {
  let database: Database | null = null;
  try {
    database = await Database.open(file);
    await prepare(database);
    await checkColumns(database);
    return database;
  } catch (error) {
    if (database !== null) closeQuietly(database);
    throw await refusal(file, error, now);
  }
}

/** The number of this opening, above all earlier ones and on disk before anybody hears of it. */
export async function takeEpoch(database: Database, now: number): Promise<number> {
  const [row] = await rowsOf(database.writer, "select coalesce(max(epoch), 0) from log");
  const epoch = Number(row?.[0] ?? 0) + 1;
  await database.writer.run("insert into log values ($1, 0, 0, '', 'opening', '', $2, null)", [
    epoch,
    JSON.stringify({ at: now, pid: process.pid }),
  ]);
  return epoch;
}

/** The highest epoch in the file, and the last commit of `epoch`. */
export async function lastOf(database: Database, epoch: number): Promise<{ newestEpoch: number; lastCommit: number }> {
  const [row] = await rowsOf(database.writer, "select coalesce(max(epoch), 0), coalesce(max(commit) filter (epoch = $1), 0) from log", [
    epoch,
  ]);
  return { newestEpoch: Number(row?.[0] ?? 0), lastCommit: Number(row?.[1] ?? 0) };
}

/** What to tell about a file that did not open or cannot be read. Keeps its bytes where they may be damaged. */
export async function refusal(file: string, error: unknown, now: number): Promise<SomoraError> {
  if (error instanceof SomoraError) return error;
  const words = error instanceof Error ? error.message : String(error);
  const holder = /PID (\d+)/.exec(words)?.[1];
  if (/Could not set lock|Conflicting lock/i.test(words)) {
    return new SomoraError(
      "HOME_LOCKED",
      `The store ${file} is open in another process${holder === undefined ? "" : ` (pid ${holder})`}.`,
      {
        hint: "Stop that process, or use another SOMORA_HOME.",
        ...(holder === undefined ? {} : { details: { pid: Number(holder) } }),
        cause: error,
      },
    );
  }
  if (/Permission denied|Read-only file system|No space left/i.test(words)) {
    return new SomoraError("STORE_UNREADABLE", `The store ${file} cannot be opened: ${firstLine(words)}`, {
      hint: "Make the folder writable and give it free space; the file itself was not touched.",
      cause: error,
    });
  }
  const kept = await keepAside(dirname(file), [file, `${file}.wal`], now).then(
    (folder) => ({ folder, said: `its bytes are kept in ${folder}` }),
    (failure: unknown) => ({ folder: null, said: `its bytes could not be copied (${firstLine(String(failure))}), so nothing was touched` }),
  );
  return new SomoraError("STORE_UNREADABLE", `The store ${file} does not open (${firstLine(words)}); ${kept.said}.`, {
    hint: "Restore a backup, or move store/ away to begin with an empty one.",
    details: { file, aside: kept.folder },
    cause: error,
  });
}

async function checkColumns(database: Database): Promise<void> {
  const rows = await rowsOf(
    database.writer,
    "select column_name from duckdb_columns() where table_name = 'log' and not internal order by column_index",
  );
  const found = rows.map(([name]) => String(name)).join(", ");
  if (found !== LOG_COLUMNS.join(", ")) throw new Error(`its table log has the columns ${found}, not ${LOG_COLUMNS.join(", ")}`);
}

/** After a first failure a second one while closing adds nothing. */
export function closeQuietly(database: Database): unknown {
  try {
    database.close();
    return null;
  } catch (error) {
    return error;
  }
}

function firstLine(words: string): string {
  return words.split("\n", 1)[0]?.slice(0, 300) ?? "";
}
