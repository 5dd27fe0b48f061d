/**
 * What a person should know of a store, in `report.json` beside it: which build wrote it last, and each repair with what is
 * gone. Read before the database is opened, and by `somora doctor` at any time. It is written aside and renamed.
 */
import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { whenAbsent } from "./files.ts";
import { syncFolder } from "./blobs.ts";

/**
 * The layout of the log table. A build refuses a store of a higher one.
 * 1: eight columns. 2: `size` and `previous` for each row, by which a torn or missing commit is known.
 */
export const STORE_FORMAT = 2;

const REPAIRS_KEPT = 20;

const lostSchema = z.object({ epoch: z.number(), from: z.number(), to: z.number().nullable() });
const repairSchema = z.object({
  at: z.number(),
  /** `begun`: it was cut short; the next opening ends it. */
  state: z.enum(["begun", "done"]),
  /** What was wrong, and what was done. */
  why: z.string(),
  did: z.string(),
  /** The folder with the bytes as they were. */
  aside: z.string(),
  /** The last place that is there. */
  kept: z.object({ epoch: z.number(), commit: z.number() }).nullable(),
  lost: z.array(lostSchema),
});
const buildSchema = z.object({ version: z.string(), stamp: z.string().nullable() });
const reportSchema = z.object({
  format: z.number(),
  build: buildSchema.nullable(),
  repairs: z.array(repairSchema),
});

/** Commits `from` to `to` of one epoch are gone. `to` null: nothing is known from there on. */
export type LostCommits = z.infer<typeof lostSchema>;
export type Repair = z.infer<typeof repairSchema>;
/** `stamp` tells two builds of one version apart; null when it runs from sources. */
export type Build = z.infer<typeof buildSchema>;
export type StoreReport = z.infer<typeof reportSchema>;

/** Null: there is none, or it cannot be read as one. */
export async function readReport(file: string): Promise<StoreReport | null> {
  const text = await readFile(file, "utf8").catch(whenAbsent("null"));
  const parsed = reportSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

export async function writeReport(file: string, report: StoreReport): Promise<void> {
  const aside = `${file}.tmp`;
  const handle = await open(aside, "w", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ ...report, repairs: report.repairs.slice(-REPAIRS_KEPT) }, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, file);
  await syncFolder(dirname(file));
}

export function sayLost(lost: readonly LostCommits[]): string {
  if (lost.length === 0) return "no acknowledged commit is missing";
  return lost
    .map(({ epoch, from, to }) => {
      if (to === null) return `from commit ${from} of epoch ${epoch} on nothing is known`;
      return from === to ? `commit ${from} of epoch ${epoch} is gone` : `commits ${from} to ${to} of epoch ${epoch} are gone`;
    })
    .join("; ");
}

export function sayRepair(repair: Repair): string {
  return `the store was repaired: ${repair.why}; ${repair.did}; ${sayLost(repair.lost)}. Its bytes as they were are in ${repair.aside}.`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // half a file: nothing is known, which is said by what reads it
  }
}
