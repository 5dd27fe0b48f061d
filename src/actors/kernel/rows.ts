/**
 * Rows of the log for an actor, and back. One row per actor that changed, with a head (small, read at every start) and a body;
 * one row per part entry that changed. The newest of each, of its birth, is all of the actor (K5).
 */
import type { DownReason } from "../../protocol/effects.ts";
import type { Address, Birth } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { LogRow } from "../../ports/journal.port.ts";
import { type StoredSnapshot, stateName } from "./chart.ts";
import type { Actor, ActorStatus, CommittedView, Fence, Mail, Pending, StoryEntry, TimerState, Tombstone } from "./core.ts";

export interface ActorHead {
  address: Address;
  parent: Address | null;
  birth: Birth;
  kind: string;
  spec: string;
  status: ActorStatus;
  at: number;
  /** Wall time since it is in its state. */
  since: number;
  state: string;
  fence: Omit<Fence, "left"> | null;
  parked: string | null;
  ending: boolean;
  crash: { code: string; message: string; event?: string } | null;
  watches: [Address, Birth][];
  timers: TimerState[];
  crashes: number[];
  restarts: number;
  n: number;
  recorded: { session: Address; seq: number } | null;
  cost: [usd: number, unknown: boolean] | null;
  lost: { pid: number; command: string }[];
  /** Only in a tombstone. */
  reason?: DownReason;
  output?: Json;
}

export interface ActorBody {
  version: number;
  input: JsonObject;
  snapshot: StoredSnapshot | null;
  pending: Pending[];
  mail: Mail[];
  story: StoryEntry[];
}

export interface PartHead {
  address: Address;
  birth: Birth;
  collection: string;
  entry: string;
  gone: boolean;
  at: number;
}

export function statusOf(actor: Actor, stopping: boolean): ActorStatus {
  if (actor.parked !== null) return "parked";
  if (actor.suspended) return "suspended";
  return stopping || actor.ending ? "stopping" : "live";
}

export function actorRow(actor: Actor, at: number, stopping: boolean): { row: LogRow; state: string } {
  const state = actor.snapshot ? stateName(actor.snapshot.value) : "starting";
  const head: ActorHead = {
    address: actor.address,
    parent: actor.parent?.address ?? null,
    birth: actor.birth,
    kind: actor.chart.name,
    spec: actor.specName,
    status: statusOf(actor, stopping),
    at,
    since: actor.stateSince,
    state,
    fence: actor.fence ? { reason: actor.fence.reason, idle: actor.fence.idle, rebirth: actor.fence.rebirth } : null,
    parked: actor.parked,
    ending: actor.ending,
    crash: actor.crash,
    watches: actor.watching ? [...actor.watching] : [],
    timers: actor.timers ? [...actor.timers.values()] : [],
    crashes: actor.crashes,
    restarts: actor.restarts,
    n: actor.effectCount,
    recorded: actor.recorded,
    cost: actor.booked ? [actor.costUsd, actor.costUnknown] : null,
    lost: actor.lost,
  };
  const body: ActorBody = {
    version: actor.chart.version,
    input: actor.input,
    snapshot: actor.snapshot ? actor.chart.freeze(actor.snapshot) : null,
    pending: actor.pending ? [...actor.pending.values()] : [],
    // A timer's event is made again from the timer; a stop is said again by the fence.
    mail: actor.mail.filter((mail) => mail.class !== "timer" && mail.class !== "stop"),
    story: actor.story,
  };
  return { row: { shard: actor.shard, kind: "actor", key: actor.address, head: JSON.stringify(head), body: JSON.stringify(body) }, state };
}

export function tombstoneRow(actor: Actor, stone: Tombstone): LogRow {
  const head: ActorHead = {
    address: actor.address,
    parent: actor.parent?.address ?? null,
    birth: actor.birth,
    kind: actor.chart.name,
    spec: actor.specName,
    status: "down",
    at: stone.at,
    since: stone.at,
    state: actor.snapshot ? stateName(actor.snapshot.value) : "starting",
    fence: null,
    parked: null,
    ending: true,
    crash: actor.crash,
    watches: [],
    timers: [],
    crashes: [],
    restarts: actor.restarts,
    n: actor.effectCount,
    recorded: actor.recorded,
    cost: actor.booked ? [actor.costUsd, actor.costUnknown] : null,
    lost: stone.lost,
    reason: stone.reason,
    output: stone.output,
  };
  return { shard: actor.shard, kind: "actor", key: actor.address, head: JSON.stringify(head), body: JSON.stringify({ story: actor.story }) };
}

export function partRow(actor: Actor, collection: string, entry: string, value: Json | null, at: number): LogRow {
  const head: PartHead = { address: actor.address, birth: actor.birth, collection, entry, gone: value === null, at };
  return { shard: actor.shard, kind: "part", key: `${actor.address} ${collection} ${entry}`, head: JSON.stringify(head), body: value === null ? null : JSON.stringify(value) };
}

export function committedView(actor: Actor, state: string, status: ActorStatus): CommittedView {
  const described = actor.snapshot ? actor.chart.definition.describe?.(actor.snapshot.context as Record<string, unknown>, state) : undefined;
  let nextTimer: CommittedView["nextTimer"] = null;
  for (const timer of actor.timers?.values() ?? []) if (!nextTimer || timer.due < nextTimer.at) nextTimer = { id: timer.id, at: timer.due };
  return {
    state,
    status,
    since: actor.stateSince,
    detail: described?.detail ?? {},
    waitingFor: described?.waitingFor ?? null,
    pending: actor.pending ? [...actor.pending.values()].filter((each) => !each.settled).map(({ name, driver, since, attempt }) => ({ name, driver, since, attempt })) : [],
    mailbox: actor.mail.length,
    restarts: actor.restarts,
    parkedReason: actor.parked,
    costUsd: actor.costUnknown ? null : actor.costUsd,
    booked: actor.booked,
    nextTimer,
  };
}
