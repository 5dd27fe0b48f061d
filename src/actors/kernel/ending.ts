/**
 * How actors end: fence, stop, park, fail, crash, down.
 *
 * Owns: the walk that tells a scope to stop, when an actor is down, what its watchers and its parent hear, restart budgets.
 * Its neighbour `rounds.ts` calls `crashed` when a step throws and `tryDown` after each event; `kernel.ts` calls `setFence`
 * for a person's stop, without a step.
 *
 * 1. A fence holds in memory from the moment it is set; below it nothing new starts (design §9).
 * 2. A parent is down only after its children are (K6); each watcher hears one `down`, after the last mail of the one that
 *    ended and before the mail of others (K4, K7).
 * 3. A stopped actor hears `stop` once; the fence says it again after a restart. It is down when its children are down and
 *    its outcomes handled, whether its chart has a state for it or not.
 * 4. Crash counts are in the row; a restart of the server resets nothing (K8).
 */
import type { DownReason, StopReason } from "../../protocol/effects.ts";
import { SomoraError } from "../../protocol/errors.ts";
import type { Address, EventId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { UnansweredReason } from "../../protocol/waits.ts";
import {
  type Actor,
  type Core,
  deadLetter,
  type Fence,
  fenceOf,
  type Mail,
  makeReady,
  markDirty,
  nextId,
  parkedAbove,
  pushFront,
  type Tombstone,
} from "./core.ts";
import { abortPending, settle } from "./performs.ts";
import { tombstoneRow } from "./rows.ts";
import { answer, endAskers, endAskersOfParked, withdrawAll } from "./waits.ts";

export function kernelMail(core: Core, mailClass: Mail["class"], event: Mail["event"]): Mail {
  return { id: nextId(core) as EventId, class: mailClass, from: "kernel", event, ...(core.cause === null ? {} : { cause: core.cause }) };
}

/** Sets a fence and tells its scope, deepest first. Setting one where one stands changes nothing. Returns how many are told to end. */
export function setFence(core: Core, root: Actor, reason: StopReason, kind: { idle: boolean; rebirth?: boolean }): number {
  if (root.fence && !(root.fence.idle && !kind.idle)) return 0;
  // One that is at its end or told to stop does not come back to idle: its end stands, and is hastened (K6).
  const idle = kind.idle && !root.ending && !root.stopTold;
  root.fence = { reason, idle, rebirth: kind.rebirth ?? false, left: 0 };
  core.open.fenced = true;
  markDirty(core, root);
  const told = tellScope(core, root, root.fence);
  liftIfThrough(core, root);
  return told;
}

/** Deepest first, so that all graces run side by side. Also called at restore, for fences that stood. */
export function tellScope(core: Core, root: Actor, fence: Fence): number {
  const scope: { actor: Actor; spared: boolean }[] = [];
  const collect = (actor: Actor, spared: boolean): void => {
    for (const child of actor.children?.values() ?? [])
      collect(child, spared && child.spec.restart === "permanent" && !child.ending && !child.stopTold);
    scope.push({ actor, spared });
  };
  collect(root, fence.idle);
  let told = 0;
  fence.left = scope.length;
  for (const { actor, spared } of scope) {
    if (spared || (fence.rebirth && actor === root)) {
      suspend(core, actor);
      if (fence.rebirth) {
        for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
        withdrawAll(core, actor, false);
        endAskers(core, actor, { kind: "crash", message: `${actor.address} begins anew: ${fence.reason.note ?? "it crashed"}` }, true);
      }
    } else {
      told += 1;
      tellStop(core, actor, fence.reason);
      continue;
    }
    fence.left -= 1;
  }
  return told;
}

function suspend(core: Core, actor: Actor): void {
  if (actor.suspended) return;
  actor.suspended = true;
  markDirty(core, actor);
}

function tellStop(core: Core, actor: Actor, reason: StopReason): void {
  actor.suspended = false;
  for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
  if (!actor.stopTold) {
    actor.stopTold = true;
    markDirty(core, actor);
    if (actor.parked === null && !actor.ending && actor.snapshot !== null)
      pushFront(core, actor, kernelMail(core, "stop", { type: "stop", stop: reason }));
    withdrawAll(core, actor, actor.parked === null && !actor.ending);
    setDeadline(core, actor);
  }
  // What is parked or has nothing to hear goes down by itself, once its children are down.
  if (actor.parked !== null || actor.mail.length === 0) tryDown(core, actor);
}

/** Past its deadline an effect whose driver has not spoken is lost: the actor gets its outcome and goes down (K9). */
function setDeadline(core: Core, actor: Actor): void {
  const { shutdown } = actor.spec;
  if (shutdown === "infinity" || !actor.pending || actor.pending.size === 0) return;
  const { birth } = actor;
  core.clock.setTimer(shutdown === "brutal" ? 0 : shutdown, () => {
    if (core.dead || actor.birth !== birth || core.actors.get(actor.address) !== actor || fenceOf(actor) === null) return;
    for (const pending of actor.pending?.values() ?? []) {
      const work = core.running.get(pending.key);
      if (!work || work.spoken || pending.settled) continue;
      work.spoken = true;
      const processes = [{ pid: 0, command: `${pending.driver} (${pending.name})` }];
      core.lost.set(pending.key, {
        key: pending.key,
        address: actor.address,
        driver: pending.driver,
        name: pending.name,
        since: core.clock.now(),
        processes,
      });
      settle(core, pending.key, { status: "aborted", lost: processes }, "aborted", true, pending.attempt);
    }
  });
}

/** A step threw: what it did is forgotten, its event is gone for this actor (P9), its supervisor's rule decides. */
export function crashed(core: Core, actor: Actor, mail: Mail, error: { code: string; message: string }): void {
  core.counters.crashes += 1;
  const at = core.clock.now();
  actor.story.push({ id: mail.id, at, from: mail.from, event: mail.event, effects: [], sent: [], crashed: error });
  actor.crashes = [...actor.crashes.filter((then) => at - then < actor.spec.periodMs), at];
  actor.restarts += 1;
  markDirty(core, actor);
  if (mail.token !== undefined)
    answer(core, mail.token, {
      lost: "crash",
      error: new SomoraError("CRASHED", `${actor.address} crashed on "${mail.event.type}": ${error.message}. The event was dropped.`, {
        hint: "Send it again; if it crashes again the actor is parked and says so.",
      }),
    });
  const dropped = {
    type: mail.event.type,
    id: mail.id,
    from: mail.from,
    ...(typeof mail.event["name"] === "string" ? { name: mail.event["name"] } : {}),
    ...(mail.token === undefined ? {} : { token: mail.token }),
    ...(mail.class === "stopped" ? { stop: mail.event["stop"] as Json } : {}),
  };
  const report = { code: error.code, message: error.message, event: mail.event.type };
  if (actor.spec.restart === "temporary" || fenceOf(actor) !== null) {
    fail(core, actor, report);
    return;
  }
  if (actor.crashes.length > actor.spec.intensity) {
    if (actor.spec.past === "park") {
      queueAfterCrash(core, actor, mail, dropped);
      park(
        core,
        actor,
        `crashed ${actor.crashes.length} times within ${Math.round(actor.spec.periodMs / 1000)} s, last on "${mail.event.type}": ${error.message}`,
      );
    } else fail(core, actor, report);
    return;
  }
  if (actor.spec.identity === "fresh") {
    setFence(core, actor, { by: "crash", scope: actor.address, note: error.message }, { idle: true, rebirth: true });
    return;
  }
  queueAfterCrash(core, actor, mail, dropped);
}

/** A `keep` actor goes on in place: it first hears what was dropped. One that never came to its first state starts again. */
function queueAfterCrash(core: Core, actor: Actor, mail: Mail, dropped: Json): void {
  if (actor.snapshot === null) pushFront(core, actor, { ...mail, id: nextId(core) as EventId, class: "start" });
  else pushFront(core, actor, kernelMail(core, "resumed", { type: "resumed", cause: "crash", dropped }));
}

/** Down for good, reason crash, once its children are. */
export function fail(core: Core, actor: Actor, report: { code: string; message: string; event?: string }): void {
  actor.crash ??= report;
  actor.ending = true;
  setFence(core, actor, { by: "crash", scope: actor.address, note: report.message }, { idle: false });
  tryDown(core, actor);
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
    child.suspended = false;
    markDirty(core, child);
    makeReady(core, child);
    if (child.parked === null) goOnBelow(core, child);
  }
}

/** False when it is not parked. Its budget starts anew: a person has looked. */
export function unpark(core: Core, actor: Actor): boolean {
  if (actor.parked === null) return false;
  actor.parked = null;
  actor.crashes = [];
  if (actor.fence === null) actor.suspended = parkedAbove(actor) !== null;
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
  if (actor.snapshot !== null) {
    const waiting = actor.mail[0];
    if (waiting?.class !== "resumed") pushFront(core, actor, kernelMail(core, "resumed", { type: "resumed", cause: "unparked" }));
  }
  makeReady(core, actor);
  return true;
}

/** Its chart came to an end: temporary children are stopped, the others waited for (K6). */
export function chartEnded(core: Core, actor: Actor): void {
  actor.ending = true;
  markDirty(core, actor);
  for (const child of [...(actor.children?.values() ?? [])]) {
    if (child.spec.restart === "temporary")
      setFence(core, child, { by: "agent", scope: actor.address, note: "its parent ended" }, { idle: false });
    else if (child.spec.restart === "permanent")
      setFence(core, child, { by: "agent", scope: actor.address, note: "its parent ended" }, { idle: false });
  }
  for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
  tryDown(core, actor);
}

/** Down when its children are down and every outcome is handled. */
export function tryDown(core: Core, actor: Actor): void {
  if (core.actors.get(actor.address) !== actor) return;
  if (!(actor.ending || actor.stopTold)) return;
  if (actor.suspended && !actor.stopTold) return;
  if ((actor.children?.size ?? 0) > 0) return;
  if ((actor.pending?.size ?? 0) > 0 && !onlySettledAndMute(actor)) return;
  if (
    !actor.ending &&
    actor.parked === null &&
    actor.mail.some((mail) => mail.class === "stop" || mail.class === "outcome" || mail.class === "down")
  )
    return;
  down(core, actor);
}

/** An ending actor's chart hears nothing any more: settled outcomes in its mail need no handling. */
function onlySettledAndMute(actor: Actor): boolean {
  if (!actor.ending && actor.parked === null) return false;
  for (const pending of actor.pending?.values() ?? []) if (!pending.settled) return false;
  return true;
}

function reasonOf(actor: Actor): DownReason {
  if (actor.crash) return { kind: "crash", error: actor.crash };
  if (actor.snapshot?.status === "done") return { kind: "normal" };
  const fence = fenceOf(actor);
  return fence ? { kind: "stopped", stop: fence.reason } : { kind: "normal" };
}

function down(core: Core, actor: Actor): void {
  const reason = reasonOf(actor);
  const output = (
    actor.snapshot?.status === "done"
      ? (actor.snapshot.output ?? null)
      : actor.snapshot
        ? (actor.chart.definition.lastWords?.(actor.snapshot.context as Record<string, unknown>) ?? null)
        : null
  ) as Json;
  const stone: Tombstone = {
    address: actor.address,
    birth: actor.birth,
    reason,
    output,
    lost: actor.lost,
    at: core.clock.now(),
    kind: actor.chart.name,
  };
  core.actors.delete(actor.address);
  core.tombstones.set(actor.address, stone);
  actor.parent?.children?.delete(actor.address);
  core.open.dirty.delete(actor);
  core.open.gone.add(actor.address);
  core.open.buried.push(tombstoneRow(actor, stone));
  for (const pending of actor.pending?.values() ?? []) core.pendingByKey.delete(pending.key);
  withdrawAll(core, actor, false);
  endAskers(core, actor, goneBecause(actor.address, reason));
  for (const mail of actor.mail) {
    if (mail.token !== undefined)
      answer(core, mail.token, {
        lost: "gone",
        error: new SomoraError("ACTOR_UNKNOWN", `${actor.address} ended before it came to "${mail.event.type}".`),
      });
    if (mail.class === "message") deadLetter(core, actor.address, mail.event.type, mail.from);
  }
  actor.mail = [];
  actor.timers = null;
  for (const watched of actor.watching?.keys() ?? []) core.actors.get(watched)?.watchers?.delete(actor);
  for (const watcher of actor.watchers ?? []) {
    watcher.watching?.delete(actor.address);
    deliverDown(core, watcher, stone);
  }
  const waiters = core.downWaiters.get(actor.address);
  if (waiters) {
    core.downWaiters.delete(actor.address);
    core.open.outer.push({ release: () => waiters.forEach((each) => each()) });
  }
  const { parent } = actor;
  if (!parent) return;
  if (actor.lost.length > 0 && (parent.stopTold || parent.ending)) parent.lost.push(...actor.lost);
  if (parent.ending || parent.stopTold) tryDown(core, parent);
  for (let each: Actor | null = parent; each; each = each.parent) {
    if (!each.fence) continue;
    each.fence.left -= 1;
    if (each.fence.left <= 0) liftIfThrough(core, each);
  }
}

function goneBecause(address: Address, reason: DownReason): UnansweredReason {
  if (reason.kind === "crash") return { kind: "crash", message: `${address} crashed: ${reason.error.message}` };
  return {
    kind: reason.kind === "stopped" ? "stopped" : "gone",
    message: `${address} ${reason.kind === "stopped" ? "was stopped" : "ended"}`,
  };
}

/** After the last mail of the one that ended, before the mail of others (K4). */
export function deliverDown(
  core: Core,
  watcher: Actor,
  stone: Tombstone | { address: Address; birth: string; reason: DownReason; output: Json; lost: [] },
): void {
  const mail: Mail = {
    id: nextId(core) as EventId,
    class: "down",
    from: stone.address,
    event: { type: "down", address: stone.address, birth: stone.birth, reason: stone.reason, output: stone.output, lost: stone.lost },
    ...(core.cause === null ? {} : { cause: core.cause }),
  };
  // From behind: of many children that end at once each finds its place at the first look (K13).
  let at = watcher.mail.length;
  while (at > 0 && !goesBefore(watcher.mail[at - 1] as Mail, stone.address)) at -= 1;
  watcher.mail.splice(at, 0, mail);
  markDirty(core, watcher);
  makeReady(core, watcher);
}

function goesBefore(waiting: Mail, address: Address): boolean {
  return waiting.from === address || FIRST.has(waiting.class);
}

const FIRST: ReadonlySet<Mail["class"]> = new Set(["start", "resumed", "stopped", "stop", "down"]);

/** An idle fence is lifted in the commit of the last `down` below it; what was suspended goes on. */
export function liftIfThrough(core: Core, root: Actor): void {
  const { fence } = root;
  if (!fence?.idle) return;
  const spared: Actor[] = [];
  const through = (actor: Actor): boolean => {
    if (!(actor === root || actor.spec.restart === "permanent")) return false;
    if (actor.stopTold) return false;
    spared.push(actor);
    for (const child of actor.children?.values() ?? []) if (!through(child)) return false;
    return true;
  };
  if (fence.rebirth) {
    if ((root.children?.size ?? 0) > 0) return;
    for (const pending of root.pending?.values() ?? []) if (!pending.settled) return;
    spared.push(root);
  } else if (!through(root)) return;
  root.fence = null;
  for (const actor of spared) {
    // Below what is parked nothing moves until that is resumed.
    actor.suspended = parkedAbove(actor) !== null;
    markDirty(core, actor);
    if (fence.rebirth) reborn(core, actor);
    else if (actor.parked === null && actor.snapshot !== null && fence.reason.by !== "crash")
      pushFront(core, actor, kernelMail(core, "stopped", { type: "stopped", stop: fence.reason }));
    makeReady(core, actor);
  }
  const waiters = core.downWaiters.get(root.address);
  if (waiters) {
    core.downWaiters.delete(root.address);
    core.open.outer.push({ release: () => waiters.forEach((each) => each()) });
  }
}

/** A `fresh` actor starts anew: initial state, new birth; watchers hear `down` of the old one, its mail stays. */
function reborn(core: Core, actor: Actor): void {
  const stone: Tombstone = {
    address: actor.address,
    birth: actor.birth,
    reason: { kind: "crash", error: { code: "CRASHED", message: "it starts anew" } },
    output: null,
    lost: actor.lost,
    at: core.clock.now(),
    kind: actor.chart.name,
  };
  for (const pending of actor.pending?.values() ?? []) core.pendingByKey.delete(pending.key);
  const watchers = [...(actor.watchers ?? [])];
  for (const watched of actor.watching?.keys() ?? []) core.actors.get(watched)?.watchers?.delete(actor);
  actor.birth = nextId(core) as Actor["birth"];
  actor.snapshot = null;
  actor.pending = null;
  actor.timers = null;
  actor.watching = null;
  actor.watchers = null;
  actor.lost = [];
  actor.mail = actor.mail.filter((mail) => mail.class === "message");
  pushFront(core, actor, kernelMail(core, "start", { type: "start" }));
  for (const watcher of watchers) {
    watcher.watching?.delete(actor.address);
    deliverDown(core, watcher, stone);
  }
}
