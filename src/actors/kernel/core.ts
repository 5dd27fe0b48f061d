/**
 * The state of a running kernel and the few moves everything else is made of: find an actor, mark it changed, put mail into a
 * mailbox, add to the open batch. No decisions here.
 *
 * Files of the kernel, each calling only those before it:
 *   chart · core · waits (questions, the wait graph) · timers · performs (outer work) · ending (stop, fence, down) ·
 *   restarts (budgets, back-off, park) · supervising (crash, strategies, significant children, escalation) ·
 *   applying (effects of a step) ·
 *   rounds (one event, one round) · commits (batches) · restoring · kernel (the door).
 *
 * Invariants are cited by their number in design §3.3 (K1 to K15).
 */
import type { AnyMachineSnapshot } from "xstate";
import type { ChildSpec, DownReason, MessageEvent, PublishEffect, StopReason } from "../../protocol/effects.ts";
import type { Address, Birth, EffectKey, EventId, Token } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PayloadInput, PayloadRef } from "../../protocol/payload.ts";
import { previewOf } from "../../protocol/payload.ts";
import type { Calendar, Clock, Scheduler } from "../../ports/clock.port.ts";
import type { Booking, Driver, Fact, Outcome } from "../../ports/driver.port.ts";
import type { Journal, LogRow } from "../../ports/journal.port.ts";
import type { SomoraError } from "../../protocol/errors.ts";
import type { Chart } from "./chart.ts";

export type MailClass = "start" | "message" | "fact" | "outcome" | "down" | "answer" | "timer" | "stop" | "resumed" | "stopped";

export interface Mail {
  id: EventId;
  class: MailClass;
  from: Address | "door" | "kernel";
  event: MessageEvent;
  token?: Token;
  payloads?: PayloadRef[];
  /** The event from outside that this one came of in the end; absent when it is one itself. */
  cause?: EventId;
  /** Of an outcome or a fact. */
  key?: EffectKey;
  /** Of a timer: it counts only while this very setting stands. */
  timer?: TimerState;
}

export interface Pending {
  name: string;
  key: EffectKey;
  driver: string;
  request: JsonObject;
  repeatable: boolean;
  cleanup: boolean;
  /** Performs so far, over restarts. */
  attempt: number;
  since: number;
  /** Its outcome is in the mail (K11). */
  settled: boolean;
  /** Taken back by the chart or by a stop. */
  mark: boolean;
}

export interface TimerState {
  id: string;
  event: MessageEvent;
  /** Wall clock. */
  due: number;
  /** Full length, for `overdue: restart`; null for an absolute time. */
  after: number | null;
  overdue: "fire" | "restart" | "drop";
}

/** A question or a wait of an actor; it stands in its row until it ends (K15). */
export interface Wait {
  name: string;
  token: Token;
  kind: "ask" | "wait";
  to: Address;
  /** Whose end it waits for; null when nobody blocks on it. */
  on: Address | null;
  why: string;
  since: number;
}

/** A line of work: a node of the wait graph. `mark` is the search that saw it last. */
export interface Line {
  readonly address: Address;
  out: Set<Edge>;
  /** How many edges end here; with none in and none out it is forgotten. */
  in: number;
  mark: number;
}

/** `from` waits for `to`: for a line, or for one of those who hold what a pool gives out. */
export interface Edge {
  wait: Wait;
  actor: Actor;
  from: Line;
  on: Actor;
  to: Line;
}

export interface Fence {
  reason: StopReason;
  /** The root and what is permanent all the way up to it are suspended and go on afterwards. */
  idle: boolean;
  /** After the fence the actor starts anew with a new birth. */
  rebirth: boolean;
  /** Set by the supervisor itself when its significant children ended: an end of its own making. */
  auto?: boolean;
  /** Actors told to end that are not down yet: at zero it is worth looking whether the fence can be lifted. Not stored. */
  left: number;
}

/** Children of one supervisor that start anew together. Those in it are `grouped` and stand still until all are taken down. */
export interface GroupRestart {
  /** Whose restart it is, and why. */
  of: Address;
  note: string;
  /** Still to be taken down, in start order: the last one is next. */
  waiting: Address[];
  /** Guards against being stepped within its own step. Not stored. */
  stepping: boolean;
}

export interface StoryEntry {
  id: EventId;
  at: number;
  from: string;
  event: MessageEvent;
  effects: string[];
  /** Ids of the events its sends became. */
  sent: EventId[];
  crashed?: { code: string; message: string };
}

/** What watchers see: how the actor stood at its last commit. */
export interface CommittedView {
  state: string;
  status: ActorStatus;
  since: number;
  detail: JsonObject;
  waitingFor: { what: string; since: number } | null;
  waits: readonly Wait[];
  pending: { name: string; driver: string; since: number; attempt: number }[];
  mailbox: number;
  restarts: number;
  parkedReason: string | null;
  costUsd: number | null;
  booked: boolean;
  nextTimer: { id: string; at: number } | null;
}

export type ActorStatus = "live" | "stopping" | "suspended" | "restarting" | "parked" | "down";

export interface Actor {
  readonly address: Address;
  readonly parent: Actor | null;
  birth: Birth;
  /** Its first birth at this address: the order children started in, whatever restarted since. */
  place: Birth;
  readonly chart: Chart;
  readonly specName: string;
  readonly spec: ChildSpec;
  readonly shard: string;
  readonly input: JsonObject;
  snapshot: AnyMachineSnapshot | null;
  children: Map<Address, Actor> | null;
  mail: Mail[];
  pending: Map<string, Pending> | null;
  timers: Map<string, TimerState> | null;
  /** Whom it watches: address → birth. */
  watching: Map<Address, Birth> | null;
  watchers: Set<Actor> | null;
  /** Its questions and waits, by name. */
  waits: Map<string, Wait> | null;
  /** Tokens of the questions and waits that are put to it, or wait for its end. */
  askers: Set<Token> | null;
  /** The line its waits belong to; null: it has none above and none that spawned it, and is a node by itself. */
  line: Address | null;
  /** Its chart is final, or it failed for good: no event is stepped any more. */
  ending: boolean;
  /** Not stepped while a fence above holds; goes on afterwards. */
  suspended: boolean;
  parked: string | null;
  fence: Fence | null;
  stopTold: boolean;
  crash: { code: string; message: string; event?: string } | null;
  /** Wall times of its crashes within the period. */
  crashes: number[];
  restarts: number;
  /** Wall time at which a back-off ends; it stands still until then. */
  restartAt: number | null;
  /** As a supervisor: the restart of several children that is under way. */
  group: GroupRestart | null;
  /** Stands still until the group it is restarted with is taken down. */
  grouped: boolean;
  /** As a supervisor with `wholeStart`: children of its first step have not all come to their first state. */
  starting: boolean;
  /** Of one that ends by itself: children it takes down at last, in start order. Not stored. */
  leaving: Actor[] | null;
  effectCount: number;
  /** The last history number this actor recorded, by session. */
  recorded: { session: Address; seq: number } | null;
  costUsd: number;
  costUnknown: boolean;
  booked: boolean;
  lost: { pid: number; command: string }[];
  story: StoryEntry[];
  inReady: boolean;
  dirty: boolean;
  stateSince: number;
  committed: CommittedView | null;
}

export interface Tombstone {
  address: Address;
  birth: Birth;
  reason: DownReason;
  output: Json;
  lost: { pid: number; command: string }[];
  at: number;
  kind: string;
}

export interface DoorWaiter {
  resolve: (value: Json) => void;
  reject: (error: SomoraError) => void;
}

export interface Outer {
  /** Runs after the commit, in order. */
  release(): void;
}

export type CommittedFact =
  | { kind: "record"; session: Address; seq: number; at: number; row: string; turnId: string | null; data: JsonObject; by: Address }
  | { kind: "publish"; publish: PublishEffect; by: Address };

/** What a commit brought, told to observers in order once it is on disk. */
export interface CommitNews {
  epoch: number;
  commit: number;
  at: number;
  facts: CommittedFact[];
  payloads: Map<string, string>;
  /** Addresses whose committed view changed; gone ones have no actor any more. */
  changed: Set<Address>;
  rows: number;
  /** What was booked to the ledger. */
  booked: Booked[];
}

export interface Booked {
  agent: string | null;
  day: string;
  costUsd: number | null;
}

export interface OpenBatch {
  rows: LogRow[];
  dirty: Set<Actor>;
  buried: LogRow[];
  outer: Outer[];
  facts: CommittedFact[];
  payloads: Map<string, string>;
  gone: Set<Address>;
  steps: number;
  /** A fence was set: the round ends, its batch goes first. */
  fenced: boolean;
  booked: Booked[];
}

export interface RunningWork {
  pending: Pending;
  actor: Actor;
  controller: AbortController;
  tell: ((data: JsonObject) => void)[];
  /** Its driver has spoken; a deadline asks this, not what is committed (K9). */
  spoken: boolean;
  /** What its end cost is booked. */
  booked: boolean;
}

export type InboxItem =
  | { kind: "door"; to: Address; event: MessageEvent; payloads: PayloadInput[]; token: Token }
  | { kind: "fact"; work: RunningWork; fact: Fact; committed: () => void }
  | {
      kind: "outcome";
      key: EffectKey;
      outcome: Outcome;
      status: "done" | "failed" | "aborted" | "interrupted";
      started: boolean;
      attempt: number;
    }
  | { kind: "timer"; actor: Actor; timer: TimerState }
  | { kind: "restart"; actor: Actor; at: number };

/** What `supervising` decides when `ending` comes to it. */
export interface Supervise {
  /** Its chart is final; true when it is restarted instead of going down. */
  restartsAtEnd(actor: Actor): boolean;
  childDown(child: Actor): void;
  /** One of a group restart is taken down, or need not be waited for any more. */
  memberThrough(member: Actor): void;
}

export interface LostEffect {
  key: EffectKey;
  address: Address;
  driver: string;
  name: string;
  since: number;
  processes: { pid: number; command: string }[];
}

export interface Counters {
  steps: number;
  commits: number;
  deadLetters: number;
  notTaken: number;
  staleOutcomes: number;
  refusedBelowFence: number;
  crashes: number;
  blockedEffects: number;
  /** Answers to questions that had ended. */
  lateAnswers: number;
}

export interface Core {
  readonly clock: Clock & Calendar;
  readonly scheduler: Scheduler;
  readonly journal: Journal;
  readonly charts: ReadonlyMap<string, Chart>;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly specs: Readonly<Record<string, ChildSpec>>;
  epoch: number;
  /** Number of the batch that is open now. */
  commitNumber: number;
  ordinal: number;
  actors: Map<Address, Actor>;
  tombstones: Map<Address, Tombstone>;
  ready: Actor[];
  /** Steps of each actor by their outside cause since nobody had mail, against runaways. */
  stepped: Map<Actor, Map<EventId, number>>;
  /** The outside cause of the step that runs. */
  cause: EventId | null;
  inbox: InboxItem[];
  open: OpenBatch;
  doors: Map<Token, DoorWaiter>;
  doorCount: number;
  pendingByKey: Map<EffectKey, Actor>;
  /** Open questions and waits. */
  asks: Map<Token, { actor: Actor; wait: Wait; edge: Edge | null }>;
  lines: Map<Address, Line>;
  searches: number;
  running: Map<EffectKey, RunningWork>;
  lost: Map<EffectKey, LostEffect>;
  historyNumbers: Map<Address, number>;
  /** Wall clock of the round that runs. */
  roundAt: number;
  counters: Counters;
  notTakenTypes: Map<string, number>;
  deadLetterLog: { at: number; to: string; type: string; from: string }[];
  /** Performs wait for `resume("/")` (three bad starts). */
  held: boolean;
  heldReleases: (() => void)[];
  /** True once a newer epoch owns the log, or the kernel was closed. */
  dead: boolean;
  liveListener: (topic: string, type: string, data: JsonObject) => void;
  /** Set by supervising. */
  supervise: Supervise;
  /** Something arrived: compute soon. Set by commits. */
  wake(): void;
  /** Called with every actor that went down, when that is on disk. */
  downWaiters: Map<Address, (() => void)[]>;
}

export function emptyBatch(): OpenBatch {
  return {
    rows: [],
    dirty: new Set(),
    buried: [],
    outer: [],
    facts: [],
    payloads: new Map(),
    gone: new Set(),
    steps: 0,
    fenced: false,
    booked: [],
  };
}

/** `epoch.commit.k`, for events and births alike (K10). */
export function nextId(core: Core): string {
  core.ordinal += 1;
  return `${core.epoch}.${core.commitNumber}.${core.ordinal}`;
}

export function markDirty(core: Core, actor: Actor): void {
  if (actor.dirty) return;
  actor.dirty = true;
  core.open.dirty.add(actor);
}

export function makeReady(core: Core, actor: Actor): void {
  if (actor.inReady || actor.suspended || actor.parked !== null || actor.mail.length === 0) return;
  actor.inReady = true;
  core.ready.push(actor);
}

export function pushMail(core: Core, actor: Actor, mail: Mail): void {
  actor.mail.push(mail);
  markDirty(core, actor);
  makeReady(core, actor);
}

/** Before everything that waits: stop, resumed, stopped. */
export function pushFront(core: Core, actor: Actor, mail: Mail): void {
  actor.mail.unshift(mail);
  markDirty(core, actor);
  makeReady(core, actor);
}

const FRONT: ReadonlySet<MailClass> = new Set(["start", "stop", "resumed", "stopped"]);

/** The next event it hears, after what the kernel itself said before (K15: a refusal comes at once). */
export function pushNext(core: Core, actor: Actor, mail: Mail): void {
  let at = 0;
  while (at < actor.mail.length && (FRONT.has((actor.mail[at] as Mail).class) || actor.mail[at]?.event.type === mail.event.type)) at += 1;
  actor.mail.splice(at, 0, mail);
  markDirty(core, actor);
  makeReady(core, actor);
}

/** The nearest one above that is parked. */
export function parkedAbove(actor: Actor): Actor | null {
  for (let each = actor.parent; each; each = each.parent) if (each.parked !== null) return each;
  return null;
}

/** The nearest fence at or above, or null. */
export function fenceOf(actor: Actor): Fence | null {
  for (let each: Actor | null = actor; each; each = each.parent) if (each.fence) return each.fence;
  return null;
}

/** Stores the texts with the open batch and gives the references that charts keep. */
export function acceptPayloads(core: Core, id: EventId, shard: string, inputs: readonly PayloadInput[]): PayloadRef[] {
  return inputs.map((input, index) => {
    const ref: PayloadRef = { id: `${id}:${index}`, kind: input.kind, size: input.text.length, preview: previewOf(input.text) };
    core.open.rows.push({
      shard,
      kind: "payload",
      key: ref.id,
      head: JSON.stringify({ kind: input.kind, size: ref.size }),
      body: input.text,
    });
    core.open.payloads.set(ref.id, input.text);
    return ref;
  });
}

/** Books what the work cost, on the actor and all above it, whatever becomes of it (P10). */
export function book(core: Core, actor: Actor, key: string, booking: Booking): void {
  const at = core.clock.now();
  const place = actor.address.split("/");
  const agent = place[1] === "agents" ? (place[2] ?? null) : null;
  const day = core.clock.day(at);
  core.open.booked.push({ agent, day, costUsd: booking.costUsd });
  core.open.rows.push({
    shard: actor.shard,
    kind: "ledger",
    key,
    head: JSON.stringify({
      at,
      address: actor.address,
      agent,
      model: booking.model,
      provider: booking.provider,
      day,
      usage: booking.usage,
      costUsd: booking.costUsd,
      ...(booking.note === undefined ? {} : { note: booking.note }),
    }),
    body: null,
  });
  for (let each: Actor | null = actor; each; each = each.parent) {
    each.booked = true;
    if (booking.costUsd === null) each.costUnknown = true;
    else each.costUsd += booking.costUsd;
    markDirty(core, each);
  }
}

export function deadLetter(core: Core, to: string, type: string, from: string): void {
  core.counters.deadLetters += 1;
  core.deadLetterLog.push({ at: core.roundAt, to, type, from });
  if (core.deadLetterLog.length > 200) core.deadLetterLog.shift();
}

/** Answers a door after the commit; `answer` in `waits.ts` knows actors' tokens too. A token of an earlier run of the server is nobody's any more. */
export function answerDoor(core: Core, token: Token, answer: { value: Json } | { error: SomoraError }): void {
  core.open.outer.push({
    release: () => {
      const waiter = core.doors.get(token);
      if (!waiter) return;
      core.doors.delete(token);
      if ("error" in answer) waiter.reject(answer.error);
      else waiter.resolve(answer.value);
    },
  });
}
