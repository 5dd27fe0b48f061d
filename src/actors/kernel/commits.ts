/**
 * Batches: rounds are computed into the open batch; the next commit starts when the last one ended, without a timer
 * (design §3.2).
 *
 * 1. One batch is in flight; at most one closed one waits behind it. No later batch passes an earlier one.
 * 2. A batch that failed is tried again as it is, in order, with back-off. Nothing of it has left the process, so memory is
 *    still right. While it fails nothing is added to the open batch: outcomes wait in the inbox.
 * 3. Outer effects of a batch are released, in order, when it is on disk and before the next round goes on (K2).
 * 4. `fenced` is final: nothing is released or tried again, drivers are aborted, the owner is told once.
 */
import type { Batch } from "../../ports/journal.port.ts";
import type { Address } from "../../protocol/ids.ts";
import { type Actor, type CommitNews, type CommittedView, type Core, emptyBatch, fenceOf, type OpenBatch } from "./core.ts";
import { actorRow, committedView, statusOf } from "./rows.ts";
import { round } from "./rounds.ts";
import type { TimerHeap } from "./timers.ts";

/** A closed batch waits; nothing is computed behind it. Many steps of few actors make few rows: such a batch may grow. */
const CLOSE_AT_ROWS = 256;
const CLOSE_AT_STEPS = 2000;
const STALL_MS = 2000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;
/** Reopening fails this many times in a row: the process cannot serve any more. */
const REOPEN_TRIES = 8;

interface Built {
  batch: Batch;
  open: OpenBatch;
  views: { actor: Actor; view: CommittedView }[];
}

export interface CommitObserver {
  /** Called once per commit that is on disk, in order. Throwing does no harm and is counted. */
  committed(news: CommitNews): void;
  /** The disk does not take commits (or takes them again: null). */
  stalled(reason: string | null): void;
  /** The kernel cannot go on: `fenced` by a newer epoch, or the store cannot be reopened. */
  fatal(why: "fenced" | "store", reason: string): void;
}

export class Commits {
  readonly #core: Core;
  readonly #heap: TimerHeap;
  readonly #observer: CommitObserver;
  #closed: Built | null = null;
  #inFlight: Built | null = null;
  #submittedAt = 0;
  #failures = 0;
  #stall: string | null = null;
  #cancelStallTimer: (() => void) | null = null;
  #scheduled = false;
  #pumping = false;
  #idleWaiters: (() => void)[] = [];
  observerErrors = 0;

  constructor(core: Core, heap: TimerHeap, observer: CommitObserver) {
    this.#core = core;
    this.#heap = heap;
    this.#observer = observer;
    core.wake = () => this.wake();
  }

  /** Why new commands are refused now, or null. */
  get stalled(): string | null {
    return (
      this.#stall ??
      (this.#inFlight && this.#core.clock.monotonic() - this.#submittedAt >= STALL_MS ? "a commit has been on its way for over 2 s" : null)
    );
  }

  wake(): void {
    if (this.#scheduled || this.#core.dead) return;
    this.#scheduled = true;
    this.#core.scheduler.soon(() => {
      this.#scheduled = false;
      this.pump();
    });
  }

  /** Resolves when there is no mail, no inbox and no batch. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.wake();
    });
  }

  pump(): void {
    const core = this.#core;
    if (this.#pumping || core.dead) return;
    this.#pumping = true;
    try {
      while (!core.dead && !this.#closed && this.#hasWork() && !(this.#failures > 0 && this.#openHasWork())) {
        const more = round(core, this.#heap, this.#inFlight !== null);
        if (!this.#inFlight) this.#submit(this.#build());
        else if (core.open.dirty.size >= CLOSE_AT_ROWS || core.open.steps >= CLOSE_AT_STEPS || core.open.fenced)
          this.#closed = this.#build();
        if (more) {
          this.wake();
          break;
        }
      }
      if (!core.dead && !this.#inFlight && this.#openHasWork()) this.#submit(this.#build());
    } finally {
      this.#pumping = false;
    }
    if (this.isIdle) this.#idleWaiters.splice(0).forEach((resolve) => resolve());
  }

  #hasWork(): boolean {
    return this.#core.inbox.length > 0 || this.#core.ready.length > 0;
  }

  #openHasWork(): boolean {
    const { open } = this.#core;
    return open.dirty.size > 0 || open.rows.length > 0 || open.buried.length > 0 || open.outer.length > 0 || open.facts.length > 0;
  }

  get isIdle(): boolean {
    return !this.#hasWork() && !this.#openHasWork() && !this.#inFlight && !this.#closed;
  }

  /** Rows are made here, so a fence set meanwhile is in them. */
  #build(): Built {
    const core = this.#core;
    const { open } = core;
    const at = core.clock.now();
    const views: Built["views"] = [];
    // Before the living: an address may have a new life in the commit that buries the old one, and the newest row counts (K5).
    for (const row of open.buried) open.rows.push(row);
    for (const actor of open.dirty) {
      const stopping = fenceOf(actor) !== null;
      const { row, state } = actorRow(actor, at, stopping);
      open.rows.push(row);
      actor.story = [];
      actor.dirty = false;
      views.push({ actor, view: committedView(actor, state, statusOf(actor, stopping)) });
    }
    const batch: Batch = { epoch: core.epoch, commit: core.commitNumber, rows: open.rows };
    core.commitNumber += 1;
    core.ordinal = 0;
    core.open = emptyBatch();
    return { batch, open, views };
  }

  #submit(built: Built): void {
    this.#inFlight = built;
    this.#submittedAt = this.#core.clock.monotonic();
    this.#cancelStallTimer = this.#core.clock.setTimer(STALL_MS, () => this.#tellStall("a commit has been on its way for over 2 s"));
    this.#append(built);
  }

  #append(built: Built): void {
    this.#core.journal.append(built.batch).then(
      (answer) => (answer === "done" ? this.#done(built) : this.#die("fenced", "a newer run of the server owns this home")),
      (error: unknown) => this.#failed(built, error),
    );
  }

  #done(built: Built): void {
    const core = this.#core;
    if (core.dead) return;
    this.#cancelStallTimer?.();
    this.#cancelStallTimer = null;
    this.#inFlight = null;
    this.#failures = 0;
    this.#tellStall(null);
    core.counters.commits += 1;
    const changed = new Set<Address>(built.open.gone);
    for (const { actor, view } of built.views) {
      actor.committed = view;
      changed.add(actor.address);
    }
    this.#tell({
      epoch: built.batch.epoch,
      commit: built.batch.commit,
      at: core.clock.now(),
      facts: built.open.facts,
      payloads: built.open.payloads,
      changed,
      rows: built.batch.rows.length,
      booked: built.open.booked,
    });
    for (const outer of built.open.outer) outer.release();
    if (this.#closed) {
      const next = this.#closed;
      this.#closed = null;
      this.#submit(next);
    } else if (this.#openHasWork()) {
      this.#submit(this.#build());
    }
    this.pump();
  }

  #tell(news: CommitNews): void {
    try {
      this.#observer.committed(news);
    } catch {
      this.observerErrors += 1;
    }
  }

  #failed(built: Built, error: unknown): void {
    const core = this.#core;
    if (core.dead) return;
    this.#failures += 1;
    const reason = error instanceof Error ? error.message : String(error);
    this.#tellStall(reason);
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
    core.clock.setTimer(wait, () => this.#again(built, reason));
  }

  /** The fate of the batch is open: the store is reopened and asked before it is written again. */
  #again(built: Built, reason: string): void {
    const core = this.#core;
    if (core.dead) return;
    core.journal.reopen().then(
      ({ lastCommit }) => (lastCommit >= built.batch.commit ? this.#done(built) : this.#append(built)),
      (error: unknown) => {
        if (this.#failures >= REOPEN_TRIES)
          this.#die(
            "store",
            `the store cannot be opened again: ${error instanceof Error ? error.message : String(error)} (first: ${reason})`,
          );
        else this.#failed(built, error);
      },
    );
  }

  #tellStall(reason: string | null): void {
    if (reason === this.#stall) return;
    this.#stall = reason;
    this.#observer.stalled(reason);
  }

  #die(why: "fenced" | "store", reason: string): void {
    const core = this.#core;
    if (core.dead) return;
    core.dead = true;
    this.#cancelStallTimer?.();
    this.#heap.close();
    for (const work of core.running.values()) work.controller.abort();
    this.#observer.fatal(why, reason);
  }
}
