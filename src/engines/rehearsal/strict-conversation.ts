/**
 * The rules a strict model server holds a conversation to (P8): what the rehearsal server refuses with 400 in strict mode.
 * It shares no code with the repair that has to satisfy it.
 */
import { isWellFormed } from "../shared/well-formed.ts";
import type { ChatMessage } from "../../ports/engine.port.ts";

/** The first violation in words, or null. */
export function violationOf(messages: readonly ChatMessage[]): string | null {
  const seen = new Set<string>();
  let at = 0;
  while (at < messages.length) {
    const message = messages[at];
    const where = `messages[${at}]`;
    at += 1;
    if (!message) break;
    if (!isWellFormed(message.text)) return `${where}: lone surrogate in the text`;
    if (message.role === "tool") return `${where}: a tool message must stand right behind the assistant message with its call`;
    if (message.role !== "assistant") continue;
    if (message.text.trim() === "" && message.calls.length === 0) return `${where}: an assistant message needs content or tool_calls`;
    for (const call of message.calls) {
      if (call.id === "") return `${where}: a tool call without an id`;
      if (seen.has(call.id)) return `${where}: tool call id ${JSON.stringify(call.id)} is used twice`;
      seen.add(call.id);
      if (call.name === "") return `${where}: a tool call without a name`;
      if (!isWellFormed(`${call.id}${call.name}${call.arguments}`)) return `${where}: lone surrogate in a tool call`;
      if (!isObject(call.arguments))
        return `${where}: the arguments of ${JSON.stringify(call.id)} are no JSON object: ${call.arguments.slice(0, 60)}`;
    }
    for (const call of message.calls) {
      const result = messages[at];
      if (result?.role !== "tool" || result.callId !== call.id)
        return `${where}: tool_call_id ${JSON.stringify(call.id)} has no result right behind it`;
      if (!isWellFormed(result.text)) return `messages[${at}]: lone surrogate in a result`;
      at += 1;
    }
  }
  return null;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    // Not JSON at all: the same answer.
    return false;
  }
}
