/** How a store stands, from its files alone: for `somora doctor`, also while a server has it open. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { asideFolders } from "./aside.ts";
import { storeFiles } from "./files.ts";
import { readMark, type MarkPlace } from "./mark.ts";
import { readReport, sayRepair, STORE_FORMAT, type Build, type LostCommits } from "./report.ts";
import { readWal } from "./wal.ts";

export interface StoreStanding {
  databaseBytes: number;
  walBytes: number;
  /** Bytes at the end of the log that are no whole commit. While a server writes that may be a commit on its way. */
  tornBytes: number;
  format: number | null;
  knownFormat: number;
  build: Build | null;
  lastCommit: MarkPlace | null;
  /** The newest repair in words, and when. */
  lastRepair: { at: number; said: string; unfinished: boolean } | null;
  repairs: number;
  /** All commits that repairs found missing. */
  lost: LostCommits[];
  /** Folders, oldest first: of damaged files, and of before an update. */
  asides: string[];
  copies: string[];
  /** Those of `asides` that belong to no repair: the store did not open. */
  unopened: string[];
}

export async function readStanding(storeFolder: string): Promise<StoreStanding> {
  const files = storeFiles(storeFolder);
  const report = await readReport(files.report);
  const wal = await readWal(files.wal);
  const repair = report?.repairs.at(-1) ?? null;
  const asides = await asideFolders(storeFolder, "aside");
  const mended = new Set(report?.repairs.map(({ aside }) => basename(aside)));
  return {
    databaseBytes: await stat(files.database).then(
      ({ size }) => size,
      () => 0,
    ),
    walBytes: wal.size,
    tornBytes: wal.size - (wal.ends.at(-1) ?? Math.min(wal.size, 8)),
    format: report?.format ?? null,
    knownFormat: STORE_FORMAT,
    build: report?.build ?? null,
    lastCommit: await readMark(files.mark),
    lastRepair: repair === null ? null : { at: repair.at, said: sayRepair(repair), unfinished: repair.state === "begun" },
    repairs: report?.repairs.length ?? 0,
    lost: report?.repairs.flatMap(({ lost }) => lost) ?? [],
    asides,
    unopened: asides.filter((folder) => !mended.has(basename(folder))),
    copies: await asideFolders(storeFolder, "copy"),
  };
}
