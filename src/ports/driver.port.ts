/**
 * A driver does the outer work of one kind (design §3.5). It gets one request and a signal, reports what happened as events,
 * and says what a restart means for it. It knows no chart and no other actor.
 */
import type { Address, EffectKey } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { PayloadInput } from "../protocol/payload.ts";
import type { Usage } from "../protocol/usage.ts";

/** Booked by the kernel as it arrives, whatever becomes of the actor (P10). */
export interface Booking {
  usage: Usage;
  /** Null: not known. */
  costUsd: number | null;
  model: string;
  provider: string;
  note?: string;
}

export interface Outcome {
  /** `failed` is an expected failure, told to the chart as `<name>.failed`. A rejected promise counts as `failed` with code INTERNAL. */
  status: "done" | "failed" | "aborted";
  value?: Json;
  error?: { code: string; message: string; hint?: string; details?: Json };
  payloads?: PayloadInput[];
  booking?: Booking;
  /** Processes that would not die; the effect moves to /lost. */
  lost?: { pid: number; command: string }[];
}

export interface Fact {
  /** The chart gets it as an event of this type, with `name` of the perform. */
  type: string;
  data?: JsonObject;
  payloads?: PayloadInput[];
  booking?: Booking;
}

export interface DriverContext {
  readonly key: EffectKey;
  readonly address: Address;
  /** From 1; counts performs of this effect over restarts. */
  readonly attempt: number;
  /** Aborted when the effect is taken back or fenced. Ask it right before an act that cannot be taken back. */
  readonly signal: AbortSignal;
  /** Journaled and ordered; resolves when it is on disk. Back-pressure: await it. */
  fact(fact: Fact): Promise<void>;
  /** To live watchers only; may be dropped, never waits, never throws. */
  live(topic: string, type: string, data: JsonObject): void;
  /** Data told by the chart (`tell`) while it runs. */
  onTell(listener: (data: JsonObject) => void): void;
}

/** What a restart finds of a pending effect. `unknown` carries what is known. */
export type Recovery =
  | { kind: "done"; outcome: Outcome }
  | { kind: "running"; outcome: Promise<Outcome> }
  | { kind: "not-started" }
  | { kind: "unknown"; value?: Json; payloads?: PayloadInput[] };

export interface Driver {
  readonly name: string;
  /** The promise's end is the outcome, exactly once, also after an abort. */
  perform(request: JsonObject, context: DriverContext): Promise<Outcome>;
  /** Asked once after a restart for an effect without outcome; `taken back`: it may only answer `done` or end it (and answer `unknown`). */
  recover?(request: JsonObject, context: DriverContext & { takenBack: boolean }): Promise<Recovery>;
}
