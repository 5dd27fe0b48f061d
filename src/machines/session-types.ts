/** What a session keeps and hears. Collections are `Parts`: one stored row per entry. */
import type { Address, Token } from "../protocol/ids.ts";
import type { ErrorBody, Origin, Outcome } from "../protocol/history.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Delivered, DownEvent, ResumedEvent, StoppedEvent } from "../protocol/kernel-events.ts";
import type { Parts } from "../protocol/parts.ts";
import type { PayloadRef } from "../protocol/payload.ts";

/** A waiting message. `n` is its place in the order of arrival. */
export type QueueItem = {
  n: number;
  at: number;
  origin: Origin & JsonObject;
  text: Ref;
  attachments: Json[];
  /** Runs that turn's message again, without a second user row. */
  retryOf: string | null;
};
/** On its way into the running turn. */
/** `withdraw`: the door that wants it back; the turn decides whether the model has it already. */
export type SteerItem = QueueItem & { into: string; withdraw: string | null };
/** Running or over. */
export type TurnItem = {
  n: number;
  at: number;
  state: "running" | "ended" | "applied";
  outcome: Outcome | null;
  outcomeReason: string | null;
  error: (ErrorBody & JsonObject) | null;
  appliedTo: string | null;
  retryable: boolean;
  origin: Origin & JsonObject;
  preview: string;
};
export type LastEnd = { outcome: Outcome; outcomeReason: string | null; error: (ErrorBody & JsonObject) | null; rounds: number };
export type KeyEntry = { digest: string; answer: JsonObject };
/** A payload reference as plain JSON. */
export type Ref = PayloadRef & JsonObject;

export interface SessionContext {
  agent: string;
  session: string;
  address: Address;
  cwd: string | null;
  createdAt: number;
  lastAt: number;
  title: string | null;
  /** The session's own model; null: the agent's. */
  model: string | null;
  held: boolean;
  order: number;
  running: string | null;
  /** How the last turn ended. Absent in rows of sessions whose last turn is from before it was kept. */
  lastEnd?: LastEnd | null;
  /** Calls run for a door, by their place below the session. */
  doorCalls: Parts<{ token: string }>;
  queue: Parts<QueueItem>;
  steers: Parts<SteerItem>;
  turns: Parts<TurnItem>;
  keys: Parts<KeyEntry>;
}

export type SendEvent = Delivered & {
  type: "send";
  token: Token;
  origin: Origin & JsonObject;
  attachments: Json[];
  steer: boolean;
  clientKey: string | null;
  /** Hash of text, attachments and steer: the same key with another digest is refused. */
  digest: string;
  cwd: string | null;
  retryOf: string | null;
};
export type TakeBackEvent = Delivered & { type: "queue.takeBack"; token: Token; turnId: string };
export type SteerQueuedEvent = Delivered & { type: "queue.steer"; token: Token; turnId: string };
export type HoldEvent = Delivered & { type: "queue.hold"; token: Token; held: boolean };
export type PatchEvent = Delivered & { type: "session.patch"; token: Token; title?: string | null; model?: string | null };
export type DoorCallEvent = Delivered & {
  type: "tool.call";
  token: Token;
  tool: string;
  about: string;
  request: JsonObject;
  repeatable: boolean;
  limitMs: number;
};
export type SteerAppliedEvent = Delivered & { type: "steer.applied"; steerId: string; turnId: string };
export type SteerWithdrawnEvent = Delivered & { type: "steer.withdrawn"; steerId: string };
export type SteerAgainEvent = Delivered & { type: "steer.again"; turnId: string };

export type SessionEvent =
  | SendEvent
  | TakeBackEvent
  | SteerQueuedEvent
  | HoldEvent
  | PatchEvent
  | DoorCallEvent
  | SteerAppliedEvent
  | SteerWithdrawnEvent
  | SteerAgainEvent
  | DownEvent
  | ResumedEvent
  | StoppedEvent;
