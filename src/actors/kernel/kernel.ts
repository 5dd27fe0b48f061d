/**
 * The door of the kernel: opening it on a journal, commands, stop, resume, and what watchers may see. It knows no chart.
 *
 * A command resolves with what the chart replied, after the commit that holds the reply; it rejects with SomoraError. While the
 * disk stands still new commands are refused (`STORE_STALLED`) before they enter; a stop is taken all the same: the fence
 * holds in memory and drivers are aborted at once, only the answer waits for the disk (design §3.2, §9).
 */
import type { ChildSpec, MessageEvent, StopReason } from "../../protocol/effects.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { type Address, isWithin, ROOT, type Token } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PayloadInput } from "../../protocol/payload.ts";
import type { WaitView } from "../../protocol/waits.ts";
import type { Calendar, Clock, Scheduler } from "../../ports/clock.port.ts";
import type { Booking, Driver } from "../../ports/driver.port.ts";
import type { Journal } from "../../ports/journal.port.ts";
import { createActor } from "./applying.ts";
import { Chart, type ChartDefinition } from "./chart.ts";
import { type CommitObserver, Commits } from "./commits.ts";
import {
  type ActorStatus,
  book,
  type CommittedView,
  type Core,
  type Counters,
  emptyBatch,
  fenceOf,
  nextId,
  type LostEffect,
  type Tombstone,
} from "./core.ts";
import { setFence } from "./ending.ts";
import { park, restartNow, unpark } from "./restarts.ts";
import { restore } from "./restoring.ts";
import { statusOf } from "./rows.ts";
import { checkSpecs } from "./specs.ts";
import { supervise } from "./supervising.ts";
import { TimerHeap } from "./timers.ts";
import { stuckWait, waitViews } from "./waits.ts";

export interface KernelOptions {
  journal: Journal;
  clock: Clock & Calendar;
  scheduler: Scheduler;
  charts: readonly ChartDefinition[];
  drivers: readonly Driver[];
  specs: Readonly<Record<string, ChildSpec>>;
  /** Born at the very first start: the root. Its chart spawns the rest. */
  root: { chart: string; spec: string; input: JsonObject };
  observer: CommitObserver;
  /** Streaming data of drivers, told as it comes, not journaled. Must not throw. */
  live?: (topic: string, type: string, data: JsonObject) => void;
  /** Open with performs held back until `resume("/")`. */
  held?: boolean;
}

export interface StopReport {
  /** Actors that were told to end. */
  told: number;
  lost: { pid: number; command: string }[];
}

export class Kernel {
  readonly #core: Core;
  readonly #heap: TimerHeap;
  readonly #commits: Commits;

  private constructor(core: Core, observer: CommitObserver) {
    this.#core = core;
    this.#heap = new TimerHeap(core);
    this.#commits = new Commits(core, this.#heap, observer);
  }

  /** Opens the journal, restores what it holds, asks drivers what became of their work. Resolves when doors may open. */
  static async open(options: KernelOptions): Promise<Kernel> {
    checkSpecs(options.specs);
    const { epoch } = await options.journal.open();
    const charts = new Map(options.charts.map((definition) => [definition.name, new Chart(definition)]));
    const core: Core = {
      clock: options.clock,
      scheduler: options.scheduler,
      journal: options.journal,
      charts,
      drivers: new Map(options.drivers.map((driver) => [driver.name, driver])),
      specs: options.specs,
      epoch,
      commitNumber: 1,
      ordinal: 0,
      actors: new Map(),
      tombstones: new Map(),
      ready: [],
      stepped: new Map(),
      cause: null,
      inbox: [],
      open: emptyBatch(),
      doors: new Map(),
      doorCount: 0,
      pendingByKey: new Map(),
      asks: new Map(),
      lines: new Map(),
      searches: 0,
      running: new Map(),
      lost: new Map(),
      historyNumbers: new Map(),
      roundAt: options.clock.now(),
      counters: {
        steps: 0,
        commits: 0,
        deadLetters: 0,
        notTaken: 0,
        staleOutcomes: 0,
        refusedBelowFence: 0,
        crashes: 0,
        blockedEffects: 0,
        lateAnswers: 0,
      },
      notTakenTypes: new Map(),
      deadLetterLog: [],
      held: options.held ?? false,
      heldReleases: [],
      dead: false,
      liveListener: options.live ?? (() => {}),
      wake: () => {},
      supervise: { restartsAtEnd: () => false, childDown: () => {}, memberThrough: () => {} },
      downWaiters: new Map(),
    };
    supervise(core);
    const kernel = new Kernel(core, options.observer);
    await restore(core, kernel.#heap);
    if (!core.actors.has(ROOT)) createActor(core, { address: ROOT, parent: null, ...options.root });
    kernel.#commits.wake();
    return kernel;
  }

  get epoch(): number {
    return this.#core.epoch;
  }

  /** Asks an actor; resolves with its reply once that is on disk. */
  command(to: Address, event: MessageEvent, payloads: PayloadInput[] = []): Promise<Json> {
    const core = this.#core;
    if (core.dead) return Promise.reject(new SomoraError("SERVER_STOPPING", "The server has stopped serving this home."));
    const stalled = this.#commits.stalled;
    if (stalled !== null)
      return Promise.reject(
        new SomoraError("STORE_STALLED", `The disk does not take commits (${stalled}). Nothing was accepted.`, {
          hint: "What was accepted before waits and goes on by itself. Free disk space or look at `somora doctor`, then send again.",
        }),
      );
    if (/^(xstate|kernel)\./.test(event.type))
      return Promise.reject(new SomoraError("REQUEST_INVALID", `Events of type "${event.type}" are the kernel's own.`));
    core.doorCount += 1;
    const token = `door:${core.epoch}.${core.doorCount}` as Token;
    return new Promise((resolve, reject) => {
      core.doors.set(token, { resolve, reject });
      core.inbox.push({ kind: "door", to, event, payloads, token });
      core.wake();
    });
  }

  /** A fact from a watcher of the outside (a folder appeared): no answer is waited for. */
  tell(to: Address, event: MessageEvent): void {
    this.command(to, event).catch(() => {
      // What nobody could take is a dead letter; the watcher says it again when it looks next.
    });
  }

  /**
   * Stops a scope. The fence holds and drivers are aborted before this returns its promise; it resolves when all of it is
   * down (or, for what is permanent, idle again) and that is on disk. `remove`: a permanent one goes for good.
   */
  stop(address: Address, reason: Omit<StopReason, "scope">, options: { remove?: boolean } = {}): Promise<StopReport> {
    const core = this.#core;
    const actor = core.actors.get(address);
    if (!actor)
      return Promise.reject(new SomoraError("ACTOR_UNKNOWN", `There is no actor at ${address}.`, { hint: "See `somora actors`." }));
    if (actor.specName === "root" || actor.specName === "fixed")
      return Promise.reject(
        new SomoraError("ACTOR_FIXED", `${address} is a fixed supervisor and is never stopped.`, {
          hint: "Stop an agent, a session or a turn below it.",
        }),
      );
    const lostBefore = new Set(core.lost.keys());
    const idle = actor.spec.restart === "permanent" && options.remove !== true;
    const done = new Promise<void>((resolve) => {
      const waiters = core.downWaiters.get(address) ?? [];
      waiters.push(resolve);
      core.downWaiters.set(address, waiters);
    });
    core.roundAt = core.clock.now();
    const told = setFence(core, actor, { ...reason, scope: address }, { idle });
    core.wake();
    return done.then(() => {
      const stone = core.tombstones.get(address);
      const lost = stone
        ? stone.lost
        : [...core.lost.values()]
            .filter((each) => !lostBefore.has(each.key) && isWithin(each.address, address))
            .flatMap((each) => each.processes);
      return { told, lost };
    });
  }

  /** Lets a parked actor go on, one that waits for its restart at once, or with `/` the performs held after bad starts. False when there was nothing to resume. */
  resume(address: Address): boolean {
    const core = this.#core;
    if (address === ROOT && core.held) {
      core.held = false;
      core.heldReleases.splice(0).forEach((release) => release());
      core.wake();
      return true;
    }
    const actor = core.actors.get(address);
    if (!actor) throw new SomoraError("ACTOR_UNKNOWN", `There is no actor at ${address}.`, { hint: "See `somora actors`." });
    core.roundAt = core.clock.now();
    const resumed = unpark(core, actor) || restartNow(core, actor);
    core.wake();
    return resumed;
  }

  /** Parks for a cause outside (a folder went); `resume` ends it. */
  park(address: Address, reason: string): boolean {
    const actor = this.#core.actors.get(address);
    if (!actor || actor.parked !== null) return false;
    this.#core.roundAt = this.#core.clock.now();
    park(this.#core, actor, reason);
    this.#core.wake();
    return true;
  }

  /** Books what was spent outside of any effect (trying a model) on an actor. */
  book(address: Address, booking: Booking): void {
    const core = this.#core;
    const actor = core.actors.get(address);
    if (!actor || core.dead) return;
    book(core, actor, `${address}#${nextId(core)}`, booking);
    core.wake();
  }

  has(address: Address): boolean {
    return this.#core.actors.has(address);
  }

  /** As committed. Null for an actor whose birth is not on disk yet, or that is gone. */
  committed(address: Address): (CommittedView & { address: Address; birth: string; kind: string; parent: Address | null }) | null {
    const actor = this.#core.actors.get(address);
    return actor?.committed
      ? { ...actor.committed, address, birth: actor.birth, kind: actor.chart.name, parent: actor.parent?.address ?? null }
      : null;
  }

  /** The children of one in start order, as they stand in memory; a restarting one counts. */
  children(address: Address): { address: Address; birth: string; status: ActorStatus; kind: string; spec: ChildSpec; restarts: number }[] {
    return [...(this.#core.actors.get(address)?.children?.values() ?? [])].map((child) => ({
      address: child.address,
      birth: child.birth,
      status: statusOf(child, fenceOf(child) !== null),
      kind: child.chart.name,
      spec: child.spec,
      restarts: child.restarts,
    }));
  }

  *addresses(under: Address = ROOT): IterableIterator<Address> {
    for (const address of this.#core.actors.keys()) if (isWithin(address, under)) yield address;
  }

  /** The context of an actor's chart as it stands in memory; read only. */
  context(address: Address): Record<string, unknown> | null {
    return (this.#core.actors.get(address)?.snapshot?.context as Record<string, unknown> | undefined) ?? null;
  }

  relations(address: Address): { watches: Address[]; watchers: Address[]; timers: { id: string; at: number }[]; mail: number } | null {
    const actor = this.#core.actors.get(address);
    if (!actor) return null;
    return {
      watches: [...(actor.watching?.keys() ?? [])],
      watchers: [...(actor.watchers ?? [])].map((watcher) => watcher.address),
      timers: [...(actor.timers?.values() ?? [])].map((timer) => ({ id: timer.id, at: timer.due })),
      mail: actor.mail.length,
    };
  }

  /** The last history number of a session. */
  historyNumber(session: Address): number {
    return this.#core.historyNumbers.get(session) ?? 0;
  }

  /** Payload ids of events that wait in its mailbox. */
  mailPayloads(address: Address): string[] {
    return (this.#core.actors.get(address)?.mail ?? []).flatMap((mail) => (mail.payloads ?? []).map((payload) => payload.id));
  }

  parkedReason(address: Address): string | null {
    return this.#core.actors.get(address)?.parked ?? null;
  }

  tombstone(address: Address): Tombstone | null {
    return this.#core.tombstones.get(address) ?? null;
  }

  /** All questions and waits whose edge is on disk, with who is stuck (K14). */
  waits(): WaitView[] {
    const core = this.#core;
    return waitViews(core).filter(({ from, token }) => core.actors.get(from)?.committed?.waits.some((each) => each.token === token));
  }

  /** Effects that would not die. */
  lost(): LostEffect[] {
    return [...this.#core.lost.values()];
  }

  /**
   * K14: an effect that no living driver works on, a wait for something that cannot move, or mail that nobody may take.
   * Null while the actor can move.
   */
  stuck(address: Address): string | null {
    const core = this.#core;
    const actor = core.actors.get(address);
    if (!actor || core.held || this.#commits.stalled !== null) return null;
    for (const pending of actor.pending?.values() ?? []) {
      const idle = !pending.settled && !core.running.has(pending.key) && !core.open.dirty.has(actor) && this.#commits.isIdle;
      if (idle) return `waits for "${pending.name}", which no driver works on`;
    }
    for (const wait of actor.waits?.values() ?? []) {
      const stuck = this.#commits.isIdle ? stuckWait(core, actor, wait) : null;
      if (stuck !== null) return stuck;
    }
    const restarting = actor.restartAt !== null || actor.grouped;
    return actor.suspended && !restarting && fenceOf(actor) === null && actor.mail.length > 0
      ? `${actor.mail.length} messages wait for an actor that is suspended and not being stopped`
      : null;
  }

  get held(): boolean {
    return this.#core.held;
  }

  get stalled(): string | null {
    return this.#commits.stalled;
  }

  stats(): Counters & { actors: number; notTakenTypes: [string, number][]; observerErrors: number; running: number } {
    const core = this.#core;
    return {
      ...core.counters,
      actors: core.actors.size,
      notTakenTypes: [...core.notTakenTypes],
      observerErrors: this.#commits.observerErrors,
      running: core.running.size,
    };
  }

  /** Resolves when nothing is left to compute or to write (outer work may still run). */
  idle(): Promise<void> {
    return this.#commits.idle();
  }

  /** Ends like a kill: drivers are aborted, nothing more is written. The journal stays the caller's to close. */
  close(): void {
    const core = this.#core;
    core.dead = true;
    this.#heap.close();
    for (const work of core.running.values()) work.controller.abort();
    for (const waiter of core.doors.values())
      waiter.reject(new SomoraError("SERVER_STOPPING", "The server stops; what was accepted goes on at the next start."));
    core.doors.clear();
  }
}
