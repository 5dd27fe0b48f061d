/**
 * What a chart may ask for. Inner effects act in the round, in the chart's order, and are part of the same commit; outer
 * ones are held until that commit is on disk (design §3.1).
 */
import type { Address, Token } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { PayloadRef } from "./payload.ts";

export interface MessageEvent {
  type: string;
  [field: string]: unknown;
}

export type RestartKind = "permanent" | "transient" | "temporary";
/** What happens past `intensity` restarts within `period`. `climb`, for `fresh` children: their supervisor crashes with them. */
export type PastBudget = "park" | "fail" | "climb";
/** Who starts anew with a child: it alone; all; it and those started after it. */
export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";
export type AutoShutdown = "never" | "any_significant" | "all_significant";

export interface ChildSpec {
  restart: RestartKind;
  /** Milliseconds a stopped child may take; `brutal`: none; `infinity`: as long as it takes. */
  shutdown: number | "brutal" | "infinity";
  /** `keep`: restarted in place with everything it had. `fresh`: initial state, new birth. */
  identity: "keep" | "fresh";
  past: PastBudget;
  /** At most this many restarts within `periodMs`; one more is "past". */
  intensity: number;
  periodMs: number;
  /** A line of work: a node of the wait graph. */
  line?: boolean;
  /** What moves as one to another owner (design §17). Inherited from the parent when absent. */
  shard?: string;
  /** Waits before each restart: `first`, twice as long with every crash within the period, at most `most`. */
  backoffMs?: { first: number; most: number };
  /** When it ends by itself its supervisor may end with it (`autoShutdown` of the supervisor). Never of a `permanent` one. */
  significant?: boolean;
  /** As a supervisor: who starts anew with a child. Default `one_for_one`. */
  strategy?: Strategy;
  /** As a supervisor: whether it ends with its significant children. Default `never`. */
  autoShutdown?: AutoShutdown;
  /** As a supervisor: one child more is not started (`down {gone}`). */
  maxChildren?: number;
  /** As a supervisor: all children of its first step come to their first state, or it fails as a whole. */
  wholeStart?: boolean;
}

export type StopCause = "user" | "agent" | "timeout" | "budget" | "shutdown" | "crash";
/** Why an actor was stopped: the first cause at every depth, and the scope it came from. */
export interface StopReason {
  by: StopCause;
  scope: Address;
  note?: string;
}

/** How an actor ended. `normal`: its chart came to a final state. */
export type DownReason =
  | { kind: "normal" }
  | { kind: "stopped"; stop: StopReason }
  | { kind: "crash"; error: CrashReport }
  | { kind: "gone" };

/** No stack: state must not depend on file layout (K10). */
export interface CrashReport {
  code: string;
  message: string;
  event?: string;
}

export interface SendEffect {
  to: Address;
  event: MessageEvent;
}
export interface SpawnEffect {
  /** Last segment(s) of the address below `under` (default: the actor itself). May hold a fixed middle: `turns/turn_1`. */
  name: string;
  under?: Address;
  chart: string;
  input: JsonObject;
  /** A name in `tree.ts`. */
  spec: string;
  /** Watch it in the same step (one `down` comes, K7). */
  watch?: boolean;
}
/** `remove`: a permanent actor goes for good instead of being suspended. */
export interface StopEffect {
  address: Address;
  reason: Omit<StopReason, "scope">;
  remove?: boolean;
}
export interface WatchEffect {
  address: Address;
}
export interface TimerSetEffect {
  id: string;
  event: MessageEvent;
  /** Wall clock, epoch milliseconds; or `after` milliseconds from now. Exactly one of the two. */
  at?: number;
  after?: number;
  /** At a restart, when its time has passed: `fire` (default), start its full time anew, or drop it. */
  overdue?: "fire" | "restart" | "drop";
}
export interface TimerCancelEffect {
  id: string;
}
/**
 * A question to another actor. It hears `event` with a token, and answers with `reply` or `refuse`; exactly one of `answered`,
 * `refused`, `unanswered` comes back, carrying `name` (K15).
 */
export interface AskEffect {
  /** Unique among the actor's waits. */
  name: string;
  to: Address;
  event: MessageEvent;
  /** Whose end is waited for, when it is not `to`; null when nobody blocks on the answer: then there is no edge. */
  on?: Address | null;
  /** Few words for people: what is waited for. */
  why: string;
}
/** Blocks on the end of another actor's work without a message. It ends with `unwait`, or with `unanswered` when that actor goes. */
export interface WaitEffect {
  name: string;
  on: Address;
  why: string;
}
/** Ends a wait or takes a question back; nothing comes of it any more, and the one asked hears `withdrawn`. */
export interface UnwaitEffect {
  name: string;
}
export interface ReplyEffect {
  token: Token;
  value: Json;
}
export interface RefuseEffect {
  token: Token;
  code: string;
  message: string;
  hint?: string;
  details?: JsonObject;
}
/** A row with the commit. `session` names whose history it joins; the kernel gives the number. */
export interface RecordEffect {
  kind: string;
  session: Address;
  turnId: string | null;
  /** References in `data` are resolved by readers: a field whose value is `{payload: PayloadRef}`. */
  data: { [field: string]: Json | { payload: PayloadRef } };
}
export interface PerformEffect {
  /** Unique among the actor's pending effects; every event of it carries it (`<name>.done`, …). */
  name: string;
  driver: string;
  request: JsonObject;
  /** True when running it twice harms nothing; then an unknown outcome is simply performed again. */
  repeatable?: boolean;
  /** Passes a fence: it only takes something back. */
  cleanup?: boolean;
}
/** Data into work that runs: a steering message, an answer. Lost when the work has ended. */
export interface TellEffect {
  name: string;
  data: JsonObject;
}
export interface AbortEffect {
  name: string;
  reason?: string;
}
/** A fact for watchers, told after the commit. */
export interface PublishEffect {
  topic: string;
  type: string;
  data: JsonObject;
}

export type Effect =
  | { type: "send"; params: SendEffect }
  | { type: "spawn"; params: SpawnEffect }
  | { type: "stop"; params: StopEffect }
  | { type: "watch"; params: WatchEffect }
  | { type: "unwatch"; params: WatchEffect }
  | { type: "timer.set"; params: TimerSetEffect }
  | { type: "timer.cancel"; params: TimerCancelEffect }
  | { type: "ask"; params: AskEffect }
  | { type: "wait"; params: WaitEffect }
  | { type: "unwait"; params: UnwaitEffect }
  | { type: "reply"; params: ReplyEffect }
  | { type: "refuse"; params: RefuseEffect }
  | { type: "record"; params: RecordEffect }
  | { type: "perform"; params: PerformEffect }
  | { type: "tell"; params: TellEffect }
  | { type: "abort"; params: AbortEffect }
  | { type: "publish"; params: PublishEffect };

export type EffectType = Effect["type"];

/** `setup({ actions: effects })`: the named actions a chart may use. They do nothing themselves; the kernel collects their params. */
export const effects = {
  send: (_: unknown, _params: SendEffect): void => {},
  spawn: (_: unknown, _params: SpawnEffect): void => {},
  stop: (_: unknown, _params: StopEffect): void => {},
  watch: (_: unknown, _params: WatchEffect): void => {},
  unwatch: (_: unknown, _params: WatchEffect): void => {},
  "timer.set": (_: unknown, _params: TimerSetEffect): void => {},
  "timer.cancel": (_: unknown, _params: TimerCancelEffect): void => {},
  ask: (_: unknown, _params: AskEffect): void => {},
  wait: (_: unknown, _params: WaitEffect): void => {},
  unwait: (_: unknown, _params: UnwaitEffect): void => {},
  reply: (_: unknown, _params: ReplyEffect): void => {},
  refuse: (_: unknown, _params: RefuseEffect): void => {},
  record: (_: unknown, _params: RecordEffect): void => {},
  perform: (_: unknown, _params: PerformEffect): void => {},
  tell: (_: unknown, _params: TellEffect): void => {},
  abort: (_: unknown, _params: AbortEffect): void => {},
  publish: (_: unknown, _params: PublishEffect): void => {},
};

export const EFFECT_TYPES: ReadonlySet<string> = new Set(Object.keys(effects));
