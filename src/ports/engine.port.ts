/**
 * One model request (design §11). The turn chart owns rounds, tools, limits and retries; an engine makes exactly one request
 * per `round`, streams what comes, and answers with what it was. All engines pass `test/suites/engine`.
 */
import type { Json } from "../protocol/json.ts";
import type { ModelInfo } from "../protocol/model.ts";
import type { Usage } from "../protocol/usage.ts";

export interface ToolSpec {
  name: string;
  description: string;
  inputSchema: Json;
}

/** The conversation as a model gets it, already repaired (P8): each call has exactly one result right behind it. */
export type ChatMessage =
  | { role: "system"; text: string }
  | { role: "user"; text: string }
  | { role: "assistant"; text: string; calls: { id: string; name: string; arguments: string }[] }
  | { role: "tool"; callId: string; name: string; text: string };

export interface RoundRequest {
  /** Effect key: sent as the idempotency key where a provider takes one. */
  key: string;
  model: ModelInfo;
  messages: ChatMessage[];
  tools: ToolSpec[];
  /** `none` on the forced finish. */
  toolChoice: "auto" | "none";
  agent: string;
  session: string;
  thinking: "off" | "low" | "medium" | "high" | null;
  /** Nothing received for this long ends the request with PROVIDER_SILENT. */
  idleMs: number;
}

export type EngineEvent =
  | { type: "text.start" | "thinking.start"; blockId: string }
  | { type: "text.delta" | "thinking.delta"; blockId: string; text: string }
  | { type: "text.end" | "thinking.end"; blockId: string }
  | { type: "notice"; kind: string; text: string };

export interface EngineContext {
  signal: AbortSignal;
  /** In order; never throws. Block ids are unique within the round: `t1`, `r1`, … */
  emit(event: EngineEvent): void;
}

export interface RoundCall {
  /** The model's own id: data only; it may repeat, be empty or hold anything. */
  id: string;
  name: string;
  /** Always valid JSON; `{}` when the text was broken or empty. */
  input: Json;
  /** Why it must not run: `cut` ends inside a value, `malformed` is complete but not JSON. `raw` is the text as it came. */
  broken?: { kind: "cut" | "malformed"; error: string; raw: string };
}

export interface RoundResult {
  /** In the order they began. */
  blocks: { kind: "text" | "thinking"; blockId: string; text: string }[];
  calls: RoundCall[];
  /** `cut`: the stream ended without a finish reason and without an end mark; then no call runs. */
  finish: "stop" | "tools" | "length" | "cut";
  /** Absent when the provider told nothing. */
  usage?: Usage;
  /** The model that answered, in the provider's words. */
  model: string;
}

/** Rejects with EngineError, also on abort (code `ABORTED`). What streamed before is in `partial`. */
export interface Engine {
  readonly kind: string;
  round(request: RoundRequest, context: EngineContext): Promise<RoundResult>;
}

export class EngineError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  /** Another try may help (429, 5xx, reset). */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly partial: RoundResult | undefined;

  constructor(
    code: string,
    message: string,
    more: { hint?: string; retryable?: boolean; retryAfterMs?: number; partial?: RoundResult; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "EngineError";
    this.code = code;
    this.hint = more.hint;
    this.retryable = more.retryable ?? false;
    this.retryAfterMs = more.retryAfterMs;
    this.partial = more.partial;
  }
}
