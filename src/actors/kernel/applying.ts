/**
 * Applies the effects of one step: inner ones at once and in the chart's order, outer ones into the open batch.
 *
 * 1. Everything that can be wrong with an effect is found before the first one acts (`check`): then the step crashes and
 *    nothing of it happened.
 * 2. Below a fence only what takes back, records, answers or reports upward passes; the rest is answered (design §9).
 */
import type { ChildSpec, Effect, RecordEffect, SpawnEffect } from "../../protocol/effects.ts";
import { isErrorCode, SomoraError } from "../../protocol/errors.ts";
import { type Address, type Birth, childOf, type EventId, parentOf } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { type Actor, type Core, deadLetter, fenceOf, makeReady, markDirty, nextId, pushMail } from "./core.ts";
import { deliverDown, kernelMail, setFence } from "./ending.ts";
import { abortPending, addPending } from "./performs.ts";
import { joinSiblings, mayHaveChild, refuseChild } from "./supervising.ts";
import { cancelTimer, setTimer, type TimerHeap } from "./timers.ts";
import { answer, ask, refuseFenced, unwait, wait } from "./waits.ts";

const MAX_ROW_CHARS = 8_000_000;

/** Throws when an effect cannot act: a name in use, an address taken, an unknown chart, driver or spec. */
export function check(core: Core, actor: Actor, effects: readonly Effect[]): void {
  let names: Set<string> | null = null;
  let waits: Set<string> | null = null;
  let born: Set<Address> | null = null;
  for (const { type, params } of effects) {
    if (type === "perform") {
      names ??= new Set(actor.pending?.keys());
      if (names.has(params.name)) throw new Error(`perform "${params.name}" while one of that name is pending`);
      names.add(params.name);
    } else if (type === "spawn") {
      if (!core.charts.has(params.chart)) throw new Error(`spawn of unknown chart "${params.chart}"`);
      if (!core.specs[params.spec]) throw new Error(`spawn with unknown spec "${params.spec}"`);
      const address = addressOf(actor, params);
      born ??= new Set();
      if (core.actors.has(address) || born.has(address)) throw new Error(`spawn at ${address}, which is taken`);
      born.add(address);
      refuseChild(supervisorOf(core, address), core.specs[params.spec] as ChildSpec, params.spec);
    } else if (type === "record" && JSON.stringify(params.data).length > MAX_ROW_CHARS) {
      throw new Error(`a record of over ${MAX_ROW_CHARS} characters`);
    } else if (type === "ask" || type === "wait" || type === "unwait") {
      waits ??= new Set(actor.waits?.keys());
      if (type === "unwait") waits.delete(params.name);
      else if (waits.has(params.name)) throw new Error(`${type} "${params.name}" while one of that name stands`);
      else waits.add(params.name);
    }
    if ((type === "send" || type === "ask") && /^(xstate|kernel)\./.test(params.event.type)) {
      throw new Error(`an event of type "${params.event.type}" is the kernel's own`);
    }
  }
}

function addressOf(actor: Actor, spawn: SpawnEffect): Address {
  return childOf(spawn.under ?? actor.address, spawn.name);
}

/** Returns the ids of the events its sends became, for the story. */
export function apply(core: Core, heap: TimerHeap, actor: Actor, effects: readonly Effect[], final: boolean): EventId[] {
  const fenced = effects.length > 0 && fenceOf(actor) !== null;
  const sent: EventId[] = [];
  for (const effect of effects) {
    if (fenced && !passesFence(actor, effect)) block(core, actor, effect);
    else applyOne(core, heap, actor, effect, final, sent);
  }
  return sent;
}

function passesFence(actor: Actor, effect: Effect): boolean {
  switch (effect.type) {
    case "record":
    case "reply":
    case "refuse":
    case "publish":
    case "abort":
    case "unwatch":
    case "unwait":
    case "timer.cancel":
      return true;
    case "send":
      return effect.params.to === actor.parent?.address;
    case "perform":
      return effect.params.cleanup === true;
    default:
      return false;
  }
}

function block(core: Core, actor: Actor, effect: Effect): void {
  core.counters.blockedEffects += 1;
  if (effect.type === "perform") {
    const pending = addPending(core, actor, effect.params);
    pending.mark = true;
  } else if (effect.type === "ask" || effect.type === "wait") {
    refuseFenced(core, actor, effect.params.name);
  } else if (effect.type === "watch" || (effect.type === "spawn" && effect.params.watch === true)) {
    const address = effect.type === "watch" ? effect.params.address : addressOf(actor, effect.params);
    deliverDown(core, actor, { address, birth: "", reason: { kind: "gone" }, output: null, lost: [] });
  }
}

function applyOne(core: Core, heap: TimerHeap, actor: Actor, effect: Effect, final: boolean, sent: EventId[]): void {
  switch (effect.type) {
    case "send": {
      const { to, event } = effect.params;
      const target = core.actors.get(to);
      if (!target || target.ending) return deadLetter(core, to, event.type, actor.address);
      const id = nextId(core) as EventId;
      sent.push(id);
      return pushMail(core, target, {
        id,
        class: "message",
        from: actor.address,
        event,
        ...(core.cause === null ? {} : { cause: core.cause }),
      });
    }
    case "spawn": {
      const child = spawn(core, actor, effect.params);
      if (effect.params.watch === true) {
        if (child) watch(core, actor, child);
        else
          deliverDown(core, actor, {
            address: addressOf(actor, effect.params),
            birth: "",
            reason: { kind: "gone" },
            output: null,
            lost: [],
          });
      }
      return;
    }
    case "stop": {
      const target = core.actors.get(effect.params.address);
      if (target)
        setFence(
          core,
          target,
          { ...effect.params.reason, scope: target.address },
          { idle: target.spec.restart === "permanent" && effect.params.remove !== true },
        );
      return;
    }
    case "watch": {
      const { address } = effect.params;
      const target = core.actors.get(address);
      if (target) return watch(core, actor, target);
      const stone = core.tombstones.get(address);
      // One that waits unread is the one that is due (K7): to look again does not double it.
      if (stone && actor.mail.some((mail) => mail.class === "down" && mail.from === address && mail.event["birth"] === stone.birth)) return;
      return deliverDown(core, actor, stone ?? { address, birth: "", reason: { kind: "gone" }, output: null, lost: [] });
    }
    case "unwatch": {
      const { address } = effect.params;
      if (actor.watching?.delete(address)) core.actors.get(address)?.watchers?.delete(actor);
      actor.mail = actor.mail.filter((mail) => !(mail.class === "down" && mail.from === address));
      return markDirty(core, actor);
    }
    case "timer.set":
      if (!final) setTimer(core, heap, actor, effect.params);
      return;
    case "timer.cancel":
      return cancelTimer(core, actor, effect.params.id);
    case "ask": {
      // What a final step asks is not asked: nobody is there to hear the answer.
      const id = final ? null : ask(core, actor, effect.params);
      if (id !== null) sent.push(id);
      return;
    }
    case "wait":
      if (!final) wait(core, actor, effect.params);
      return;
    case "unwait":
      return unwait(core, actor, effect.params);
    case "reply":
      return answer(core, effect.params.token, { value: effect.params.value });
    case "refuse": {
      const { token, code, message, hint, details } = effect.params;
      return answer(core, token, {
        refused: new SomoraError(isErrorCode(code) ? code : "INTERNAL", message, {
          ...(hint === undefined ? {} : { hint }),
          ...(details === undefined ? {} : { details }),
        }),
      });
    }
    case "record":
      return record(core, actor, effect.params);
    case "perform":
      // What a final step asks for is not started: nobody is there to hear its outcome.
      if (!final) addPending(core, actor, effect.params);
      return;
    case "tell": {
      const pending = actor.pending?.get(effect.params.name);
      const { data } = effect.params;
      if (pending) core.open.outer.push({ release: () => core.running.get(pending.key)?.tell.forEach((listener) => listener(data)) });
      return;
    }
    case "abort": {
      const pending = actor.pending?.get(effect.params.name);
      if (!pending || pending.settled) return;
      pending.mark = true;
      markDirty(core, actor);
      core.open.outer.push({ release: () => abortPending(core, actor, pending) });
      return;
    }
    case "publish":
      core.open.facts.push({ kind: "publish", publish: effect.params, by: actor.address });
      return;
  }
}

function watch(core: Core, actor: Actor, target: Actor): void {
  actor.watching ??= new Map();
  if (actor.watching.get(target.address) === target.birth) return;
  actor.watching.set(target.address, target.birth);
  target.watchers ??= new Set();
  target.watchers.add(actor);
  markDirty(core, actor);
}

/** Null when its parent is gone or fenced: a watch then answers `down {gone}`. */
function spawn(core: Core, actor: Actor, effect: SpawnEffect): Actor | null {
  const address = addressOf(actor, effect);
  const parent = supervisorOf(core, address);
  if (!parent || parent.ending || parent.stopTold || fenceOf(parent) !== null || !mayHaveChild(parent)) return null;
  return createActor(core, { address, parent, chart: effect.chart, spec: effect.spec, input: effect.input, spawner: actor });
}

/** The nearest living actor above: `/a/sessions/main` hangs under `/a`. */
export function supervisorOf(core: Core, address: Address): Actor | null {
  for (let above = parentOf(address); above !== null; above = parentOf(above)) {
    const actor = core.actors.get(above);
    if (actor) return actor;
  }
  return null;
}

export function createActor(
  core: Core,
  born: { address: Address; parent: Actor | null; chart: string; spec: string; input: JsonObject; spawner?: Actor },
): Actor {
  const chart = core.charts.get(born.chart);
  const spec = core.specs[born.spec];
  if (!chart || !spec) throw new Error(`no chart "${born.chart}" or no spec "${born.spec}"`);
  const actor = blankActor({
    address: born.address,
    parent: born.parent,
    birth: nextId(core) as Birth,
    chart,
    specName: born.spec,
    spec,
    input: born.input,
  });
  actor.stateSince = core.roundAt;
  actor.line ??= born.spawner?.line ?? null;
  core.actors.set(actor.address, actor);
  core.tombstones.delete(actor.address);
  if (born.parent) {
    born.parent.children ??= new Map();
    born.parent.children.set(actor.address, actor);
  }
  joinSiblings(actor);
  pushMail(core, actor, kernelMail(core, "start", { type: "start" }));
  makeReady(core, actor);
  return actor;
}

export function blankActor(born: Pick<Actor, "address" | "parent" | "birth" | "chart" | "specName" | "spec" | "input">): Actor {
  return {
    address: born.address,
    parent: born.parent,
    birth: born.birth,
    place: born.birth,
    chart: born.chart,
    specName: born.specName,
    spec: born.spec,
    input: born.input,
    shard: born.spec.shard === "self" ? born.address : (born.spec.shard ?? born.parent?.shard ?? "root"),
    snapshot: null,
    children: null,
    mail: [],
    pending: null,
    timers: null,
    watching: null,
    watchers: null,
    waits: null,
    askers: null,
    line: born.spec.line === true ? born.address : (born.parent?.line ?? null),
    ending: false,
    suspended: false,
    parked: null,
    fence: null,
    stopTold: false,
    crash: null,
    crashes: [],
    restarts: 0,
    restartAt: null,
    group: null,
    grouped: false,
    starting: false,
    leaving: null,
    effectCount: 0,
    recorded: null,
    costUsd: 0,
    costUnknown: false,
    booked: false,
    lost: [],
    story: [],
    inReady: false,
    dirty: false,
    stateSince: 0,
    committed: null,
  };
}

/** The kernel gives the number; the actor's row remembers the last one, so that a restart goes on from there. */
function record(core: Core, actor: Actor, effect: RecordEffect): void {
  const seq = (core.historyNumbers.get(effect.session) ?? 0) + 1;
  core.historyNumbers.set(effect.session, seq);
  actor.recorded = { session: effect.session, seq };
  markDirty(core, actor);
  const at = core.roundAt;
  const data = effect.data as JsonObject;
  core.open.rows.push({
    shard: actor.shard,
    kind: "transcript",
    key: effect.session,
    head: JSON.stringify({ seq, at, kind: effect.kind, turnId: effect.turnId }),
    body: JSON.stringify(data),
  });
  core.open.facts.push({
    kind: "record",
    session: effect.session,
    seq,
    at,
    row: effect.kind,
    turnId: effect.turnId,
    data,
    by: actor.address,
  });
}
