/**
 * What a supervisor decides: who starts anew with a child that crashed, when it ends with its children, when it crashes with them.
 *
 * Owns: crashes, strategies, significant children, escalation, the first start of a supervisor as a whole. Budgets and back-off are
 * in `restarts.ts`, the moves themselves (fence, down, new birth) in `ending.ts`, which comes here through `core.supervise`.
 *
 * 1. Erlang's rules with K8 before them: the budget belongs to the child; `keep` restarts in place, `fresh` with a new birth.
 * 2. A group restart takes its members down one after the other, the last one started first: `temporary` ones go for good,
 *    `fresh` ones are cleared, `keep` ones only stand still. When the last is through they start anew in start order, in one commit.
 *    It is in the supervisor's row, so it goes on after a restart of the server.
 * 3. A member that crashes in its first step starts the group anew: no group runs with a hole.
 * 4. A significant child counts only when it ended by itself, never when it was stopped.
 */
import type { ChildSpec, CrashReport, StopReason } from "../../protocol/effects.ts";
import { SomoraError } from "../../protocol/errors.ts";
import type { Address, EventId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { type Actor, type Core, fenceOf, type Mail, makeReady, markDirty, nextId, pushFront } from "./core.ts";
import { fail, heldBack, isCleared, kernelMail, setFence, startAnew, suspend, tryDown } from "./ending.ts";
import { answer } from "./waits.ts";
import { armRestart, delayRestart, park, queueAfterCrash, spend, spentWords } from "./restarts.ts";

const LONGEST_MESSAGE = 2000;

export function supervise(core: Core): void {
  core.supervise = {
    restartsAtEnd: (actor) => restartsAtEnd(core, actor),
    childDown: (child) => childDown(core, child),
    memberThrough: (member) => {
      if (member.parent) stepGroup(core, member.parent);
    },
  };
}

/** A step threw: what it did is forgotten, its event is gone for this actor (P9), its supervisor's rule decides. */
export function crashed(core: Core, actor: Actor, mail: Mail, thrown: { code: string; message: string }): void {
  core.counters.crashes += 1;
  const at = core.clock.now();
  const error = { code: thrown.code, message: bounded(thrown.message) };
  actor.story.push({ id: mail.id, at, from: mail.from, event: mail.event, effects: [], sent: [], crashed: error });
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
  const report = { ...error, event: mail.event.type };
  if (actor.snapshot === null && startFailed(core, actor, report)) return;
  decide(core, actor, report, () => queueAfterCrash(core, actor, mail, dropped));
}

/** Whole messages of any length are somebody's data: a crash tells the beginning and how long it was. */
function bounded(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE)} … (${message.length} characters)`;
}

/** Counts the crash against the child's own budget, then restarts it, or does what its spec says past that. */
function decide(core: Core, actor: Actor, report: CrashReport, inPlace: () => void): void {
  const over = spend(core, actor);
  if (actor.spec.restart === "temporary" || fenceOf(actor) !== null) return fail(core, actor, report);
  if (over) {
    if (actor.spec.past === "park") inPlace();
    const about = report.event === undefined ? "" : `, last on "${report.event}"`;
    return pastBudget(core, actor, report, `${spentWords(actor, "crashed")}${about}: ${report.message}`);
  }
  if (actor.spec.identity === "keep") inPlace();
  restart(core, actor, report.message);
}

function pastBudget(core: Core, actor: Actor, report: CrashReport, why: string): void {
  if (actor.spec.past === "park") park(core, actor, why);
  else if (actor.spec.past === "climb") climb(core, actor, report);
  else fail(core, actor, report);
}

/** The child is down for good and its supervisor crashed of it: the supervisor's own spec and supervisor decide. */
function climb(core: Core, actor: Actor, report: CrashReport): void {
  const { parent } = actor;
  if (parent) {
    actor.crash = report;
    actor.ending = true;
    const error = { code: "CRASHED", message: bounded(`${actor.address} crashed too often: ${report.message}`) };
    parent.story.push({
      id: nextId(core) as EventId,
      at: core.clock.now(),
      from: actor.address,
      event: { type: "child.failed", address: actor.address },
      effects: [],
      sent: [],
      crashed: error,
    });
    decide(core, parent, error, () => {
      if (parent.snapshot !== null) pushFront(core, parent, kernelMail(core, "resumed", { type: "resumed", cause: "crash" }));
    });
  }
  if (core.actors.get(actor.address) === actor) fail(core, actor, report);
}

/** A `permanent` one is always restarted (Erlang); a `keep` one that ended has nothing left to go on with and is down. */
function restartsAtEnd(core: Core, actor: Actor): boolean {
  const { parent, spec } = actor;
  if (spec.restart !== "permanent" || spec.identity !== "fresh" || !parent || parent.ending || fenceOf(actor) !== null) return false;
  if (spend(core, actor)) {
    const why = spentWords(actor, "ended");
    pastBudget(core, actor, { code: "CRASHED", message: why }, why);
  } else restart(core, actor, "it ended");
  return true;
}

function restart(core: Core, actor: Actor, note: string): void {
  const { parent } = actor;
  delayRestart(core, actor);
  if (parent && !parent.ending && (parent.spec.strategy ?? "one_for_one") !== "one_for_one") restartTogether(core, parent, actor, note);
  else if (actor.spec.identity === "fresh") setFence(core, actor, byCrash(actor.address, note), { idle: true, rebirth: true });
}

function byCrash(scope: Address, note: string): StopReason {
  return { by: "crash", scope, note };
}

/** All, or those from the failed one on, as far as they live; one that joins a group under way makes it longer. */
function restartTogether(core: Core, parent: Actor, failed: Actor, note: string): void {
  const all = [...(parent.children?.values() ?? [])];
  const first = parent.spec.strategy === "one_for_all" ? 0 : all.indexOf(failed);
  const group = (parent.group ??= { of: failed.address, note, waiting: [], stepping: false });
  const waiting = new Set(group.waiting);
  for (const child of all.slice(first)) {
    if (child.grouped || child.ending || child.stopTold || child.parked !== null) continue;
    waiting.add(child.address);
    child.grouped = true;
    suspend(core, child);
    markDirty(core, child);
  }
  group.waiting = all.map((child) => child.address).filter((address) => waiting.has(address));
  markDirty(core, parent);
  stepGroup(core, parent);
}

/** Takes the next one down; when all are, lets them start. */
function stepGroup(core: Core, parent: Actor): void {
  const { group } = parent;
  if (!group || group.stepping) return;
  group.stepping = true;
  markDirty(core, parent);
  while (group.waiting.length > 0 && isThrough(core, parent, group.waiting.at(-1) as Address)) group.waiting.pop();
  group.stepping = false;
  if (group.waiting.length > 0) return;
  const members = [...(parent.children?.values() ?? [])].filter((child) => child.grouped);
  if (!members.some((child) => child.restartAt !== null)) startTogether(core, parent, members);
}

function isThrough(core: Core, parent: Actor, address: Address): boolean {
  const child = core.actors.get(address);
  const { group } = parent;
  if (!group || child?.parent !== parent || !child.grouped) return true;
  if (child.spec.restart === "temporary") {
    setFence(core, child, byCrash(group.of, group.note), { idle: false });
    return core.actors.get(address) !== child;
  }
  if (child.fence && !child.fence.rebirth) return false;
  if (child.spec.identity === "keep" || child.parked !== null) return true;
  if (!child.fence) setFence(core, child, byCrash(group.of, group.note), { idle: true, rebirth: true });
  return isCleared(child);
}

function startTogether(core: Core, parent: Actor, members: readonly Actor[]): void {
  const of = parent.group?.of;
  parent.group = null;
  for (const child of members) {
    child.grouped = false;
    markDirty(core, child);
    if (child.fence?.rebirth) startAnew(core, child);
    else {
      if (child.address !== of && child.snapshot !== null && child.parked === null)
        pushFront(core, child, kernelMail(core, "resumed", { type: "resumed", cause: "sibling" }));
      child.suspended = heldBack(child);
      makeReady(core, child);
    }
  }
}

function childDown(core: Core, child: Actor): void {
  const { parent } = child;
  if (!parent || core.actors.get(parent.address) !== parent) return;
  if (parent.group) stepGroup(core, parent);
  if (parent.starting) noteStarted(core, parent);
  if (child.spec.significant === true) shutDownWith(core, parent, child);
}

/** The supervisor ends with its significant child; its own supervisor decides, as of any end: a permanent one goes on or starts anew. */
function shutDownWith(core: Core, parent: Actor, child: Actor): void {
  const mode = parent.spec.autoShutdown ?? "never";
  if (mode === "never" || !endedByItself(parent, child)) return;
  if (mode === "all_significant") for (const each of parent.children?.values() ?? []) if (each.spec.significant === true) return;
  const idle = parent.spec.restart === "permanent";
  const rebirth = idle && parent.spec.identity === "fresh";
  const note = `its significant child ${child.address} ended`;
  setFence(core, parent, { by: "shutdown", scope: parent.address, note }, { idle, rebirth, auto: true });
}

function endedByItself(parent: Actor, child: Actor): boolean {
  if (fenceOf(parent) !== null || parent.ending) return false;
  const { fence } = child;
  return (
    fence === null || fence.auto === true || (fence.reason.by === "crash" && fence.reason.scope === child.address && child.crash !== null)
  );
}

/** Its first step is done. With it the start of its supervisor may be whole; if it is a supervisor itself, that begins. */
export function started(core: Core, actor: Actor): void {
  if (actor.spec.wholeStart === true && (actor.children?.size ?? 0) > 0) {
    actor.starting = true;
    markDirty(core, actor);
  }
  if (actor.parent?.starting) noteStarted(core, actor.parent);
}

function noteStarted(core: Core, parent: Actor): void {
  for (const child of parent.children?.values() ?? []) if (child.snapshot === null) return;
  parent.starting = false;
  markDirty(core, parent);
}

/**
 * The first step of a child threw while its supervisor starts as a whole: the supervisor fails with it. At its very first start it
 * is down for good, what had started is stopped in reverse; at a restart that counts as one more crash.
 */
function startFailed(core: Core, child: Actor, report: CrashReport): boolean {
  const { parent } = child;
  if (!parent?.starting) return false;
  parent.starting = false;
  child.crash = report;
  child.ending = true;
  const error = { code: "CRASHED", message: bounded(`its child ${child.address} did not start: ${report.message}`) };
  if (parent.restarts === 0 || parent.spec.identity === "keep") {
    parent.crash = error;
    parent.ending = true;
    markDirty(core, parent);
  } else decide(core, parent, error, () => {});
  tryDown(core, child);
  tryDown(core, parent);
  return true;
}

/** As Erlang refuses at `start_child`: a significant child where nobody ends with it. */
export function refuseChild(parent: Actor | null, spec: ChildSpec, name: string): void {
  if (spec.significant === true && parent && (parent.spec.autoShutdown ?? "never") === "never")
    throw new Error(`spawn with spec "${name}", which is significant, under ${parent.address}, which never shuts down with a child`);
}

/** One that restarts counts. */
export function mayHaveChild(parent: Actor): boolean {
  return parent.spec.maxChildren === undefined || (parent.children?.size ?? 0) < parent.spec.maxChildren;
}

/** Born while its siblings are restarted together it waits for them; below what is parked it waits, too. */
export function joinSiblings(actor: Actor): void {
  if (actor.parent?.group) actor.grouped = true;
  if (heldBack(actor)) actor.suspended = true;
}

/** At a server start: back-offs count on, group restarts go on. */
export function resumeRestarts(core: Core): void {
  for (const actor of [...core.actors.values()]) {
    if (actor.restartAt !== null) armRestart(core, actor);
    if (actor.group) stepGroup(core, actor);
  }
}
