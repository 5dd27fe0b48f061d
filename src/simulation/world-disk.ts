/**
 * The disk of a world: the memory journal behind a writer that is slow, stalls, fails, reports failure though it wrote, and dies
 * before, at or after a commit. What was not acknowledged when the power went may be lost, torn (then it never counts) or whole, and
 * may reach the disk late, when another run of the server owns it.
 */
import type { Batch, Journal, StoredRow } from "../ports/journal.port.ts";
import { createMemoryJournal, type MemoryFault, type MemoryJournal } from "../store/memory.journal.ts";
import type { Timeline } from "./timeline.ts";

export type DiskFault = "error" | "errors" | "unsure" | "stall" | "unopenable";
export type CrashMoment = "before" | "at" | "after" | "torn" | "late";

export interface DiskEvents {
  /** Asked at each append: what goes wrong with it. */
  fault(offered: number, inLife: number): DiskFault | { crash: CrashMoment } | null;
  written(rows: readonly StoredRow[]): void;
  acknowledged(offered: number): void;
  crash(moment: CrashMoment): void;
  /** A batch of a run that is over reached the disk late. */
  late(answer: string): void;
  story(line: string): void;
  say(wrong: string): void;
}

export class WorldDisk {
  readonly #timeline: Timeline;
  readonly #events: DiskEvents;
  #last: MemoryJournal | null = null;
  /** Batches offered so far, in all runs. */
  offered = 0;

  constructor(timeline: Timeline, events: DiskEvents) {
    this.#timeline = timeline;
    this.#events = events;
  }

  get rows(): readonly StoredRow[] {
    return this.#last?.rows ?? [];
  }

  /** For one run of the server. What it asks after `alive` is false is never answered. */
  journal(alive: () => boolean): Journal & { openedAnother(): void } {
    const { random } = this.#timeline;
    let next: MemoryFault = "ok";
    const inner = createMemoryJournal({
      ...(this.#last ? { from: this.#last } : {}),
      onAppend: () => {
        const fault = next;
        next = "ok";
        return fault;
      },
    });
    this.#last = inner;
    const never = new Promise<never>(() => {});
    let inLife = 0;
    let errorsLeft = 0;
    let acknowledged = 0;
    let lateOne: Batch | null = null;
    const after = <Value>(ms: number, value: () => Value | Promise<Value>): Promise<Value> =>
      new Promise((resolve, reject) => {
        this.#timeline.after(ms, () => {
          if (!alive()) return;
          Promise.resolve()
            .then(value)
            .then((given) => (alive() ? resolve(given) : undefined), reject);
        });
      });
    const write = async (batch: Batch, fault: MemoryFault): Promise<"done" | "fenced"> => {
      const before = inner.rows.length;
      next = fault;
      try {
        return await inner.append(batch);
      } finally {
        if (inner.rows.length > before) this.#events.written(inner.rows.slice(before));
      }
    };
    const append = async (batch: Batch): Promise<"done" | "fenced"> => {
      this.offered += 1;
      inLife += 1;
      const offered = this.offered;
      if (batch.commit > acknowledged + 1)
        this.#events.say(`K3: commit ${batch.commit} was offered while ${acknowledged + 1} was not done`);
      const answered = (answer: "done" | "fenced"): "done" | "fenced" => {
        acknowledged = Math.max(acknowledged, batch.commit);
        this.#events.acknowledged(offered);
        return answer;
      };
      const fault = errorsLeft > 0 ? "error" : this.#events.fault(offered, inLife);
      if (errorsLeft > 0) errorsLeft -= 1;
      const quick = random.chance(0.5) ? random.whole(0, 2) : random.whole(1, 9);
      if (fault === null) return answered(await after(quick, () => write(batch, "ok")));
      if (typeof fault === "object") {
        if (fault.crash === "late") lateOne = batch;
        return after(quick, async () => {
          if (fault.crash === "at" || fault.crash === "after") await write(batch, "ok");
          if (fault.crash === "after") {
            this.#events.crash("after");
            return answered("done");
          }
          this.#events.crash(fault.crash);
          return never;
        });
      }
      this.#events.story(`disk: ${fault} at commit ${batch.epoch}.${batch.commit}`);
      if (fault === "stall") return answered(await after(random.whole(2_500, 6_000), () => write(batch, "ok")));
      if (fault === "errors") errorsLeft = random.whole(1, 4);
      return after(random.chance(0.5) ? quick : random.whole(5, 80), () =>
        write(batch, fault === "unsure" ? "lost" : new Error("EIO: the disk refuses")),
      );
    };
    return {
      open: () => after(random.whole(0, 3), () => inner.open()),
      append,
      reopen: () =>
        after(random.whole(1, 30), async () => {
          const answer = await inner.reopen();
          if (answer.lastCommit > acknowledged) {
            acknowledged = answer.lastCommit;
            this.#events.acknowledged(this.offered);
          }
          return answer;
        }),
      newest: () => after(random.whole(0, 3), () => inner.newest()),
      tail: (place, limit) => inner.tail(place, limit),
      prune: (before) => inner.prune(before),
      erase: (session) => inner.erase(session),
      checkpoint: () => inner.checkpoint(),
      close: () => inner.close(),
      reader: inner.reader,
      openedAnother: () => {
        const batch = lateOne;
        if (!batch) return;
        lateOne = null;
        write(batch, "ok").then(
          (answer) => this.#events.late(answer),
          (error: unknown) => this.#events.late(String(error)),
        );
      },
    };
  }
}
