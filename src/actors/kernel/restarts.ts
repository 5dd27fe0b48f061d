/**
 * Restart budgets, back-off between restarts, parking and resuming.
 *
 * Owns: how many crashes a child may have within its period, when a restart is due, who stands still until then. It decides
 * nothing about siblings or supervisors: that is `supervising.ts`.
 *
 * 1. Crash counts belong to the child and are in its row; a restart of the server resets nothing (K8).
 * 2. A back-off is a wall time in the row. Its wake-up enters through the inbox and is set again at a restart; what is overdue
 *    restarts at once. Meanwhile the actor counts as a child, can be stopped, and is shown as restarting.
 * 3. What is parked acts only on `stop` and on a person's resume, which starts its budget anew.
 */
import type { EventId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { type Actor, type Core, type Mail, makeReady, markDirty, nextId, pushFront } from "./core.ts";
import { heldBack, kernelMail, setFence, suspend } from "./ending.ts";
import { endAskersOfParked } from "./waits.ts";

const LONGEST_SLEEP = 3_600_000;

/** Counts one crash; true when that was one too many. */
export function spend(core: Core, actor: Actor): boolean {
  const at = core.clock.now();
  actor.crashes = [...actor.crashes.filter((then) => at - then < actor.spec.periodMs), at];
  actor.restarts += 1;
  markDirty(core, actor);
  return actor.crashes.length > actor.spec.intensity;
}

/** "crashed 4 times within 60 s" */
export function spentWords(actor: Actor, what: string): string {
  return `${what} ${actor.crashes.length} times within ${Math.round(actor.spec.periodMs / 1000)} s`;
}

/** A `keep` actor goes on in place: it first hears what was dropped. One that never came to its first state starts again. */
export function queueAfterCrash(core: Core, actor: Actor, mail: Mail, dropped: Json): void {
  if (actor.snapshot === null) pushFront(core, actor, { ...mail, id: nextId(core) as EventId, class: "start" });
  else pushFront(core, actor, kernelMail(core, "resumed", { type: "resumed", cause: "crash", dropped }));
}

/** With a back-off in its spec it stands still from now on until that is over. */
export function delayRestart(core: Core, actor: Actor): void {
  const { backoffMs } = actor.spec;
  if (!backoffMs) return;
  const wait = Math.min(backoffMs.most, backoffMs.first * 2 ** Math.max(0, actor.crashes.length - 1));
  actor.restartAt = core.clock.now() + wait;
  suspend(core, actor);
  markDirty(core, actor);
  armRestart(core, actor);
}

/** Also at a server start. */
export function armRestart(core: Core, actor: Actor): void {
  const at = actor.restartAt;
  if (at === null) return;
  core.clock.setTimer(Math.min(LONGEST_SLEEP, Math.max(0, at - core.clock.now())), () => {
    if (core.dead || actor.restartAt !== at) return;
    if (core.clock.now() < at) return armRestart(core, actor);
    core.inbox.push({ kind: "restart", actor, at });
    core.wake();
  });
}

/** The wait is over, unless it was stopped or resumed meanwhile. */
export function restartDue(core: Core, actor: Actor, at: number): void {
  if (core.actors.get(actor.address) !== actor || actor.restartAt !== at) return;
  actor.restartAt = null;
  markDirty(core, actor);
  if (actor.grouped) return core.supervise.memberThrough(actor);
  actor.suspended = heldBack(actor);
  makeReady(core, actor);
}

/** A person does not want to wait. False when it waits for no restart. */
export function restartNow(core: Core, actor: Actor): boolean {
  if (actor.restartAt === null) return false;
  restartDue(core, actor, actor.restartAt);
  return true;
}

/** Suspends it with its permanent ones, stops the rest; only a person's resume or the end of an outside cause goes on. */
export function park(core: Core, actor: Actor, reason: string): void {
  actor.parked = reason;
  actor.story.push({
    id: nextId(core) as EventId,
    at: core.clock.now(),
    from: "kernel",
    event: { type: "parked", reason },
    effects: [],
    sent: [],
  });
  markDirty(core, actor);
  setFence(core, actor, { by: "crash", scope: actor.address, note: reason }, { idle: true });
  endAsked(core, actor, `${actor.address} is parked: ${reason}`);
}

/** Of it and all that is suspended with it. */
function endAsked(core: Core, actor: Actor, message: string): void {
  if (actor.askers && actor.askers.size > 0) endAskersOfParked(core, actor, message);
  for (const child of actor.children?.values() ?? []) endAsked(core, child, message);
}

/** What was suspended with a parked one goes on, but for those that are parked themselves. */
function goOnBelow(core: Core, actor: Actor): void {
  for (const child of actor.children?.values() ?? []) {
    if (!child.suspended || child.fence) continue;
    if (child.restartAt === null && !child.grouped) {
      child.suspended = false;
      markDirty(core, child);
      makeReady(core, child);
    }
    if (child.parked === null) goOnBelow(core, child);
  }
}

/** False when it is not parked. Its budget starts anew: a person has looked. */
export function unpark(core: Core, actor: Actor): boolean {
  if (actor.parked === null) return false;
  actor.parked = null;
  actor.crashes = [];
  actor.restartAt = null;
  if (actor.fence === null) actor.suspended = heldBack(actor);
  if (!actor.suspended) goOnBelow(core, actor);
  markDirty(core, actor);
  actor.story.push({
    id: nextId(core) as EventId,
    at: core.clock.now(),
    from: "kernel",
    event: { type: "unparked" },
    effects: [],
    sent: [],
  });
  if (actor.snapshot?.status === "done" && actor.fence === null)
    // It had ended too often: it starts anew.
    setFence(core, actor, { by: "crash", scope: actor.address, note: "it ended" }, { idle: true, rebirth: true });
  else if (actor.snapshot !== null) {
    const waiting = actor.mail[0];
    if (waiting?.class !== "resumed") pushFront(core, actor, kernelMail(core, "resumed", { type: "resumed", cause: "unparked" }));
  }
  // Its group may have waited for its back-off only.
  if (actor.grouped) core.supervise.memberThrough(actor);
  makeReady(core, actor);
  return true;
}
