/**
 * Repairing a store whose write-ahead log does not open or belongs to somebody else. Both files are copied aside first; then
 * the log is cut to whole transactions, shorter each time, until it opens. At most TRIES times, and without it at last.
 */
import { open } from "node:fs/promises";
import { SomoraError } from "../protocol/errors.ts";
import { keepAside } from "./aside.ts";
import { Database } from "./database.ts";
import type { StoreFiles } from "./files.ts";
import { firstLine, plainRefusal, refusal, wordsOf } from "./refusal.ts";
import type { Repair } from "./report.ts";
import { readWal, WAL_HEADER, wholeBefore } from "./wal.ts";

const TRIES = 14;

/** Notes that a repair begins, before a byte is changed. */
export type NoteBegun = (repair: Repair) => Promise<void>;

/** Opens the database, with a shortened log where it does not open as it is. Rejects with what to tell a person. */
export async function openRepairing(
  files: StoreFiles,
  now: number,
  begun: NoteBegun,
): Promise<{ database: Database; repair: Repair | null }> {
  let failure: unknown;
  let repair: Repair | null = null;
  if ((await readWal(files.wal)).headerBroken) {
    repair = await beginRepair(files, now, begun, "the header of its log (WAL) is damaged");
    await restoreHeader(files.wal);
    repair = { ...repair, did: "the header was written anew" };
  }
  try {
    return { database: await Database.open(files.database), repair };
  } catch (error) {
    failure = error;
  }
  if (plainRefusal(files.database, failure) !== null || !isOfLog(failure)) throw await refusal(files, failure, now);
  const first = firstLine(wordsOf(failure));
  const shape = await readWal(files.wal);
  repair ??= await beginRepair(files, now, begun, `its log (WAL) of ${shape.size} bytes does not open (${damageIn(first)})`);
  let length = shape.size;
  for (let tries = 1; tries <= TRIES; tries++) {
    length = tries === TRIES ? 0 : wholeBefore(shape, Math.min(length - 1, namedPlace(failure) ?? Math.floor(length / 2)));
    await cut(files.wal, length);
    try {
      const database = await Database.open(files.database);
      return { database, repair: { ...repair, did: length === 0 ? "it was opened without its log" : `the log was cut at byte ${length}` } };
    } catch (error) {
      failure = error;
      if (length === 0 || plainRefusal(files.database, error) !== null) break;
    }
  }
  throw await refusal(files, failure, now);
}

/** Copies both files aside and notes why. Rejects, with nothing touched, when there is no room. */
export async function beginRepair(files: StoreFiles, now: number, begun: NoteBegun, why: string): Promise<Repair> {
  let aside: string;
  try {
    aside = await keepAside(files, now);
  } catch (error) {
    throw new SomoraError(
      "STORE_UNREADABLE",
      `The store ${files.database} needs a repair: ${why}. It was not touched: ${wordsOf(error)}.`,
      {
        hint: "A repair first copies the files. Give the disk room, then start again.",
        cause: error,
      },
    );
  }
  const repair: Repair = { at: now, state: "begun", why, did: "nothing yet", aside, kept: null, lost: [] };
  await begun(repair);
  return repair;
}

async function restoreHeader(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.write(WAL_HEADER, 0, WAL_HEADER.length, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function cut(file: string, length: number): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.truncate(length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isOfLog(error: unknown): boolean {
  return /\bWAL\b/.test(wordsOf(error));
}

/** Where DuckDB says the bad entry stands. */
function namedPlace(error: unknown): number | null {
  const place = /byte position (\d+)/.exec(wordsOf(error))?.[1];
  return place === undefined ? null : Number(place);
}

/** The part of DuckDB's words that says what is wrong, without our path. */
function damageIn(words: string): string {
  return words.replace(/^.*Failure while replaying WAL file "[^"]*":\s*/, "");
}
