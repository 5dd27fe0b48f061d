/**
 * The journal on DuckDB (design §12): one file, one writer, one appender flush inside begin and commit per batch.
 *
 * - All writing goes through one queue: appends, checkpoints, prune chunks, reopening, closing.
 * - The compare-and-set on (epoch, commit − 1) is made in memory; the store is asked only after a reopening. The home lock
 *   keeps other processes out; within the process the newest opening of a file fences the earlier ones.
 * - After any failed write the connection is not trusted: the next append reopens first and looks up what is there.
 */
import { mkdir, realpath, statfs } from "node:fs/promises";
import type { Batch, Journal, StoredRow } from "../ports/journal.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { BLOB_LIMIT, Blobs } from "./blobs.ts";
import { Checkpoints, WAL_LIMIT } from "./checkpoints.ts";
import { lastPlace } from "./consistency.ts";
import { rowsOf } from "./database.ts";
import type { Database } from "./database.ts";
import { DuckdbReader } from "./log.reader.ts";
import { storeFiles, type StoreFiles } from "./files.ts";
import type { Mark } from "./mark.ts";
import { closeQuietly, openAgain, openStore } from "./opening.ts";
import { FOUND_LIMIT, chunksOf, deletePlaces, eraseSession, findSuperseded, findUnnamed, namedBlobs, noteHorizon } from "./prune.ts";
import type { Place } from "./place.ts";
import { plainRefusal, refusal } from "./refusal.ts";
import type { Build } from "./report.ts";
import { COLUMNS, appendRows, readRows } from "./rows.ts";
import { DEEP_CHECK, NEWEST } from "./schema.ts";
import { Serial, withinLimit } from "./serial.ts";

export interface DuckdbJournalOptions {
  /** `<home>/store`; made when it is not there. */
  folder: string;
  /** Wall clock, epoch milliseconds. */
  now: () => number;
  /** Told of a checkpoint between commits that failed: for the log. The next append reopens the store by itself. */
  onProblem?: (error: unknown) => void;
  /** Which build opens: another one than last time copies the store aside before it writes. */
  build?: Build;
  /** Told what an opening found and did (repairs, copies): for the log. */
  onNews?: (level: "info" | "warn" | "error", line: string) => void;
  /** How long `reopen` may take before it counts as impossible. */
  reopenLimitMs?: number;
}

/** `failed`: a write went wrong and its fate is open; nothing is written before a reopening. */
type State = "closed" | "open" | "failed";

const REOPEN_LIMIT_MS = 20_000;
/** A blob younger than this may belong to a batch that is being written. */
const BLOB_GRACE_MS = 60 * 60 * 1_000;
/** What a checkpoint needs free beside the size of the WAL. */
const FREE_BYTES = 16 * 1024 * 1024;

/** The newest epoch of each file in this process: an earlier opening is fenced without asking the store. */
const newestEpochs = new Map<string, number>();

export function createDuckdbJournal(options: DuckdbJournalOptions): Journal {
  return new DuckdbJournal(options);
}

class DuckdbJournal implements Journal {
  readonly reader: DuckdbReader;
  readonly #options: DuckdbJournalOptions;
  readonly #blobs: Blobs;
  readonly #writer = new Serial();
  readonly #checkpoints = new Checkpoints(() => void this.#checkpointQuietly());
  #files: StoreFiles;
  #database: Database | null = null;
  #mark: Mark | null = null;
  #state: State = "closed";
  #epoch = 0;
  /** The last commit answered `done`, and the last of those that had rows. */
  #acknowledged = 0;
  #written = 0;

  constructor(options: DuckdbJournalOptions) {
    this.#options = options;
    this.#files = storeFiles(options.folder);
    this.#blobs = new Blobs(this.#files.blobs);
    this.reader = new DuckdbReader(this.#blobs);
  }

  open(): Promise<{ epoch: number }> {
    return this.#writer.run(async () => {
      if (this.#state !== "closed") throw new Error("The journal is open already.");
      const { folder, now, build, onNews } = this.#options;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        this.#files = storeFiles(await realpath(folder));
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        throw (
          plainRefusal(this.#files.database, error) ??
          new SomoraError("STORE_UNREADABLE", `The store's folder ${folder} cannot be made: ${words}`, {
            hint: "Make the folder above it writable.",
            cause: error,
          })
        );
      }
      const at = now();
      const opened = await openStore(this.#files, { now: at, build: build ?? null, tell: onNews ?? (() => {}) });
      this.#epoch = opened.epoch;
      this.#mark = opened.mark;
      try {
        await this.#use(opened.database);
      } catch (error) {
        closeQuietly(opened.database);
        throw await refusal(this.#files, error, at);
      }
      if (opened.unread) void this.#readWhole();
      this.#acknowledged = 0;
      this.#written = 0;
      newestEpochs.set(this.#files.database, this.#epoch);
      return { epoch: this.#epoch };
    });
  }

  append(batch: Batch): Promise<"done" | "fenced"> {
    return this.#writer.run(async () => {
      if (this.#state === "failed") await this.#reopenNow();
      const known = this.#compare(batch);
      if (known !== null) return known;
      if (batch.rows.length > 0) await this.#write(batch);
      this.#acknowledged = batch.commit;
      if (this.#checkpoints.due) await this.#checkpointWhenRoom();
      return "done";
    });
  }

  /** The answer that needs no writing, or null when the batch is the next one. */
  #compare(batch: Batch): "done" | "fenced" | null {
    if (this.#state === "closed") throw new Error("The journal is closed.");
    if (batch.epoch < this.#epoch || this.#isFenced) return "fenced";
    if (batch.epoch > this.#epoch)
      throw new RangeError(`Commit ${batch.epoch}.${batch.commit}: this opening has the epoch ${this.#epoch}.`);
    if (batch.commit <= this.#acknowledged) return "done";
    if (batch.commit === this.#acknowledged + 1) return null;
    throw new RangeError(`Commit ${batch.commit} is out of order: the last one was ${this.#acknowledged}.`);
  }

  get #isFenced(): boolean {
    return (newestEpochs.get(this.#files.database) ?? 0) > this.#epoch;
  }

  async #write(batch: Batch): Promise<void> {
    const database = this.#opened;
    let bytes = 0;
    const bodies: (string | null)[] = [];
    this.#state = "failed";
    for (const { key, head, body } of batch.rows) {
      const stored = body === null ? null : mustBeFile(body) ? await this.#blobs.store(body) : body;
      bodies.push(stored);
      bytes += key.length + head.length + (stored?.length ?? 0) + 64;
    }
    const appender = await database.appender();
    await database.writer.run("begin");
    appendRows(appender, batch, bodies, this.#written);
    appender.flushSync();
    await database.writer.run("commit");
    this.#state = "open";
    this.#written = batch.commit;
    this.#markWritten();
    this.#checkpoints.wrote(bytes);
  }

  /** What is answered `done` is marked before. A mark that cannot be written costs only the knowledge of a loss. */
  #markWritten(): void {
    if (this.#isFenced) return;
    try {
      this.#mark?.write({ epoch: this.#epoch, commit: this.#written });
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }

  reopen(): Promise<{ lastCommit: number }> {
    const limit = this.#options.reopenLimitMs ?? REOPEN_LIMIT_MS;
    const stuck = () =>
      new SomoraError("STORE_STALLED", `The store could not be reopened within ${limit} ms.`, {
        hint: "Look at the disk, then start the server again.",
      });
    return withinLimit(
      this.#writer.run(() => this.#reopenNow()),
      limit,
      stuck,
    );
  }

  async #reopenNow(): Promise<{ lastCommit: number }> {
    await this.#closeAll();
    const database = await openAgain(this.#files, this.#options.now());
    try {
      const newestEpoch = (await lastPlace(database.writer)).epoch;
      const lastCommit = (await lastPlace(database.writer, this.#epoch)).commit;
      if (newestEpoch > this.#epoch) newestEpochs.set(this.#files.database, newestEpoch);
      if (lastCommit < this.#written) {
        throw new SomoraError(
          "STORE_UNREADABLE",
          `The store ${this.#files.database} ends at commit ${lastCommit} of this run, but commit ${this.#written} was on disk before.`,
          { hint: "The disk lost written data. Restore a backup." },
        );
      }
      await this.#use(database);
      this.#written = lastCommit;
      this.#markWritten();
      this.#acknowledged = Math.max(lastCommit, this.#acknowledged);
      return { lastCommit: this.#acknowledged };
    } catch (error) {
      closeQuietly(database);
      throw error;
    }
  }

  newest(): Promise<StoredRow[]> {
    return this.#writer.run(async () => {
      try {
        return await readRows(await rowsOf(this.#opened.writer, NEWEST), this.#blobs);
      } catch (error) {
        if (this.#acknowledged > 0 || error instanceof SomoraError) throw error;
        // Damage inside the file shows at the first read: the same answer as for one that does not open.
        await this.#closeAll();
        throw await refusal(this.#files, error, this.#options.now());
      }
    });
  }

  async tail(after: Place, limit: number): Promise<StoredRow[]> {
    const rows = await this.reader.on((connection) =>
      rowsOf(
        connection,
        `select ${COLUMNS} from log where commit > 0 and (epoch > $1 or (epoch = $1 and (commit > $2 or (commit = $2 and n > $3))))
         order by epoch, commit, n limit $4`,
        [after.epoch, BigInt(after.commit), after.n, BigInt(limit)],
      ),
    );
    return readRows(rows, this.#blobs);
  }

  async prune(before: number): Promise<number> {
    let deleted = 0;
    for (const find of [findSuperseded, findUnnamed]) {
      let found: number;
      do {
        const places = await this.reader.on((connection) => find(connection, before, this.#blobs));
        await this.#noteHorizon(places.at(-1));
        // Each chunk takes its turn among the commits.
        for (const chunk of chunksOf(places)) await this.#writer.run(() => deletePlaces(this.#opened.writer, chunk));
        found = places.length;
        deleted += found;
      } while (found === FOUND_LIMIT);
    }
    await this.#writer.run(async () => {
      await this.#blobs.sweep(await namedBlobs(this.#opened.writer), Date.now() - BLOB_GRACE_MS);
    });
    if (deleted > 0) await this.checkpoint();
    return deleted;
  }

  /** Up to here rows may be missing from now on: said in the log before the first is. */
  async #noteHorizon(highest: Place | undefined): Promise<void> {
    if (highest !== undefined) await this.#writer.run(() => noteHorizon(this.#opened.writer, this.#epoch, highest));
  }

  async erase(session: string): Promise<void> {
    await this.#writer.run(async () => {
      await noteHorizon(this.#opened.writer, this.#epoch, { epoch: this.#epoch, commit: this.#written });
      await eraseSession(this.#opened.writer, session);
    });
  }

  checkpoint(): Promise<void> {
    return this.#writer.run(() => this.#checkpointNow());
  }

  async close(): Promise<void> {
    await this.#writer.run(async () => {
      if (this.#state === "closed") return;
      const failure = this.#state === "open" ? await this.#checkpointNow().catch((error: unknown) => error) : undefined;
      await this.#closeAll();
      this.#mark?.close();
      this.#mark = null;
      this.#state = "closed";
      if (failure !== undefined) throw failure;
    });
  }

  /** Takes a database into use; from here on no statement of it leaves the file. */
  async #use(database: Database): Promise<void> {
    await database.appender();
    await database.lock();
    this.#database = database;
    this.#state = "open";
    this.#checkpoints.done();
    this.reader.use(database.reader);
  }

  async #closeAll(): Promise<void> {
    this.#checkpoints.stop();
    await this.reader.drain();
    const database = this.#database;
    this.#database = null;
    this.#state = "failed";
    if (database !== null) closeQuietly(database);
  }

  /** After an opening that was too large to read every block: damage is said as soon as it is known. */
  async #readWhole(): Promise<void> {
    const database = this.#opened;
    try {
      await database.background(DEEP_CHECK);
    } catch (error) {
      if (this.#database !== database) return; // closed meanwhile, and interrupted by that
      const words = error instanceof Error ? error.message.split("\n", 1)[0] : String(error);
      this.#options.onNews?.(
        "error",
        `the store ${this.#files.database} is damaged inside (${words}): what stands there cannot be read. Stop the server and restore a backup or a copy (docs/tasks/repair-a-store.md).`,
      );
    }
  }

  get #opened(): Database {
    if (this.#database === null) throw new SomoraError("STORE_STALLED", "The store is closed.", { hint: "Reopen it." });
    return this.#database;
  }

  async #checkpointNow(): Promise<void> {
    const database = this.#opened;
    const before = this.#state;
    // A checkpoint that fails kills the instance.
    this.#state = "failed";
    await database.writer.run("checkpoint");
    this.#state = before;
    this.#checkpoints.done();
  }

  async #checkpointWhenRoom(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#options.folder);
    if (bavail * bsize > FREE_BYTES + 2 * WAL_LIMIT) await this.#checkpointNow();
  }

  /** By the timer. A failure shows at the next append, which reopens. */
  async #checkpointQuietly(): Promise<void> {
    await this.#writer
      .run(async () => {
        if (this.#state === "open") await this.#checkpointWhenRoom();
      })
      .catch((error: unknown) => this.#options.onProblem?.(error));
  }
}

/** Most bodies are short and plain: no need to ask the blobs. */
function mustBeFile(body: string): boolean {
  return body.length * 3 > BLOB_LIMIT || body.charCodeAt(0) === 1;
}
