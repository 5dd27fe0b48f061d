/**
 * Outer work: starting a driver after the commit that asked for it, and taking its facts and its outcome in through the inbox.
 *
 * 1. Nothing starts before its commit is on disk (K2), nor when it was taken back or fenced meanwhile: the outcome is then
 *    `aborted {started: false}`.
 * 2. A driver's promise gives one outcome, whatever it does. An outcome carries its effect's key; one that is not pending is
 *    dropped and counted, but what it cost is booked (K11, P10).
 * 3. Data enters the kernel only through `core.inbox`.
 */
import type { EffectKey } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Driver, DriverContext, Outcome } from "../../ports/driver.port.ts";
import { type Actor, type Core, fenceOf, markDirty, type Pending, type RunningWork } from "./core.ts";

export function addPending(
  core: Core,
  actor: Actor,
  effect: { name: string; driver: string; request: JsonObject; repeatable?: boolean; cleanup?: boolean },
): Pending {
  actor.effectCount += 1;
  const pending: Pending = {
    name: effect.name,
    key: `${actor.address}#${actor.birth}.${actor.effectCount}` as EffectKey,
    driver: effect.driver,
    request: effect.request,
    repeatable: effect.repeatable ?? false,
    cleanup: effect.cleanup ?? false,
    attempt: 1,
    since: core.roundAt,
    settled: false,
    mark: false,
  };
  actor.pending ??= new Map();
  actor.pending.set(pending.name, pending);
  core.pendingByKey.set(pending.key, actor);
  core.open.outer.push({ release: () => release(core, actor, pending) });
  return pending;
}

/** After the commit: starts it, unless it was taken back, fenced or is held. */
export function release(core: Core, actor: Actor, pending: Pending): void {
  if (core.dead || pending.settled || core.pendingByKey.get(pending.key) !== actor) return;
  if (pending.mark || (!pending.cleanup && fenceOf(actor) !== null)) {
    settle(core, pending.key, { status: "aborted" }, "aborted", false, pending.attempt);
    return;
  }
  if (core.held && !pending.cleanup) {
    core.heldReleases.push(() => release(core, actor, pending));
    return;
  }
  const driver = core.drivers.get(pending.driver);
  if (!driver) {
    settle(
      core,
      pending.key,
      { status: "failed", error: { code: "INTERNAL", message: `no driver is called "${pending.driver}"` } },
      "failed",
      false,
      pending.attempt,
    );
    return;
  }
  start(core, actor, pending, driver);
}

function start(core: Core, actor: Actor, pending: Pending, driver: Driver): void {
  const work = attach(core, actor, pending);
  let promise: Promise<Outcome>;
  try {
    promise = driver.perform(pending.request, contextOf(core, work));
  } catch (error) {
    promise = Promise.reject(error as Error);
  }
  follow(core, work, promise);
}

export function attach(core: Core, actor: Actor, pending: Pending): RunningWork {
  const work: RunningWork = { pending, actor, controller: new AbortController(), tell: [], spoken: false, booked: false };
  core.running.set(pending.key, work);
  if (pending.mark) work.controller.abort();
  return work;
}

/** Exactly one outcome comes of it. A rejection is `aborted` when it was taken back, else `failed`. */
export function follow(core: Core, work: RunningWork, promise: Promise<Outcome>): void {
  const { pending } = work;
  promise.then(
    (outcome) => finish(core, work, outcome),
    (error: unknown) => {
      const aborted = work.controller.signal.aborted;
      const message = error instanceof Error ? error.message : String(error);
      finish(
        core,
        work,
        aborted
          ? { status: "aborted" }
          : { status: "failed", error: { code: "INTERNAL", message: `driver "${pending.driver}" failed: ${message}` } },
      );
    },
  );
}

function finish(core: Core, work: RunningWork, given: Outcome): void {
  const { pending } = work;
  // One that says so again is dropped as every outcome that is not pending is (K11), and what it cost is booked once (P10).
  const { booking, ...again } = given;
  const outcome = work.booked ? again : given;
  if (booking) work.booked = true;
  if (core.running.get(pending.key) === work) core.running.delete(pending.key);
  if (work.spoken) {
    core.lost.delete(pending.key);
    settle(core, pending.key, outcome, outcome.status, true, pending.attempt);
    return;
  }
  work.spoken = true;
  settle(core, pending.key, outcome, outcome.status, true, pending.attempt);
}

export function settle(
  core: Core,
  key: EffectKey,
  outcome: Outcome,
  status: "done" | "failed" | "aborted" | "interrupted",
  started: boolean,
  attempt: number,
): void {
  if (core.dead) return;
  core.inbox.push({ kind: "outcome", key, outcome, status, started, attempt });
  core.wake();
}

export function contextOf(core: Core, work: RunningWork): DriverContext {
  const { pending, actor } = work;
  return {
    key: pending.key,
    address: actor.address,
    attempt: pending.attempt,
    signal: work.controller.signal,
    fact: (fact) =>
      new Promise<void>((resolve) => {
        if (core.dead || work.spoken) return resolve();
        core.inbox.push({ kind: "fact", work, fact, committed: resolve });
        core.wake();
      }),
    live: (topic, type, data) => {
      if (!core.dead && !work.controller.signal.aborted) core.liveListener(topic, type, data);
    },
    onTell: (listener) => {
      work.tell.push(listener);
    },
  };
}

/** Takes it back: told at once to the driver; the mark is part of the actor's row. */
export function abortPending(core: Core, actor: Actor, pending: Pending): void {
  if (pending.settled) return;
  if (!pending.mark) {
    pending.mark = true;
    markDirty(core, actor);
  }
  const work = core.running.get(pending.key);
  if (work) work.controller.abort();
  // Held back after bad starts: nothing will release it, so it is answered now, or its actor could never go down.
  else if (core.held) release(core, actor, pending);
}
