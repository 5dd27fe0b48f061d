/**
 * Durable timers: rows of their actor, one heap, one OS timer of at most an hour (design §3.5).
 *
 * 1. A timer that fires enters through the inbox, as mail that is never stored; it is used up in the commit that handles it.
 * 2. Setting an id again replaces it; a cancelled or replaced one is recognised by identity and does nothing, also when it
 *    already lies in the mailbox.
 * 3. Due ones come in due order.
 */
import type { TimerSetEffect } from "../../protocol/effects.ts";
import { type Actor, type Core, markDirty, type TimerState } from "./core.ts";

const LONGEST_SLEEP = 3_600_000;

interface Armed {
  due: number;
  monotonic: number;
  order: number;
  actor: Actor;
  timer: TimerState;
}

export class TimerHeap {
  readonly #core: Core;
  readonly #heap: Armed[] = [];
  #order = 0;
  #cancelSleep: (() => void) | null = null;
  #sleepUntil = Infinity;

  constructor(core: Core) {
    this.#core = core;
  }

  /** `after` counts on the monotonic clock while we run; an absolute time on the wall clock. */
  arm(actor: Actor, timer: TimerState): void {
    const { clock } = this.#core;
    this.#order += 1;
    this.#push({ due: timer.due, monotonic: clock.monotonic() + Math.max(0, timer.due - clock.now()), order: this.#order, actor, timer });
    this.sleep();
  }

  /** Sets the OS timer for the nearest one; called after changes and after waking. */
  sleep(): void {
    if (this.#core.dead) return this.close();
    const first = this.#first();
    if (!first) return;
    if (first.monotonic >= this.#sleepUntil && this.#cancelSleep) return;
    this.#cancelSleep?.();
    const wait = Math.min(LONGEST_SLEEP, Math.max(0, first.monotonic - this.#core.clock.monotonic()));
    this.#sleepUntil = first.monotonic;
    this.#cancelSleep = this.#core.clock.setTimer(Math.ceil(wait), () => this.#woke());
  }

  close(): void {
    this.#cancelSleep?.();
    this.#cancelSleep = null;
    this.#heap.length = 0;
  }

  #woke(): void {
    this.#cancelSleep = null;
    this.#sleepUntil = Infinity;
    const { clock } = this.#core;
    const monotonic = clock.monotonic();
    const now = clock.now();
    let fired = false;
    for (
      let first = this.#first();
      first && (first.monotonic <= monotonic || (first.timer.after === null && first.due <= now));
      first = this.#first()
    ) {
      this.#pop();
      this.#core.inbox.push({ kind: "timer", actor: first.actor, timer: first.timer });
      fired = true;
    }
    this.sleep();
    if (fired) this.#core.wake();
  }

  /** The nearest one that still stands. */
  #first(): Armed | undefined {
    while (this.#heap.length > 0) {
      const first = this.#heap[0] as Armed;
      if (first.actor.timers?.get(first.timer.id) === first.timer) return first;
      this.#pop();
    }
    return undefined;
  }

  #push(armed: Armed): void {
    const heap = this.#heap;
    heap.push(armed);
    let at = heap.length - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!before(heap[at] as Armed, heap[above] as Armed)) break;
      [heap[at], heap[above]] = [heap[above] as Armed, heap[at] as Armed];
      at = above;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    let at = 0;
    for (;;) {
      const left = at * 2 + 1;
      let least = at;
      if (left < heap.length && before(heap[left] as Armed, heap[least] as Armed)) least = left;
      if (left + 1 < heap.length && before(heap[left + 1] as Armed, heap[least] as Armed)) least = left + 1;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least] as Armed, heap[at] as Armed];
      at = least;
    }
  }
}

function before(a: Armed, b: Armed): boolean {
  return a.monotonic < b.monotonic || (a.monotonic === b.monotonic && a.order < b.order);
}

export function setTimer(core: Core, heap: TimerHeap, actor: Actor, effect: TimerSetEffect): void {
  const now = core.clock.now();
  const timer: TimerState = {
    id: effect.id,
    event: effect.event,
    due: effect.at ?? now + (effect.after ?? 0),
    after: effect.at === undefined ? (effect.after ?? 0) : null,
    overdue: effect.overdue ?? "fire",
  };
  actor.timers ??= new Map();
  actor.timers.set(effect.id, timer);
  markDirty(core, actor);
  heap.arm(actor, timer);
}

export function cancelTimer(core: Core, actor: Actor, id: string): void {
  if (!actor.timers?.delete(id)) return;
  actor.mail = actor.mail.filter((mail) => mail.timer?.id !== id);
  markDirty(core, actor);
}

/** After a restart the wall clock decides: overdue ones follow their rule, the rest keep what is left. */
export function rearmTimers(core: Core, heap: TimerHeap, actor: Actor): void {
  const now = core.clock.now();
  for (const timer of [...(actor.timers?.values() ?? [])].sort((a, b) => a.due - b.due)) {
    if (timer.due < now && timer.overdue === "drop") {
      actor.timers?.delete(timer.id);
      markDirty(core, actor);
      continue;
    }
    if (timer.due < now && timer.overdue === "restart" && timer.after !== null) {
      timer.due = now + timer.after;
      markDirty(core, actor);
    }
    heap.arm(actor, timer);
  }
}
