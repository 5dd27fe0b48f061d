/** The bodies of the Chat Completions shape: chunks of a stream, the whole answer, errors, usage. */
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { RoundPlan } from "./player.ts";

export interface Head {
  id: string;
  created: number;
  model: string;
}

export function chunk(head: Head, delta: JsonObject, finish: string | null = null): JsonObject {
  return { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] };
}

export function usageChunk(head: Head, usage: NonNullable<RoundPlan["usage"]>): JsonObject {
  return { ...head, object: "chat.completion.chunk", choices: [], usage: usageBody(usage) };
}

export function whole(head: Head, message: JsonObject, finish: string, usage: RoundPlan["usage"]): JsonObject {
  return {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    ...(usage ? { usage: usageBody(usage) } : {}),
  };
}

export function toolCall(id: string, name: string, text: string): JsonObject {
  return { id, type: "function", function: { name, arguments: text } };
}

export function errorBody(message: string, code: string | number, type = "rehearsal_error"): Json {
  return { error: { message, type, code } };
}

export const FINISH = { stop: "stop", tools: "tool_calls", length: "length" } as const;

/** In this shape the prompt count includes what came from the cache. */
function usageBody(usage: NonNullable<RoundPlan["usage"]>): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}) },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}
