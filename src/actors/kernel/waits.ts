/**
 * Questions and waits between actors, and the graph of who waits for whom (design §5).
 *
 * Owns: how a question begins and how it ends, the edges between lines of work, the search for a circle, and the words for a wait
 * that nothing can end. Its neighbours call it: `applying.ts` with the effects, `rounds.ts` for an event nobody took, `ending.ts`
 * when an actor goes down, is stopped, is parked or begins anew, `restoring.ts` to build the graph from the rows.
 *
 * 1. Every `ask` ends in exactly one of answered, refused, unanswered (K15), or its waiter takes it back itself. What ends it takes
 *    it out of `core.asks` first; an answer that comes later is dropped and counted.
 * 2. Check and insertion are one act in the step: of two questions of one round that close a circle the second is refused.
 * 3. An edge goes from the line of the waiter to the line of the one waited for; none inside one line, but for a question to the
 *    line's own actor, which can never end. A pool's node leads back only when all who hold something of it do.
 * 4. The edge stands in the waiter's row and falls with the wait; the graph is built again from rows before any mail is handled.
 */
import type { AskEffect, UnwaitEffect, WaitEffect } from "../../protocol/effects.ts";
import type { SomoraError } from "../../protocol/errors.ts";
import type { Address, EventId, Token } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { ChainStep, Refusal, UnansweredReason, WaitView } from "../../protocol/waits.ts";
import {
  type Actor,
  answerDoor,
  type Core,
  deadLetter,
  type Edge,
  type Line,
  type Mail,
  markDirty,
  nextId,
  parkedAbove,
  pushMail,
  pushNext,
  type Wait,
} from "./core.ts";

const ACTOR_TOKEN = "ask:";

/** An answer to a door or an actor. `refused`: the one asked said no; `lost`: it cannot answer. */
export type Answer = { value: Json } | { refused: SomoraError } | { lost: UnansweredReason["kind"]; error: SomoraError };

/** An answer to a question that has ended, or to nobody, is dropped and counted. */
export function answer(core: Core, token: Token | undefined, given: Answer): void {
  if (token === undefined) {
    core.counters.lateAnswers += 1;
    return;
  }
  if (!token.startsWith(ACTOR_TOKEN)) {
    answerDoor(core, token, "value" in given ? given : { error: "refused" in given ? given.refused : given.error });
    return;
  }
  const open = close(core, token);
  if (!open) {
    core.counters.lateAnswers += 1;
    return;
  }
  if ("value" in given) return tell(core, open, { type: "answered", value: given.value });
  if ("lost" in given) return tell(core, open, { type: "unanswered", reason: { kind: given.lost, message: given.error.message } });
  const { code, message, hint } = given.refused;
  const refusal: Refusal = { why: "answer", message, chain: [], error: { code, message, ...(hint === undefined ? {} : { hint }) } };
  tell(core, open, { type: "refused", refusal });
}

/** Sends a question; the id its message got, or null when nothing was sent. */
export function ask(core: Core, actor: Actor, effect: AskEffect): EventId | null {
  const { name, to, event, why } = effect;
  const target = core.actors.get(to);
  const on = effect.on === null ? null : core.actors.get(effect.on ?? to);
  const wait: Wait = { name, token: newToken(core), kind: "ask", to, on: on?.address ?? null, why, since: core.roundAt };
  if (!target || target.ending || on === undefined) {
    deadLetter(core, to, event.type, actor.address);
    refuse(core, actor, name, { why: "gone", message: `There is no actor at ${target && !target.ending ? effect.on : to}.`, chain: [] });
    return null;
  }
  if (!begin(core, actor, wait, target, on)) return null;
  const id = nextId(core) as EventId;
  pushMail(core, target, {
    id,
    class: "message",
    from: actor.address,
    event,
    token: wait.token,
    ...(core.cause === null ? {} : { cause: core.cause }),
  });
  return id;
}

export function wait(core: Core, actor: Actor, { name, on: address, why }: WaitEffect): void {
  const on = core.actors.get(address);
  if (!on || on.ending) return refuse(core, actor, name, { why: "gone", message: `There is no actor at ${address}.`, chain: [] });
  begin(core, actor, { name, token: newToken(core), kind: "wait", to: address, on: address, why, since: core.roundAt }, on, on);
}

export function unwait(core: Core, actor: Actor, { name }: UnwaitEffect): void {
  const standing = actor.waits?.get(name);
  if (standing) withdraw(core, actor, standing);
}

/** The answer of a step below a fence: nothing new is asked there. */
export function refuseFenced(core: Core, actor: Actor, name: string): void {
  refuse(core, actor, name, { why: "fenced", message: `${actor.address} is being stopped.`, chain: [] });
}

/** Everything an actor asked or waits for is taken back: it goes, or it is told to stop and hears so for each (`tellIt`). */
export function withdrawAll(core: Core, actor: Actor, tellIt: boolean): void {
  for (const standing of [...(actor.waits?.values() ?? [])]) {
    withdraw(core, actor, standing);
    if (tellIt)
      tell(
        core,
        { actor, wait: standing },
        { type: "unanswered", reason: { kind: "stopped", message: `${actor.address} is being stopped.` } },
      );
  }
}

/** Whoever waits for this actor hears that it will not come. `heard`: only questions that no longer wait in its mailbox. */
export function endAskers(core: Core, actor: Actor, reason: UnansweredReason, heard = false): void {
  for (const token of [...(actor.askers ?? [])]) {
    if (heard && actor.mail.some((mail) => mail.token === token)) continue;
    const standing = core.asks.get(token);
    if (standing && standing.wait.to !== actor.address) {
      if (!heard) loosen(core, standing);
      continue;
    }
    const open = close(core, token);
    if (open) tell(core, open, { type: "unanswered", reason });
  }
}

/** The one whose end was waited for is gone, the one asked is not: the question stands, nobody blocks on it any more. */
function loosen(core: Core, standing: { actor: Actor; wait: Wait; edge: Edge | null }): void {
  const { actor, wait: before, edge } = standing;
  const after: Wait = { ...before, on: null };
  if (edge) dropEdge(core, edge);
  actor.waits?.set(after.name, after);
  core.asks.set(after.token, { actor, wait: after, edge: null });
  markDirty(core, actor);
}

/** It is parked: what it was asked ends for the askers; what it has heard of is withdrawn from it, the rest it never hears. */
export function endAskersOfParked(core: Core, actor: Actor, message: string): void {
  for (const token of [...(actor.askers ?? [])]) {
    if (core.asks.get(token)?.wait.to !== actor.address) continue;
    const open = close(core, token);
    if (!open) continue;
    if (open.wait.kind === "ask") takeBack(core, actor, open.actor.address, token);
    tell(core, open, { type: "unanswered", reason: { kind: "parked", message } });
  }
}

/** From the rows of all actors, before any mail is handled. */
export function rebuildWaits(core: Core): void {
  for (const actor of core.actors.values()) {
    for (const standing of [...(actor.waits?.values() ?? [])]) {
      const target = core.actors.get(standing.to);
      const on = standing.on === null ? null : core.actors.get(standing.on);
      insert(core, actor, standing, { target, on });
      if (!target) answer(core, standing.token, { lost: "gone", error: new Error(`${standing.to} is gone.`) as SomoraError });
    }
  }
}

/** All that stands, for watchers. */
export function waitViews(core: Core): WaitView[] {
  return [...core.asks.values()].map(({ actor, wait: standing, edge }) => ({
    token: standing.token,
    name: standing.name,
    from: actor.address,
    line: lineAddress(actor),
    to: standing.to,
    on: standing.on,
    onLine: edge?.to.address ?? null,
    why: standing.why,
    since: standing.since,
    blocks: standing.on !== null,
    stuck: stuckWait(core, actor, standing),
  }));
}

/** K14: who waits for what since when, when nothing that could end the wait can move by itself. Null while something can. */
export function stuckWait(core: Core, actor: Actor, standing: Wait): string | null {
  const target = core.actors.get(standing.to);
  const on = standing.on === null ? undefined : core.actors.get(standing.on);
  const seen = new Set<Actor>([actor]);
  if ((target && canMove(core, target, seen)) || (on && canMove(core, on, seen))) return null;
  return `${actor.address} waits for ${standing.on ?? standing.to} (${standing.why}), where nothing can move by itself`;
}

function canMove(core: Core, actor: Actor, seen: Set<Actor>): boolean {
  if (seen.has(actor)) return false;
  seen.add(actor);
  if (actor.parked !== null || parkedAbove(actor)) return false;
  if (actor.mail.length > 0 || (actor.timers?.size ?? 0) > 0 || (actor.pending?.size ?? 0) > 0) return true;
  for (const child of actor.children?.values() ?? []) if (canMove(core, child, seen)) return true;
  for (const standing of actor.waits?.values() ?? []) {
    const on = core.actors.get(standing.on ?? standing.to);
    if (on && canMove(core, on, seen)) return true;
  }
  return holdersOf(core, actor)?.some((holder) => holder !== null && canMove(core, holder, seen)) ?? false;
}

// --- beginning and ending -------------------------------------------------------------------------------------------------

/** False when it came to nothing and the waiter was told. */
function begin(core: Core, actor: Actor, standing: Wait, target: Actor, on: Actor | null): boolean {
  const parked = target.parked !== null ? target : parkedAbove(target);
  if (parked) {
    const message = `${parked.address} is parked: ${parked.parked}`;
    tell(core, { actor, wait: standing }, { type: "unanswered", reason: { kind: "parked", message } });
    return false;
  }
  const chain = on && circle(core, actor, on);
  if (on && chain) {
    const steps = [stepOf(lineAddress(actor), actor, standing, on), ...chain];
    refuse(core, actor, standing.name, { why: "circle", message: wordsFor(steps), chain: steps });
    return false;
  }
  actor.waits ??= new Map();
  actor.waits.set(standing.name, standing);
  insert(core, actor, standing, { target, on });
  markDirty(core, actor);
  return true;
}

/** Into everything that `close` takes it out of again, but for the waiter's own row. */
function insert(core: Core, actor: Actor, standing: Wait, other: { target: Actor | undefined; on: Actor | null | undefined }): void {
  const edge = other.on ? edgeOf(core, actor, standing, other.on) : null;
  core.asks.set(standing.token, { actor, wait: standing, edge });
  for (const each of [other.target, other.on]) if (each) (each.askers ??= new Set()).add(standing.token);
  if (!edge) return;
  edge.from.out.add(edge);
  edge.to.in += 1;
}

/** Takes it out of everything; null when it had ended. */
function close(core: Core, token: Token): { actor: Actor; wait: Wait } | null {
  const open = core.asks.get(token);
  if (!open) return null;
  core.asks.delete(token);
  const { actor, wait: standing, edge } = open;
  if (actor.waits?.get(standing.name) === standing) actor.waits.delete(standing.name);
  markDirty(core, actor);
  core.actors.get(standing.to)?.askers?.delete(token);
  if (standing.on !== null) core.actors.get(standing.on)?.askers?.delete(token);
  if (edge) dropEdge(core, edge);
  return open;
}

function dropEdge(core: Core, edge: Edge): void {
  edge.from.out.delete(edge);
  edge.to.in -= 1;
  for (const line of [edge.from, edge.to]) if (line.out.size === 0 && line.in === 0) core.lines.delete(line.address);
}

function withdraw(core: Core, actor: Actor, standing: Wait): void {
  if (!close(core, standing.token)) return;
  const target = core.actors.get(standing.to);
  if (target && standing.kind === "ask") takeBack(core, target, actor.address, standing.token);
}

/** Out of its mailbox when it has not heard it yet; else it is told. */
function takeBack(core: Core, target: Actor, asker: Address, token: Token): void {
  const waiting = target.mail.findIndex((mail) => mail.token === token);
  if (waiting >= 0) {
    target.mail.splice(waiting, 1);
    markDirty(core, target);
    return;
  }
  pushMail(core, target, { ...mailOf(core, { type: "withdrawn", of: token }), from: asker });
}

function tell(core: Core, open: { actor: Actor; wait: Wait }, event: { type: string; [field: string]: unknown }): void {
  if (core.actors.get(open.actor.address) !== open.actor || open.actor.ending) return;
  // From the one who was asked: its `down` stays behind what it answered (K4).
  const mail: Mail = { ...mailOf(core, { ...event, name: open.wait.name }), from: open.wait.to };
  if (event.type === "refused") pushNext(core, open.actor, mail);
  else pushMail(core, open.actor, mail);
}

function refuse(core: Core, actor: Actor, name: string, refusal: Refusal): void {
  pushNext(core, actor, mailOf(core, { type: "refused", name, refusal }));
}

function mailOf(core: Core, event: Mail["event"]): Mail {
  return { id: nextId(core) as EventId, class: "answer", from: "kernel", event, ...(core.cause === null ? {} : { cause: core.cause }) };
}

function newToken(core: Core): Token {
  return `${ACTOR_TOKEN}${nextId(core)}` as Token;
}

// --- the graph -----------------------------------------------------------------------------------------------------------

const lineAddress = (actor: Actor): Address => actor.line ?? actor.address;

function lineOf(core: Core, actor: Actor): Line {
  const address = lineAddress(actor);
  let line = core.lines.get(address);
  if (!line) core.lines.set(address, (line = { address, out: new Set(), in: 0, mark: 0 }));
  return line;
}

/** No edge inside one line. */
function edgeOf(core: Core, actor: Actor, standing: Wait, on: Actor): Edge | null {
  if (lineAddress(actor) === lineAddress(on)) return null;
  return { wait: standing, actor, from: lineOf(core, actor), on, to: lineOf(core, on) };
}

/** The steps that lead from the one waited for back to the waiter's line; null when there are none. */
function circle(core: Core, actor: Actor, on: Actor): ChainStep[] | null {
  const from = lineAddress(actor);
  // Work inside one line is waited for all the time; only the line's own actor, or itself, waits for the asker in turn.
  if (lineAddress(on) === from) return on === actor || on.address === from ? [] : null;
  const edges = pathBack(core, on, from, new Set());
  return edges && edges.map((edge) => stepOf(edge.from.address, edge.actor, edge.wait, edge.on));
}

function pathBack(core: Core, start: Actor, goal: Address, pools: ReadonlySet<Actor>): Edge[] | null {
  const holders = holdersOf(core, start);
  if (holders) {
    // Whoever waits for this very pool is no way out of it.
    if (pools.has(start)) return [];
    const within = new Set(pools).add(start);
    let first: Edge[] | null = null;
    for (const holder of holders) {
      const back = holder && (lineAddress(holder) === goal ? [] : pathBack(core, holder, goal, within));
      if (!back) return null;
      first ??= back;
    }
    return first;
  }
  core.searches += 1;
  const mark = core.searches;
  // A line in which nobody waits leads nowhere.
  const root = core.lines.get(lineAddress(start));
  if (!root) return null;
  root.mark = mark;
  // Depth first, without recursion: a chain may be as long as there are lines.
  const trail: { edges: Iterator<Edge>; via: Edge | null }[] = [{ edges: root.out.values(), via: null }];
  while (trail.length > 0) {
    const top = trail[trail.length - 1] as (typeof trail)[number];
    const { done, value: edge } = top.edges.next();
    if (done === true) {
      trail.pop();
      continue;
    }
    const so = (): Edge[] => [...trail.flatMap(({ via }) => via ?? []), edge];
    if (edge.to.address === goal) return so();
    if (holdersOf(core, edge.on)) {
      const back = pathBack(core, edge.on, goal, pools);
      if (back) return [...so(), ...back];
      continue;
    }
    if (edge.to.mark === mark) continue;
    edge.to.mark = mark;
    trail.push({ edges: edge.to.out.values(), via: edge });
  }
  return null;
}

/** Who holds what a pool gives out; empty while something of it is free, null for what is no pool. A holder that is gone is null. */
function holdersOf(core: Core, actor: Actor): (Actor | null)[] | null {
  const holders = actor.chart.definition.holders;
  if (!holders || !actor.snapshot) return null;
  return holders(actor.snapshot.context as Record<string, unknown>).map((address) => core.actors.get(address) ?? null);
}

function stepOf(from: Address, by: Actor, standing: Wait, on: Actor): ChainStep {
  return { from, by: by.address, on: on.address, to: lineAddress(on), why: standing.why, since: standing.since };
}

function wordsFor(steps: readonly ChainStep[]): string {
  const [first] = steps;
  if (steps.length === 1 && first?.from === first?.to)
    return `${first?.by} would wait for its own line ${first?.to} (${first?.why}): that never ends.`;
  return `This wait would never end: ${steps.map((step) => `${step.from} waits for ${step.to} (${step.why})`).join(", ")}.`;
}
