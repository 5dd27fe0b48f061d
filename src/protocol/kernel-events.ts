/** Events the kernel itself gives to a chart. Every event carries `id`; what else they carry stands here. */
import type { Address, Birth, EventId, Token } from "./ids.ts";
import type { Json } from "./json.ts";
import type { PayloadRef } from "./payload.ts";
import type { DownReason, StopReason } from "./effects.ts";
import type { Refusal, UnansweredReason } from "./waits.ts";

/** What every event has. `at` is wall clock milliseconds of the round that delivered it: charts read no clock. */
export interface Delivered {
  id: EventId;
  at: number;
  from: Address | "door" | "kernel";
  /** Set when somebody waits for an answer: `reply` or `refuse` with it, exactly once. */
  token?: Token;
  payloads?: PayloadRef[];
}

/** The end of a watched actor; exactly one per watch (K7). `reason` goes before `output`. */
export interface DownEvent extends Delivered {
  type: "down";
  address: Address;
  birth: Birth;
  reason: DownReason;
  output: Json;
  /** Processes below it that could not be ended. */
  lost: { pid: number; command: string }[];
}
/**
 * A `keep` actor after a crash (its own, or of one whose supervisor restarts them together), or after a server start where
 * something of it was interrupted: look again at what you depend on.
 */
export interface ResumedEvent extends Delivered {
  type: "resumed";
  cause: "crash" | "restart" | "unparked" | "sibling";
  dropped?: { type: string; id: string; name?: string; from: string; token?: Token; stop?: StopReason };
  /** Names of its performs whose outcome is still to be handled, and ids of its timers: what is not among them never comes. */
  pending: string[];
  timers: string[];
  /** Names of its waits that still stand. */
  waits: string[];
}
/** How an `ask` or `wait` called `name` ends: exactly one of the three, unless the waiter itself takes it back (K15). */
export interface AnsweredEvent extends Delivered {
  type: "answered";
  name: string;
  value: Json;
}
/** Nothing was sent, or the one asked said no. Comes before everything else that waits in the mailbox. */
export interface RefusedEvent extends Delivered {
  type: "refused";
  name: string;
  refusal: Refusal;
}
export interface UnansweredEvent extends Delivered {
  type: "unanswered";
  name: string;
  reason: UnansweredReason;
}
/** The one who asked with this token went, was stopped, or does not want to know any more: an answer would be dropped. */
export interface WithdrawnEvent extends Delivered {
  type: "withdrawn";
  of: Token;
}
/** Said once after a stop of a suspended actor's scope is through (design §9). */
export interface StoppedEvent extends Delivered {
  type: "stopped";
  stop: StopReason;
}
/** `stop` itself: an actor may note it; it needs no state for it. */
export interface StopEvent extends Delivered {
  type: "stop";
  stop: StopReason;
}
/**
 * The outcome of a perform called `name` comes as an event of type `<name>.<status>`: `done` with `value`; `failed` with
 * `error`; `aborted` (taken back; `started` false when it never ran; `value` may hold what there was); `interrupted`
 * (a restart found it unknown; `value` holds what is known).
 */
export interface OutcomeFields extends Delivered {
  name: string;
  value: Json;
  error?: { code: string; message: string; hint?: string; details?: Json };
  started?: boolean;
  attempt: number;
}

export type OutcomeStatus = "done" | "failed" | "aborted" | "interrupted";
