/**
 * How actors end: fence, stop, fail, down, and the new birth of a `fresh` one.
 *
 * Owns: the walk that tells a scope to stop, when an actor is down, what its watchers and its parent hear. Its neighbour
 * `rounds.ts` calls `tryDown` after each event; `kernel.ts` calls `setFence` for a person's stop, without a step. Who restarts,
 * and who with it, is decided in `supervising.ts`, asked through `core.supervise`.
 *
 * 1. A fence holds in memory from the moment it is set; below it nothing new starts (design §9).
 * 2. A parent is down only after its children are (K6); each watcher hears one `down`, after the last mail of the one that
 *    ended and before the mail of others (K4, K7).
 * 3. A stopped actor hears `stop` once; the fence says it again after a restart. It is down when its children are down and
 *    its outcomes handled, whether its chart has a state for it or not.
 * 4. A scope is told in reverse start order, deepest first. One that ends by itself takes its static children down one after
 *    the other, the last one started first (K6).
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
import { answer, endAskers, withdrawAll } from "./waits.ts";

/** How long a tombstone is kept. */
export const TOMBSTONE_MS = 86_400_000;

export function kernelMail(core: Core, mailClass: Mail["class"], event: Mail["event"]): Mail {
  return { id: nextId(core) as EventId, class: mailClass, from: "kernel", event, ...(core.cause === null ? {} : { cause: core.cause }) };
}

/** Sets a fence and tells its scope, deepest first. Setting one where one stands changes nothing. Returns how many are told to end. */
export function setFence(core: Core, root: Actor, reason: StopReason, kind: { idle: boolean; rebirth?: boolean; auto?: boolean }): number {
  if (root.fence && !(root.fence.idle && !kind.idle)) return 0;
  // One that is at its end or told to stop does not come back to idle: its end stands, and is hastened (K6).
  const idle = kind.idle && !root.ending && !root.stopTold;
  root.fence = { reason, idle, rebirth: kind.rebirth ?? false, left: 0 };
  if (kind.auto) root.fence.auto = true;
  // A stop is urgent and its row goes first; a thousand crashes at once need no thousand commits.
  if (reason.by !== "crash") core.open.fenced = true;
  markDirty(core, root);
  const told = tellScope(core, root, root.fence);
  liftIfThrough(core, root);
  return told;
}

/** Deepest first and in reverse start order, so that all graces run side by side. Also called at restore, for fences that stood. */
export function tellScope(core: Core, root: Actor, fence: Fence): number {
  const scope: { actor: Actor; spared: boolean }[] = [];
  const collect = (actor: Actor, spared: boolean): void => {
    for (const child of [...(actor.children?.values() ?? [])].reverse())
      collect(child, spared && child.spec.restart === "permanent" && !child.ending && !child.stopTold);
    scope.push({ actor, spared });
  };
  // Who starts anew keeps no child, permanent or not.
  collect(root, fence.idle && !fence.rebirth);
  let told = 0;
  fence.left = scope.length;
  for (const { actor, spared } of scope) {
    if (spared || (fence.rebirth && actor === root)) {
      // Told to stop by a fence further up (at a server start that one was told first): it goes down, it does not wait.
      if (actor.stopTold) continue;
      suspend(core, actor);
      if (fence.rebirth) {
        for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
        withdrawAll(core, actor, false);
        endAskers(core, actor, { kind: "crash", message: `${actor.address} begins anew: ${fence.reason.note ?? "it crashed"}` }, true);
        setDeadline(core, actor);
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

export function suspend(core: Core, actor: Actor): void {
  if (actor.suspended) return;
  actor.suspended = true;
  markDirty(core, actor);
}

function tellStop(core: Core, actor: Actor, reason: StopReason): void {
  actor.suspended = false;
  actor.restartAt = null;
  actor.grouped = false;
  // One that ended and was to be restarted: its own ending stands (K6).
  if (actor.snapshot?.status === "done") actor.ending = true;
  for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
  if (!actor.stopTold) {
    actor.stopTold = true;
    markDirty(core, actor);
    if (actor.parked === null && !actor.ending && actor.snapshot !== null)
      pushFront(core, actor, kernelMail(core, "stop", { type: "stop", stop: reason }));
    withdrawAll(core, actor, actor.parked === null && !actor.ending);
    setDeadline(core, actor);
  }
  // It may have stood still with mail: that is refused now, and then it is down.
  makeReady(core, actor);
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

/** Down for good, reason crash, once its children are. */
export function fail(core: Core, actor: Actor, report: { code: string; message: string; event?: string }): void {
  actor.crash ??= report;
  actor.ending = true;
  setFence(core, actor, { by: "crash", scope: actor.address, note: report.message }, { idle: false });
  tryDown(core, actor);
}

/** What keeps it still, apart from being parked itself: a back-off, its group, a fence, one above that is parked. */
export function heldBack(actor: Actor): boolean {
  return actor.restartAt !== null || actor.grouped || fenceOf(actor) !== null || parkedAbove(actor) !== null;
}

/** Its chart came to an end: temporary children are stopped, the others waited for, static ones go last (K6). */
export function chartEnded(core: Core, actor: Actor): void {
  if (core.supervise.restartsAtEnd(actor)) return;
  actor.ending = true;
  markDirty(core, actor);
  for (const child of [...(actor.children?.values() ?? [])].reverse())
    if (child.spec.restart === "temporary")
      setFence(core, child, { by: "agent", scope: actor.address, note: "its parent ended" }, { idle: false });
  for (const pending of actor.pending?.values() ?? []) abortPending(core, actor, pending);
  tryDown(core, actor);
}

/** Down when its children are down and every outcome is handled. */
export function tryDown(core: Core, actor: Actor): void {
  if (core.actors.get(actor.address) !== actor) return;
  if (!(actor.ending || actor.stopTold)) return;
  if (actor.suspended && !actor.stopTold) return;
  if ((actor.children?.size ?? 0) > 0) {
    if (actor.ending && !actor.stopTold) stopLast(core, actor);
    return;
  }
  if ((actor.pending?.size ?? 0) > 0 && !onlySettledAndMute(actor)) return;
  if (
    !actor.ending &&
    actor.parked === null &&
    actor.mail.some((mail) => mail.class === "stop" || mail.class === "outcome" || mail.class === "down")
  )
    return;
  down(core, actor);
}

/** Of one that ends by itself: once only static children are left (all, when its start failed), the last one started is stopped. */
function stopLast(core: Core, actor: Actor): void {
  const children = actor.children ?? new Map<Address, Actor>();
  actor.leaving ??= [...children.values()].filter((child) => actor.crash !== null || child.spec.restart === "permanent");
  const { leaving } = actor;
  while (leaving.length > 0 && children.get((leaving.at(-1) as Actor).address) !== leaving.at(-1)) leaving.pop();
  if (children.size > leaving.length) return;
  const last = leaving.at(-1) as Actor;
  if (last.fence === null || last.fence.idle) {
    const reason: StopReason = { by: actor.crash ? "crash" : "agent", scope: actor.address, note: "its parent ended" };
    setFence(core, last, reason, { idle: false });
  }
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
  bury(core, stone);
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
  if (parent.leaving && actor.spec.restart === "permanent" && parent.leaving.at(-1) !== actor)
    parent.leaving = parent.leaving.filter((each) => each !== actor);
  if (actor.lost.length > 0 && (parent.stopTold || parent.ending)) parent.lost.push(...actor.lost);
  if (parent.ending || parent.stopTold) tryDown(core, parent);
  for (let each: Actor | null = parent; each; each = each.parent) {
    if (!each.fence) continue;
    each.fence.left -= 1;
    if (each.fence.left <= 0) liftIfThrough(core, each);
  }
  core.supervise.childDown(actor);
}

/** For a day who comes too late hears how it ended; memory does not grow with the dead. */
function bury(core: Core, stone: Tombstone): void {
  core.tombstones.delete(stone.address);
  core.tombstones.set(stone.address, stone);
  for (const [address, { at }] of core.tombstones) {
    if (stone.at - at < TOMBSTONE_MS) break;
    core.tombstones.delete(address);
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
  if (!fence?.idle || root.stopTold) return;
  if (fence.rebirth) {
    if (!isCleared(root)) return;
    if (root.grouped) return core.supervise.memberThrough(root);
    startAnew(core, root);
  } else {
    const spared = sparedBelow(root);
    if (!spared) return;
    root.fence = null;
    for (const actor of spared) {
      // Below what is parked or fenced once more nothing moves until that is over.
      actor.suspended = heldBack(actor);
      markDirty(core, actor);
      if (actor.parked === null && actor.snapshot !== null && fence.reason.by !== "crash")
        pushFront(core, actor, kernelMail(core, "stopped", { type: "stopped", stop: fence.reason }));
      makeReady(core, actor);
    }
    if (root.grouped) core.supervise.memberThrough(root);
  }
  const waiters = core.downWaiters.get(root.address);
  if (waiters) {
    core.downWaiters.delete(root.address);
    core.open.outer.push({ release: () => waiters.forEach((each) => each()) });
  }
}

/** What an idle fence spares, when nothing else is left below it; else null. */
function sparedBelow(root: Actor): Actor[] | null {
  const spared: Actor[] = [];
  const through = (actor: Actor): boolean => {
    if (!(actor === root || actor.spec.restart === "permanent")) return false;
    if (actor.stopTold) return false;
    spared.push(actor);
    for (const child of actor.children?.values() ?? []) if (!through(child)) return false;
    return true;
  };
  return through(root) ? spared : null;
}

/** Nothing of the old life of one that starts anew is left: no child, no effect without its outcome. */
export function isCleared(actor: Actor): boolean {
  if ((actor.children?.size ?? 0) > 0) return false;
  for (const pending of actor.pending?.values() ?? []) if (!pending.settled) return false;
  return true;
}

/** A `fresh` actor starts anew: initial state, new birth; watchers hear `down` of the old one, its mail stays. */
export function startAnew(core: Core, actor: Actor): void {
  const { fence, snapshot } = actor;
  const done = snapshot?.status === "done";
  const stone: Tombstone = {
    address: actor.address,
    birth: actor.birth,
    reason: done
      ? { kind: "normal" }
      : fence && (fence.reason.by !== "crash" || fence.reason.scope !== actor.address)
        ? { kind: "stopped", stop: fence.reason }
        : { kind: "crash", error: { code: "CRASHED", message: fence?.reason.note ?? "it starts anew" } },
    output: done ? ((snapshot.output ?? null) as Json) : null,
    lost: actor.lost,
    at: core.clock.now(),
    kind: actor.chart.name,
  };
  for (const pending of actor.pending?.values() ?? []) core.pendingByKey.delete(pending.key);
  const watchers = [...(actor.watchers ?? [])];
  for (const watched of actor.watching?.keys() ?? []) core.actors.get(watched)?.watchers?.delete(actor);
  actor.fence = null;
  actor.birth = nextId(core) as Actor["birth"];
  actor.snapshot = null;
  actor.pending = null;
  actor.timers = null;
  actor.watching = null;
  actor.watchers = null;
  actor.lost = [];
  actor.starting = false;
  actor.group = null;
  actor.mail = actor.mail.filter((mail) => mail.class === "message");
  pushFront(core, actor, kernelMail(core, "start", { type: "start" }));
  for (const watcher of watchers) {
    watcher.watching?.delete(actor.address);
    deliverDown(core, watcher, stone);
  }
  actor.suspended = heldBack(actor);
  makeReady(core, actor);
}
