/**
 * Rows of the log for an actor, and back. One row per actor that changed, with a head (small, read at every start) and a body;
 * one row per part entry that changed. The newest of each, of its birth, is all of the actor (K5).
 */
import type { DownReason } from "../../protocol/effects.ts";
import type { Address, Birth } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { LogRow } from "../../ports/journal.port.ts";
import { type StoredSnapshot, stateName } from "./chart.ts";
import type {
  Actor,
  ActorStatus,
  CommittedView,
  Fence,
  GroupRestart,
  Mail,
  Pending,
  StoryEntry,
  TimerState,
  Tombstone,
  Wait,
} from "./core.ts";

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
  waits: Wait[];
  /** Of one that has no line above it: the line of its spawner. */
  line: Address | null;
  timers: TimerState[];
  crashes: number[];
  restarts: number;
  place: Birth | null;
  restartAt: number | null;
  group: Omit<GroupRestart, "stepping"> | null;
  grouped: boolean;
  starting: boolean;
  n: number;
  recorded: { session: Address; seq: number } | null;
  cost: [usd: number, unknown: boolean] | null;
  lost: { pid: number; command: string }[];
  /** Only in a tombstone. */
  reason?: DownReason;
  output?: Json;
}

type Resting =
  | "parent"
  | "fence"
  | "parked"
  | "ending"
  | "crash"
  | "watches"
  | "waits"
  | "line"
  | "timers"
  | "crashes"
  | "restarts"
  | "place"
  | "restartAt"
  | "group"
  | "grouped"
  | "starting"
  | "recorded"
  | "cost"
  | "lost";
/** As stored: what is at rest is absent. */
type SlimHead = Omit<ActorHead, Resting> & Partial<Pick<ActorHead, Resting>>;

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
  if (!actor.stopTold && (actor.restartAt !== null || actor.grouped || actor.fence?.rebirth)) return "restarting";
  if (actor.suspended) return "suspended";
  return stopping || actor.ending ? "stopping" : "live";
}

/** What is at rest is left out: half of a row's bytes. `readHead` puts it back. */
function slimHead(actor: Actor, status: ActorStatus, at: number, state: string): SlimHead {
  const head: SlimHead = {
    address: actor.address,
    birth: actor.birth,
    kind: actor.chart.name,
    spec: actor.specName,
    status,
    at,
    since: actor.stateSince,
    state,
    n: actor.effectCount,
  };
  if (actor.parent) head.parent = actor.parent.address;
  if (actor.restarts > 0) head.restarts = actor.restarts;
  if (actor.recorded) head.recorded = actor.recorded;
  if (actor.booked) head.cost = [actor.costUsd, actor.costUnknown];
  if (actor.crash) head.crash = actor.crash;
  if (status === "down") {
    head.ending = true;
    return head;
  }
  if (actor.fence) head.fence = { reason: actor.fence.reason, idle: actor.fence.idle, rebirth: actor.fence.rebirth };
  if (head.fence && actor.fence?.auto) head.fence.auto = true;
  if (actor.place !== actor.birth) head.place = actor.place;
  if (actor.restartAt !== null) head.restartAt = actor.restartAt;
  if (actor.group) head.group = { of: actor.group.of, note: actor.group.note, waiting: [...actor.group.waiting] };
  if (actor.grouped) head.grouped = true;
  if (actor.starting) head.starting = true;
  if (actor.parked !== null) head.parked = actor.parked;
  if (actor.ending) head.ending = true;
  if (actor.watching && actor.watching.size > 0) head.watches = [...actor.watching];
  if (actor.waits && actor.waits.size > 0) head.waits = [...actor.waits.values()];
  if (actor.line !== null && actor.spec.line !== true && actor.parent?.line !== actor.line) head.line = actor.line;
  if (actor.timers && actor.timers.size > 0) head.timers = [...actor.timers.values()];
  if (actor.crashes.length > 0) head.crashes = actor.crashes;
  if (actor.lost.length > 0) head.lost = actor.lost;
  return head;
}

/** Made anew for each: actors go on changing their lists. */
const atRest = (): Pick<ActorHead, Resting> => ({
  parent: null,
  fence: null,
  parked: null,
  ending: false,
  crash: null,
  watches: [],
  waits: [],
  line: null,
  timers: [],
  crashes: [],
  restarts: 0,
  place: null,
  restartAt: null,
  group: null,
  grouped: false,
  starting: false,
  recorded: null,
  cost: null,
  lost: [],
});

/** The head of an actor's row, whole. */
export function readHead(text: string): ActorHead {
  return { ...atRest(), ...(JSON.parse(text) as SlimHead) };
}

export function actorRow(actor: Actor, at: number, stopping: boolean): { row: LogRow; state: string } {
  const state = actor.snapshot ? stateName(actor.snapshot.value) : "starting";
  const head = slimHead(actor, statusOf(actor, stopping), at, state);
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
  const head = slimHead(actor, "down", stone.at, actor.snapshot ? stateName(actor.snapshot.value) : "starting");
  head.reason = stone.reason;
  head.output = stone.output;
  if (stone.lost.length > 0) head.lost = stone.lost;
  return {
    shard: actor.shard,
    kind: "actor",
    key: actor.address,
    head: JSON.stringify(head),
    body: JSON.stringify({ story: actor.story }),
  };
}

export function partRow(actor: Actor, collection: string, entry: string, value: Json | null, at: number): LogRow {
  const head: PartHead = { address: actor.address, birth: actor.birth, collection, entry, gone: value === null, at };
  return {
    shard: actor.shard,
    kind: "part",
    key: `${actor.address} ${collection} ${entry}`,
    head: JSON.stringify(head),
    body: value === null ? null : JSON.stringify(value),
  };
}

const NO_WAITS: readonly Wait[] = [];

/** What watchers are told of its waits: the one that has blocked it longest. */
export function blockedOn(waits: readonly Wait[]): CommittedView["waitingFor"] {
  const blocking = waits.find((wait) => wait.on !== null);
  return blocking ? { what: `${blocking.why} (${blocking.on})`, since: blocking.since } : null;
}

export function openWork(pending: Iterable<Pending>): CommittedView["pending"] {
  return [...pending].filter((each) => !each.settled).map(({ name, driver, since, attempt }) => ({ name, driver, since, attempt }));
}

/** `first`: what is due besides, such as a restart. */
export function nearest(timers: Iterable<TimerState>, first: CommittedView["nextTimer"] = null): CommittedView["nextTimer"] {
  let next = first;
  for (const { id, due } of timers) if (!next || due < next.at) next = { id, at: due };
  return next;
}

export function committedView(actor: Actor, state: string, status: ActorStatus): CommittedView {
  const described = actor.snapshot
    ? actor.chart.definition.describe?.(actor.snapshot.context as Record<string, unknown>, state)
    : undefined;
  const waits = actor.waits ? [...actor.waits.values()] : NO_WAITS;
  return {
    state,
    status,
    since: actor.stateSince,
    detail: described?.detail ?? {},
    waitingFor: described?.waitingFor ?? blockedOn(waits),
    waits,
    pending: actor.pending ? openWork(actor.pending.values()) : [],
    mailbox: actor.mail.length,
    restarts: actor.restarts,
    parkedReason: actor.parked,
    costUsd: actor.costUnknown ? null : actor.costUsd,
    booked: actor.booked,
    nextTimer: nearest(actor.timers?.values() ?? [], actor.restartAt === null ? null : { id: "restart", at: actor.restartAt }),
  };
}
