/** What a turn keeps, hears and leaves. */
import type { Address } from "../protocol/ids.ts";
import type { ErrorBody, Origin, Outcome } from "../protocol/history.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Delivered, DownEvent, OutcomeFields, ResumedEvent, StopEvent } from "../protocol/kernel-events.ts";
import type { Parts } from "../protocol/parts.ts";
import type { Usage } from "../protocol/usage.ts";
import type { Ref } from "./session-types.ts";

/** What `preparing` found out: facts for the whole turn. */
export interface Prepared {
  provider: string;
  model: string;
  /** `provider/id` */
  ref: string;
  rehearsal: boolean;
  parallel: boolean;
  maxRounds: number;
  maxCalls: number;
  cwd: string;
  /** `server.resumeAfterRestart: all` */
  resume: boolean;
}

/** One call the model asked for, as the engine driver hands it on. */
export interface AskedCall {
  /** The model's own id: data. */
  id: string;
  tool: string;
  /** Few words: path, command. */
  about: string;
  /** Which payload of the outcome holds the input as JSON. */
  payload: number;
  preview: Json;
  broken: { kind: "cut" | "malformed"; error: string } | null;
  repeatable: boolean;
  limitMs: number;
}

/** Value of `engine.done`, and of `engine.failed` and `engine.aborted` as far as anything came. */
export interface RoundValue {
  blocks: { kind: "text" | "thinking"; blockId: string; payload: number; size: number }[];
  calls: AskedCall[];
  finish: "stop" | "tools" | "length" | "cut";
  usage: Usage | null;
  costUsd: number | null;
  model: string;
  notices: { kind: string; text: string }[];
}

/** Streaming text as last stored: newest wins, one entry per block. */
export type StreamedBlock = { kind: "text" | "thinking"; ref: Ref; round: number; attempt: number };
/** A call of the round that runs. */
export type OpenCall = {
  index: number;
  callId: string;
  tool: string;
  about: string;
  input: Ref | null;
  broken: { kind: "cut" | "malformed"; error: string } | null;
  repeatable: boolean;
  limitMs: number;
  state: "waiting" | "running" | "done";
  startedAt: number;
};
export type PendingSteer = { n: number; text: Ref };

export interface TurnContext {
  agent: string;
  session: string;
  sessionAddress: Address;
  address: Address;
  turnId: string;
  origin: Origin & JsonObject;
  cwd: string | null;
  modelWanted: string | null;
  prepared: Prepared | null;
  startedAt: number;
  attempt: number;
  round: number;
  /** Silent repeats of this round for malformed arguments, and retries after 429 or 5xx. */
  repeats: number;
  retries: number;
  waitMs: number;
  callsUsed: number;
  /** Why the end is forced: the next round gets no tools. */
  forced: "round_cap" | "tool_budget" | null;
  warned: boolean;
  /** Counts engine requests, for block ids that never repeat. */
  requests: number;
  usage: Usage;
  costUsd: number;
  costUnknown: boolean;
  filesWritten: string[];
  processes: number;
  applied: string[];
  /** Wall time since a stop is under way, or null: nothing new is begun, what comes in is written down. */
  stoppingSince: number | null;
  verdict: { outcome: Outcome; outcomeReason: string | null; error: (ErrorBody & JsonObject) | null; retryable: boolean } | null;
  steers: Parts<PendingSteer>;
  blocks: Parts<StreamedBlock>;
  calls: Parts<OpenCall>;
}

/** What a turn's `down` carries, also when it was stopped before its end. */
export interface TurnEnd {
  outcome: Outcome | null;
  outcomeReason: string | null;
  error: ErrorBody | null;
  retryable: boolean;
  usage: Usage;
  costUsd: number | null;
  toolCalls: number;
  rounds: number;
  provider: string;
  model: string;
  filesWritten: string[];
  processes: number;
  stoppingSince: number | null;
  applied: string[];
}

export type EngineEvent = OutcomeFields & {
  type: "engine.done" | "engine.failed" | "engine.aborted" | "engine.interrupted";
  value: RoundValue | null;
};
export type TurnEvent =
  | EngineEvent
  | (OutcomeFields & { type: "prepare.done" | "prepare.failed" | "prepare.aborted" | "prepare.interrupted" })
  | (Delivered & { type: "text.stored"; name: string; blockId: string; kind: "text" | "thinking" })
  | (Delivered & { type: "steer"; steerId: string; n: number; text: Ref })
  | (Delivered & { type: "steer.withdraw"; steerId: string })
  | DownEvent
  | ResumedEvent
  | StopEvent;
