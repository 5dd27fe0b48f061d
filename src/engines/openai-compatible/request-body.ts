/** The body of a Chat Completions request: what the port's request says, less what this server was found to refuse. */
import type { ChatMessage, RoundRequest } from "../../ports/engine.port.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { wellFormed } from "../shared/well-formed.ts";

/** Keys that some servers refuse; each is left out once refused. `max_tokens` is sent under its newer name then. */
export const OPTIONAL_KEYS = ["stream_options", "parallel_tool_calls", "reasoning_effort", "max_tokens"] as const;
export type OptionalKey = (typeof OPTIONAL_KEYS)[number];

export function requestBody(request: RoundRequest, without: ReadonlySet<OptionalKey>): JsonObject {
  const { model, thinking } = request;
  const tools = request.toolChoice === "none" ? [] : request.tools;
  const effort = thinking !== null && thinking !== "off" && model.capabilities.includes("reasoning") ? thinking : null;
  return {
    model: model.id,
    messages: request.messages.map(wireMessage),
    stream: true,
    ...(without.has("stream_options") ? {} : { stream_options: { include_usage: true } }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: "function",
            function: { name, description, parameters: inputSchema },
          })),
          tool_choice: "auto",
        }),
    ...(tools.length === 0 || without.has("parallel_tool_calls") ? {} : { parallel_tool_calls: model.parallelToolCalls }),
    ...(effort === null || without.has("reasoning_effort") ? {} : { reasoning_effort: effort }),
    ...(model.maxTokens === null
      ? {}
      : without.has("max_tokens")
        ? { max_completion_tokens: model.maxTokens }
        : { max_tokens: model.maxTokens }),
  };
}

export function wireMessage(message: ChatMessage): Json {
  const content = wellFormed(message.text);
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content };
    case "assistant":
      if (message.calls.length === 0) return { role: "assistant", content };
      return {
        role: "assistant",
        content: content === "" ? null : content,
        tool_calls: message.calls.map((call) => ({
          id: call.id,
          type: "function",
          function: { name: call.name, arguments: call.arguments },
        })),
      };
  }
}

/** The optional key a refusal (400 or 422) names; null when it names none that was sent. */
export function refusedKey(words: string, body: JsonObject, without: ReadonlySet<OptionalKey>): OptionalKey | null {
  const named = OPTIONAL_KEYS.filter((key) => Object.hasOwn(body, key) && !without.has(key) && words.includes(key));
  if (named.length === 0) return null;
  // A refused value of max_tokens is no refused key: only a server that names the newer key wants it.
  return named.find((key) => key !== "max_tokens" || words.includes("max_completion_tokens")) ?? null;
}
