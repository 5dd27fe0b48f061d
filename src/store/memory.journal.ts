/** The journal without a disk: the same promises as the one on DuckDB, for simulation and tests, with faults to order. */
import type { Batch, Journal, StoredRow } from "../ports/journal.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { MemoryReader } from "./memory.reader.ts";
import { comparePlaces } from "./place.ts";
import type { Place } from "./place.ts";
import { PAYLOAD_ID } from "./prune.ts";

/**
 * What becomes of a batch: `ok`; `hang`: not written, and the answer never comes; `lost`: written, but `append` throws;
 * an Error: not written, and `append` throws it.
 */
export type MemoryFault = "ok" | "hang" | "lost" | Error;

export interface MemoryJournalOptions {
  /** Another memory journal: its rows are shared, and opening fences it. Rows: they are copied. */
  from?: MemoryJournal | readonly StoredRow[];
  /** Asked before each batch that would be written; a promise holds the commit until it resolves. */
  onAppend?: (batch: Batch) => MemoryFault | Promise<MemoryFault>;
}

export interface MemoryJournal extends Journal {
  /** What is on the "disk": committed rows in order. */
  readonly rows: readonly StoredRow[];
}

/** What survives a "crash". */
interface Disk {
  rows: StoredRow[];
  epoch: number;
}

const disks = new WeakMap<Journal, Disk>();

export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  return new MemoryLog(diskOf(options.from), options.onAppend ?? (() => "ok"));
}

function diskOf(from: MemoryJournalOptions["from"]): Disk {
  if (from === undefined) return { rows: [], epoch: 0 };
  if (Array.isArray(from)) {
    const rows = (from as readonly StoredRow[]).map((row) => ({ ...row })).sort(comparePlaces);
    return { rows, epoch: rows.at(-1)?.epoch ?? 0 };
  }
  const disk = disks.get(from as Journal);
  if (disk === undefined) throw new Error("createMemoryJournal({ from }) takes a memory journal or rows.");
  return disk;
}

class MemoryLog implements MemoryJournal {
  readonly reader: MemoryReader;
  readonly #disk: Disk;
  readonly #onAppend: NonNullable<MemoryJournalOptions["onAppend"]>;
  #state: "closed" | "open" = "closed";
  #epoch = 0;
  #acknowledged = 0;

  constructor(disk: Disk, onAppend: NonNullable<MemoryJournalOptions["onAppend"]>) {
    this.#disk = disk;
    this.#onAppend = onAppend;
    this.reader = new MemoryReader(() => {
      if (this.#state === "open") return this.#disk.rows;
      throw new SomoraError("STORE_STALLED", "The store is closed; nothing can be read now.");
    });
    disks.set(this, disk);
  }

  get rows(): readonly StoredRow[] {
    return this.#disk.rows;
  }

  async open(): Promise<{ epoch: number }> {
    if (this.#state === "open") throw new Error("The journal is open already.");
    this.#disk.epoch++;
    this.#epoch = this.#disk.epoch;
    this.#acknowledged = 0;
    this.#state = "open";
    return { epoch: this.#epoch };
  }

  async append(batch: Batch): Promise<"done" | "fenced"> {
    const known = this.#compare(batch);
    if (known !== null) return known;
    const fault = await this.#onAppend(batch);
    if (fault === "hang") return new Promise<never>(() => {});
    if (fault instanceof Error) throw fault;
    // While the hook held the commit, another one may have opened the log or written this batch.
    const late = this.#compare(batch);
    if (late !== null) return late;
    batch.rows.forEach((row, n) => {
      const body = row.body === null ? null : wellFormed(row.body);
      this.#disk.rows.push({ ...row, head: wellFormed(row.head), body, epoch: batch.epoch, commit: batch.commit, n });
    });
    if (fault === "lost") throw new Error(`Commit ${batch.epoch}.${batch.commit} was written, but its answer got lost.`);
    this.#acknowledged = batch.commit;
    return "done";
  }

  #compare(batch: Batch): "done" | "fenced" | null {
    if (this.#state === "closed") throw new Error("The journal is closed.");
    if (batch.epoch < this.#epoch || this.#disk.epoch > this.#epoch) return "fenced";
    if (batch.epoch > this.#epoch)
      throw new RangeError(`Commit ${batch.epoch}.${batch.commit}: this opening has the epoch ${this.#epoch}.`);
    const last = Math.max(this.#acknowledged, this.#lastOnDisk);
    if (batch.commit <= last) return "done";
    if (batch.commit === last + 1) return null;
    throw new RangeError(`Commit ${batch.commit} is out of order: the last one was ${last}.`);
  }

  get #lastOnDisk(): number {
    const last = this.#disk.rows.at(-1);
    return last !== undefined && last.epoch === this.#epoch ? last.commit : 0;
  }

  async reopen(): Promise<{ lastCommit: number }> {
    this.#state = "open";
    this.#acknowledged = Math.max(this.#acknowledged, this.#lastOnDisk);
    return { lastCommit: this.#acknowledged };
  }

  async newest(): Promise<StoredRow[]> {
    return [...this.#newestByKey().values()]
      .filter((row) => row.kind === "actor" || row.body !== null)
      .sort(comparePlaces)
      .map((row) => ({ ...row }));
  }

  async tail(after: Place, limit: number): Promise<StoredRow[]> {
    const rows = this.#disk.rows;
    // Rows stand in order: the first one after the place by halving.
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePlaces(rows[middle] as StoredRow, after) > 0) high = middle;
      else low = middle + 1;
    }
    return rows.slice(low, low + limit).map((row) => ({ ...row }));
  }

  async prune(before: number): Promise<number> {
    const newest = this.#newestByKey();
    const kept = this.#disk.rows.filter((row) => !isState(row) || newest.get(keyOf(row)) === row || !(atOf(row) < before));
    const border = this.#disk.rows.filter((row) => row.kind === "actor" && atOf(row) < before).at(-1);
    const named = new Set<string>();
    for (const row of kept)
      if (row.kind !== "payload") for (const [id] of `${row.head} ${row.body ?? ""}`.matchAll(PAYLOAD_ID)) named.add(id);
    const rows = kept.filter(
      (row) =>
        row.kind !== "payload" || named.has(row.key) || border === undefined || comparePlaces({ ...row, n: 0 }, { ...border, n: 0 }) > 0,
    );
    const deleted = this.#disk.rows.length - rows.length;
    // In place: another journal may share this disk.
    this.#disk.rows.splice(0, this.#disk.rows.length, ...rows);
    return deleted;
  }

  async erase(session: string): Promise<void> {
    const newest = this.#newestByKey();
    const below = (key: string): boolean => key === session || key.startsWith(`${session}/`) || key.startsWith(`${session} `);
    const rows = this.#disk.rows.filter(
      (row) => !((row.kind === "transcript" && row.key === session) || (isState(row) && below(row.key) && newest.get(keyOf(row)) !== row)),
    );
    this.#disk.rows.splice(0, this.#disk.rows.length, ...rows);
  }

  async checkpoint(): Promise<void> {}

  async close(): Promise<void> {
    this.#state = "closed";
  }

  #newestByKey(): Map<string, StoredRow> {
    const newest = new Map<string, StoredRow>();
    for (const row of this.#disk.rows) if (isState(row)) newest.set(keyOf(row), row);
    return newest;
  }
}

function isState(row: StoredRow): boolean {
  return row.kind === "actor" || row.kind === "part";
}

function keyOf(row: StoredRow): string {
  return `${row.kind} ${row.key}`;
}

/** NaN without an `at`: older than nothing. */
function atOf(row: StoredRow): number {
  const head: unknown = JSON.parse(row.head);
  const at = typeof head === "object" && head !== null && "at" in head ? head.at : undefined;
  return typeof at === "number" ? at : Number.NaN;
}

/** As a disk would keep it: a lone surrogate has no bytes and becomes U+FFFD. */
function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text, "utf8").toString("utf8") : text;
}
