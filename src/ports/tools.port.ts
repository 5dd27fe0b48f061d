/** What the runtime asks of the tool room: which tools an agent is offered, and one call run to its end. */
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ToolOutput } from "../protocol/history.ts";
import type { ToolSpec } from "./engine.port.ts";

export interface ToolListing extends ToolSpec {
  toolset: string;
  maxResultSizeChars: number;
}

/** A file a call changed, kept as it was before, under `agents/<agent>/changes/`. */
export interface FileChange {
  id: string;
  path: string;
  kind: "created" | "changed";
  added: number;
  removed: number;
  diff: string;
}

export interface ToolCallRequest {
  tool: string;
  /** As the model sent it, valid JSON, not yet checked. */
  input: Json;
  agent: string;
  session: string;
  turnId: string | null;
  callId: string;
  /** The session's folder: where relative paths start and `exec` works. */
  cwd: string;
  /** `address#birth.n`: job folder and process marker (`SOMORA_EFFECT`) carry it before the act. */
  effectKey: string;
}

export interface ToolCallContext {
  signal: AbortSignal;
  /** A short line for watchers (last output line, bytes done). May be called often; it is sampled. */
  progress(text: string): void;
}

export interface ToolCallResult {
  /** Already capped to the tool's limit; a shortened one says so and where the whole is (P11). */
  output: ToolOutput;
  /** A few words for the card's bar: `exit 0`, `1,204 lines`, or the error's words. */
  summary: string;
  /** Ms of the work itself. */
  ms: number;
  filesWritten: string[];
  changes: FileChange[];
  /** How many processes a stop ended, and those that would not die. */
  endedProcesses?: number;
  lost?: { pid: number; command: string }[];
  /** True when the signal ended it. */
  aborted?: boolean;
}

export type ToolRecovery = { kind: "done"; result: ToolCallResult } | { kind: "not-started" } | { kind: "unknown"; known: JsonObject };

export interface ToolRoom {
  /** All registered, whatever their gating. */
  all(): ToolListing[];
  /** What this agent is offered now: gating and availability asked. */
  offered(agent: string): ToolListing[];
  /** May an unknown outcome simply be run again? False for unknown names. */
  isRepeatable(tool: string): boolean;
  /** The call's time limit in ms, for the card. */
  limitOf(tool: string, input: Json): number;
  /** Never rejects: what goes wrong is a result with `ok: false`. Ends within its grace after an abort. */
  run(request: ToolCallRequest, context: ToolCallContext): Promise<ToolCallResult>;
  /** After a restart: what the effect's folder tells. Ends what is left of it. */
  recover(request: ToolCallRequest): Promise<ToolRecovery>;
  /** Puts a changed file back; refuses with FILE_CHANGED when it changed since. Throws SomoraError. */
  undo(agent: string, changeId: string): Promise<{ path: string }>;
}
