/** What the engine tests build with: a clock, a model, a request, and a round that is run and written down. */
import type { Clock } from "../../../src/ports/clock.port.ts";
import {
  EngineError,
  type ChatMessage,
  type Engine,
  type EngineEvent,
  type RoundRequest,
  type RoundResult,
} from "../../../src/ports/engine.port.ts";
import type { ModelInfo } from "../../../src/protocol/model.ts";

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export function modelOf(id: string, more: Partial<ModelInfo> = {}): ModelInfo {
  return {
    ref: `bench/${id}`,
    alias: null,
    provider: "bench",
    id,
    engine: "openai-compatible",
    rehearsal: false,
    contextWindow: 8192,
    maxTokens: 512,
    capabilities: ["text"],
    parallelToolCalls: true,
    price: null,
    baseUrl: null,
    ...more,
  };
}

export const TOOL = { name: "time_now", description: "The time.", inputSchema: { type: "object", properties: {} } };

let keys = 0;
export function requestOf(model: ModelInfo, messages: ChatMessage[] | string, more: Partial<RoundRequest> = {}): RoundRequest {
  keys += 1;
  return {
    key: `/agents/a/sessions/main/turns/t#1.1.1.${keys}`,
    model,
    messages: typeof messages === "string" ? [{ role: "user", text: messages }] : messages,
    tools: [TOOL],
    toolChoice: "auto",
    agent: "a",
    session: "main",
    thinking: null,
    idleMs: 10_000,
    ...more,
  };
}

export interface Ran {
  events: EngineEvent[];
  result?: RoundResult;
  error?: EngineError;
  /** How long after the signal's abort the round ended; absent when it was not aborted. */
  endedAfterAbortMs?: number;
}

/** Runs one round to its end. `onEvent` may abort. An error that is no EngineError is thrown on. */
export async function run(
  engine: Engine,
  request: RoundRequest,
  onEvent: (event: EngineEvent, stop: () => void) => void = () => undefined,
): Promise<Ran> {
  const controller = new AbortController();
  const events: EngineEvent[] = [];
  let abortedAt: number | null = null;
  const stop = (): void => {
    abortedAt ??= performance.now();
    controller.abort();
  };
  const ran: Ran = { events };
  try {
    ran.result = await engine.round(request, {
      signal: controller.signal,
      emit(event) {
        events.push(event);
        onEvent(event, stop);
      },
    });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    ran.error = error;
  }
  if (abortedAt !== null) ran.endedAfterAbortMs = performance.now() - abortedAt;
  return ran;
}

/** The text of all blocks of a kind. */
export function textOf(result: RoundResult | undefined, kind: "text" | "thinking" = "text"): string {
  return (result?.blocks ?? [])
    .filter((block) => block.kind === kind)
    .map((block) => block.text)
    .join("");
}

/** What watchers saw, put together from deltas. */
export function streamed(events: EngineEvent[], kind: "text" | "thinking" = "text"): string {
  return events.map((event) => (event.type === `${kind}.delta` && "text" in event ? event.text : "")).join("");
}
