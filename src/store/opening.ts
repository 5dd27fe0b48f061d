/**
 * Opening the store: repaired where it must be, copied aside before another build writes to it, and with the number of this
 * opening. Until all of that is said and noted nothing is written to the database.
 *
 * Order: what the files say from outside → open, with a shortened log where needed → does it hang together, and with what was
 * acknowledged → copies → the report → tables and views, checkpoint → the epoch.
 */
import { randomUUID } from "node:crypto";
import { stat, unlink } from "node:fs/promises";
import { SomoraError } from "../protocol/errors.ts";
import { keepAside, dropOldCopies } from "./aside.ts";
import { lostSince, standingOf, type Standing } from "./consistency.ts";
import { Database, rowsOf } from "./database.ts";
import { type StoreFiles, whenAbsent } from "./files.ts";
import { Mark, readMark, type MarkPlace } from "./mark.ts";
import { refusal, wordsOf } from "./refusal.ts";
import { beginRepair, cut, openRepairing } from "./repair.ts";
import { readReport, sayRepair, STORE_FORMAT, writeReport, type Build, type LostCommits, type Repair, type StoreReport } from "./report.ts";
import { DDL, DEEP_CHECK, FORMAT_1_COLUMNS, LOG_COLUMNS, MIGRATE } from "./schema.ts";
import { readWal, type WalShape } from "./wal.ts";

export interface OpeningOptions {
  now: number;
  /** Who opens; null in tests. */
  build: Build | null;
  /** For the log of the server. */
  tell: (level: "info" | "warn" | "error", line: string) => void;
}

export interface OpenedStore {
  database: Database;
  epoch: number;
  mark: Mark;
  /** Its blocks were not all read: it is too large for that at a start. */
  unread: boolean;
}

/** Copies of earlier builds' stores that stay. */
const COPIES_KEPT = 3;
/** Up to here every block is read at the start, about 0.2 s; above, after it. */
const READ_WHOLE_LIMIT = 32 * 1024 * 1024;

/** Rejects with STORE_UNREADABLE, STORE_NEWER or HOME_LOCKED; never tries for ever. */
export async function openStore(files: StoreFiles, options: OpeningOptions): Promise<OpenedStore> {
  const opening = new Opening(files, options);
  try {
    return await opening.run();
  } catch (error) {
    opening.close();
    throw await refusal(files, error, options.now);
  }
}

/** Opens what was open before. Writes nothing: it must succeed on a full disk, too. */
export async function openAgain(files: StoreFiles, now: number): Promise<Database> {
  let database: Database | null = null;
  try {
    database = await Database.open(files.database);
    await checkColumns(database);
    return database;
  } catch (error) {
    if (database !== null) closeQuietly(database);
    throw await refusal(files, error, now);
  }
}

class Opening {
  readonly #files: StoreFiles;
  readonly #options: OpeningOptions;
  #database: Database | null = null;
  #report: StoreReport = { format: 0, build: null, repairs: [] };
  #repair: Repair | null = null;

  constructor(files: StoreFiles, options: OpeningOptions) {
    this.#files = files;
    this.#options = options;
  }

  async run(): Promise<OpenedStore> {
    const files = this.#files;
    const report = await readReport(files.report);
    if (report !== null) this.#report = report;
    if (report !== null && report.format > STORE_FORMAT) throw newer(files, report.format, report.build);
    const mark = await readMark(files.mark);
    const wal = await readWal(files.wal);
    const size = await sizeOf(files.database);
    await checkThere(files, size, wal, mark);

    ({ database: this.#database, repair: this.#repair } = await openRepairing(files, this.#options.now, (repair) => this.#begun(repair)));
    const cutShort = this.#report.repairs.find(({ state }) => state === "begun");
    if (this.#repair === null && cutShort !== undefined) this.#repair = { ...cutShort, did: "a repair that was cut short was ended" };
    const last = await this.#settle(wal, mark);
    if (size > 0) await this.#copyForUpdate(report);
    await this.#writeReport();

    const writer = this.#opened.writer;
    const old = (await columnsOf(this.#opened)).length === FORMAT_1_COLUMNS;
    for (const statement of [...(old ? MIGRATE : []), ...DDL]) await writer.run(statement);
    await writer.run("checkpoint");
    await checkColumns(this.#opened);
    // Where what was acknowledged is not known, the lost log may have opened one epoch more.
    const epoch = Math.max(last.epoch, mark?.epoch ?? 0) + (this.#repair !== null && mark === null ? 2 : 1);
    return { database: this.#opened, epoch, mark: await this.#begin(epoch), unread: size > READ_WHOLE_LIMIT };
  }

  close(): void {
    if (this.#database !== null) closeQuietly(this.#database);
    this.#database = null;
  }

  /** Makes it hang together, and knows what is gone. Answers with the last place that is there. */
  async #settle(wal: WalShape, mark: MarkPlace | null): Promise<MarkPlace> {
    let standing = await this.#stand();
    if (standing.format > STORE_FORMAT) throw newer(this.#files, standing.format, null);
    if (standing.foreign !== null) {
      const why = `its log (WAL) is not its own: with it ${standing.foreign}`;
      if ((await readWal(this.#files.wal)).size === 0) throw new Error(standing.foreign);
      await this.#mend(why, "it was opened without that log", () => cut(this.#files.wal, 0));
      standing = await this.#stand();
      if (standing.foreign !== null) throw new Error(standing.foreign);
    }
    let { last } = standing;
    let lost: LostCommits[] = [];
    if (standing.broken !== null) {
      const { commit, before, why } = standing.broken;
      await this.#mend(`commit ${commit} of epoch ${last.epoch} is not whole: ${why}`, `all from commit ${before + 1} on was taken out`);
      await this.#opened.writer.run("delete from log where epoch = $1 and commit > $2", [last.epoch, BigInt(before)]);
      const acknowledged = mark?.epoch === last.epoch ? Math.max(mark.commit, last.commit) : last.commit;
      lost = [{ epoch: last.epoch, from: before + 1, to: acknowledged }];
      last = { epoch: last.epoch, commit: before };
    } else {
      lost = lostSince(last, mark);
    }
    const unknown: LostCommits[] = [{ epoch: last.epoch, from: last.commit + 1, to: null }];
    if (mark === null && lost.length === 0 && (wal.behind > 0 || this.#repair !== null)) lost = unknown;
    if (lost.length > 0 && this.#repair === null && !this.#isKnown(lost)) {
      const why = wal.size === 0 ? "its log (WAL) is missing or empty" : "its log (WAL) ends before what was acknowledged";
      await this.#mend(why, "it was opened with what is whole");
    }
    if (this.#repair !== null) {
      this.#repair = { ...this.#repair, state: "done", kept: last, lost };
      this.#options.tell(lost.length > 0 ? "error" : "warn", sayRepair(this.#repair));
    } else if (wal.size > (wal.ends.at(-1) ?? 0) && wal.ends.length > 0) {
      this.#options.tell("info", `the last ${wal.size - (wal.ends.at(-1) ?? 0)} bytes of the log (WAL) are a commit that never ended`);
    }
    return last;
  }

  /** Closes, copies both files aside and notes it, changes what is to be changed, opens again. */
  async #mend(why: string, did: string, change: () => Promise<void> = async () => {}): Promise<void> {
    this.close();
    const earlier = this.#repair;
    const repair = await beginRepair(this.#files, this.#options.now, (begun) => this.#begun(begun), why);
    await change();
    this.#database = await Database.open(this.#files.database);
    // The first copies hold the bytes as they were.
    this.#repair =
      earlier === null ? { ...repair, did } : { ...earlier, why: `${earlier.why}; then ${why}`, did: `${earlier.did}; ${did}` };
  }

  async #stand(): Promise<Standing> {
    const { writer } = this.#opened;
    const columns = await columnsOf(this.#opened);
    if (columns.length === 0) {
      const [row] = await rowsOf(writer, "select count(*) from duckdb_tables() where not internal");
      if (Number(row?.[0]) > 0) throw new Error("it holds tables of something else and no log");
      return { last: { epoch: 0, commit: 0 }, broken: null, foreign: null, format: 0 };
    }
    const known = LOG_COLUMNS.slice(0, columns.length).join(", ");
    if (columns.length < FORMAT_1_COLUMNS || columns.length > LOG_COLUMNS.length || columns.join(", ") !== known)
      throw new Error(`its table log has the columns ${columns.join(", ")}, not ${LOG_COLUMNS.join(", ")}`);
    if ((await sizeOf(this.#files.database)) <= READ_WHOLE_LIMIT) await writer.run(DEEP_CHECK);
    return standingOf(writer, columns.length === LOG_COLUMNS.length);
  }

  /** Before the first write of another build, and before a change of the format. */
  async #copyForUpdate(before: StoreReport | null): Promise<void> {
    const { now, build, tell } = this.#options;
    const sameFormat = before?.format === STORE_FORMAT;
    const sameBuild = build === null || (before?.build?.version === build.version && before.build.stamp === build.stamp);
    if (sameFormat && sameBuild) return;
    this.close();
    const from = before?.build == null ? "an earlier build" : nameOf(before.build);
    try {
      const folder = await keepAside(this.#files, now, "copy");
      tell("info", `this build writes to the store for the first time; as ${from} left it, it is copied to ${folder}`);
      for (const old of await dropOldCopies(this.#files.folder, COPIES_KEPT))
        tell("info", `the copy ${old} was removed; the newest ${COPIES_KEPT} stay`);
    } catch (error) {
      if (!sameFormat) {
        throw new SomoraError(
          "STORE_UNREADABLE",
          `The store ${this.#files.database} was written by ${from} and could not be copied aside (${wordsOf(error)}); it was not touched.`,
          { hint: "This build changes its layout and copies it before. Give the disk room, then start again.", cause: error },
        );
      }
      tell("warn", `this build writes to the store for the first time, and it could not be copied aside: ${wordsOf(error)}`);
    }
    this.#database = await Database.open(this.#files.database);
  }

  /** The number of this opening, on disk before anybody hears of it. */
  async #begin(epoch: number): Promise<Mark> {
    const { now, build } = this.#options;
    const { writer } = this.#opened;
    const [row] = await rowsOf(writer, "select max(head->>'$.store') from log where commit = 0 and kind = 'opening'");
    const store = typeof row?.[0] === "string" ? row[0] : randomUUID();
    const head = {
      at: now,
      pid: process.pid,
      store,
      format: STORE_FORMAT,
      version: build?.version ?? null,
      ...(this.#repair === null ? {} : { lost: this.#repair.lost }),
    };
    await writer.run("insert into log values ($1, 0, 0, '', 'opening', '', $2, null, 1, 0)", [epoch, JSON.stringify(head)]);
    const mark = new Mark(this.#files.mark);
    mark.write({ epoch, commit: 0 });
    mark.sync();
    return mark;
  }

  async #begun(repair: Repair): Promise<void> {
    this.#report = { ...this.#report, repairs: [...this.#report.repairs.filter(({ state }) => state === "done"), repair] };
    await writeReport(this.#files.report, this.#report);
  }

  /** Before the first write to the database: what is said here must not be lost with the next crash. */
  async #writeReport(): Promise<void> {
    const { build } = this.#options;
    const done = this.#report.repairs.filter(({ state }) => state === "done");
    const repairs = this.#repair === null ? done : [...done, this.#repair];
    const before = JSON.stringify(this.#report);
    this.#report = { format: STORE_FORMAT, build: build ?? this.#report.build, repairs };
    if (JSON.stringify(this.#report) !== before) await writeReport(this.#files.report, this.#report);
  }

  /** A crash between the report and the next epoch would say the same loss again. */
  #isKnown(lost: LostCommits[]): boolean {
    return JSON.stringify(this.#report.repairs.at(-1)?.lost) === JSON.stringify(lost);
  }

  get #opened(): Database {
    if (this.#database === null) throw new Error("the database is not open");
    return this.#database;
  }
}

/** A database that is gone must not be taken for one that never was. */
async function checkThere(files: StoreFiles, size: number, wal: WalShape, mark: MarkPlace | null): Promise<void> {
  if (size > 0) return;
  if (wal.size > 0) throw new Error("the file is missing or empty, while its log (WAL) is there");
  if (mark !== null) throw new Error(`the file is missing or empty, while it was opened ${mark.epoch} times`);
  // A process killed in the very first moment of a home leaves an empty file, which DuckDB refuses. There is nothing in it.
  await unlink(files.database).catch(whenAbsent(undefined));
}

function newer(files: StoreFiles, format: number, build: Build | null): SomoraError {
  const who = build === null ? "a newer build" : nameOf(build);
  return new SomoraError(
    "STORE_NEWER",
    `The store ${files.database} has the format ${format}, written by ${who}; this build knows formats up to ${STORE_FORMAT}.`,
    {
      hint: "Start the newer build again, or go back to the copy it made before its first write: store/copy-… (docs/tasks/repair-a-store.md).",
      details: { format, known: STORE_FORMAT },
    },
  );
}

function nameOf({ version, stamp }: Build): string {
  return `somora ${version}${stamp === null ? "" : ` (${stamp.slice(0, 8)})`}`;
}

async function columnsOf(database: Database): Promise<string[]> {
  const rows = await rowsOf(
    database.writer,
    "select column_name from duckdb_columns() where table_name = 'log' and not internal order by column_index",
  );
  return rows.map(([name]) => String(name));
}

async function checkColumns(database: Database): Promise<void> {
  const found = (await columnsOf(database)).join(", ");
  if (found !== LOG_COLUMNS.join(", ")) throw new Error(`its table log has the columns ${found}, not ${LOG_COLUMNS.join(", ")}`);
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(({ size }) => size, whenAbsent(0));
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
