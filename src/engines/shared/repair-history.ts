/**
 * The one repair every history passes before it goes to a model (P8). Pure, and idempotent: what it gave needs no repair.
 * Afterwards each call has exactly one result right behind it, in the order of the calls, ids are unique, arguments are JSON
 * objects, text is well-formed. Each change is told, so that it can be stored and shown.
 */
import type { ChatMessage } from "../../ports/engine.port.ts";
import { isWellFormed, wellFormed } from "./well-formed.ts";

export type RepairKind =
  | "missing-result"
  | "orphan-result"
  | "order"
  | "arguments"
  | "text"
  | "empty-message"
  | "duplicate-id"
  | "empty-name";
export interface Repair {
  kind: RepairKind;
  text: string;
}
export interface RepairedHistory {
  messages: ChatMessage[];
  repairs: Repair[];
}

/** What a call without a result gets: nothing is known of what it did. */
export const UNKNOWN_OUTCOME = JSON.stringify({ ok: false, error: { code: "TOOL_INTERRUPTED", message: "interrupted, outcome unknown" } });

type Result = Extract<ChatMessage, { role: "tool" }>;
type Assistant = Extract<ChatMessage, { role: "assistant" }>;
type Call = Assistant["calls"][number];

const UNNAMED = "unnamed_tool";

export function repairHistory(history: readonly ChatMessage[]): RepairedHistory {
  const repairs: Repair[] = [];
  const told = (kind: RepairKind, text: string): void => void repairs.push({ kind, text });
  const clean = history.map((message) => cleanText(message, told));
  const results = pairResults(clean);
  const claimed = new Set([...results.values()].flat());
  const usedIds = new Set<string>();
  const messages: ChatMessage[] = [];
  clean.forEach((message, at) => {
    if (message.role === "tool") {
      if (!claimed.has(message))
        told("orphan-result", `A result of ${message.name || "a tool"} answers no call (id ${quote(message.callId)}); it is left out.`);
      return;
    }
    if (message.role !== "assistant") {
      messages.push(message);
      return;
    }
    if (message.text.trim() === "" && message.calls.length === 0) {
      told("empty-message", "An assistant message without text and calls is left out.");
      return;
    }
    const paired = results.get(message) ?? [];
    const calls = message.calls.map((call) => repairCall(call, usedIds, told));
    messages.push({ ...message, calls });
    if (outOfPlace(clean, at, paired)) told("order", "Results did not stand right behind their calls, in order; they do now.");
    calls.forEach((call, index) => {
      const result = paired[index];
      if (!result)
        told("missing-result", `The call of ${call.name} (id ${quote(call.id)}) has no result; it gets "interrupted, outcome unknown".`);
      messages.push({ role: "tool", callId: call.id, name: call.name, text: result?.text ?? UNKNOWN_OUTCOME });
    });
  });
  return { messages, repairs };
}

/**
 * For each assistant message the result of each of its calls. A result belongs to the nearest call of its id before it that
 * has none yet; what is left over (it stood before its call) to the first open call of its id.
 */
function pairResults(messages: ChatMessage[]): Map<Assistant, (Result | undefined)[]> {
  const pairs = new Map<Assistant, (Result | undefined)[]>();
  /** Calls without a result, by id, oldest first. */
  const open = new Map<string, { of: Assistant; index: number }[]>();
  const early: Result[] = [];
  const give = (result: Result, from: "first" | "last"): boolean => {
    const waiting = open.get(result.callId);
    const call = from === "last" ? waiting?.at(-1) : waiting?.[0];
    if (!call) return false;
    // Two calls of one message under one id are answered in their order.
    const sibling = from === "last" ? (waiting?.find((other) => other.of === call.of) ?? call) : call;
    open.set(
      result.callId,
      (waiting ?? []).filter((other) => other !== sibling),
    );
    (pairs.get(sibling.of) ?? [])[sibling.index] = result;
    return true;
  };
  for (const message of messages) {
    if (message.role === "tool") {
      if (!give(message, "last")) early.push(message);
    } else if (message.role === "assistant") {
      pairs.set(message, Array.from({ length: message.calls.length }));
      message.calls.forEach((call, index) => open.set(call.id, [...(open.get(call.id) ?? []), { of: message, index }]));
    }
  }
  for (const result of early) give(result, "first");
  return pairs;
}

/** Do the results that are there stand right behind message `at`, in the order of their calls, with nothing between? */
function outOfPlace(messages: ChatMessage[], at: number, paired: (Result | undefined)[]): boolean {
  const present = paired.filter((result) => result !== undefined);
  return present.some((result, index) => messages[at + 1 + index] !== result);
}

function repairCall(call: Call, usedIds: Set<string>, told: (kind: RepairKind, text: string) => void): Call {
  const name = call.name.trim() === "" ? UNNAMED : call.name;
  if (name !== call.name) told("empty-name", `A call without a name is called ${UNNAMED}.`);
  const id = uniqueId(call.id, usedIds);
  if (id !== call.id)
    told(
      "duplicate-id",
      `The call id ${quote(call.id)} of ${name} is ${call.id === "" ? "empty" : "used before"}; it becomes ${quote(id)}.`,
    );
  usedIds.add(id);
  const valid = isJsonObject(call.arguments);
  if (!valid && call.arguments.trim() !== "") told("arguments", `The arguments of ${name} are no JSON object; they become {}.`);
  return { id, name, arguments: valid ? call.arguments : "{}" };
}

function uniqueId(id: string, used: Set<string>): string {
  const stem = id === "" ? "call" : id;
  let unique = id === "" ? "call_1" : id;
  for (let n = 2; used.has(unique); n += 1) unique = `${stem}_${n}`;
  return unique;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    // Broken text is an answer here, not a fault.
    return false;
  }
}

function cleanText(message: ChatMessage, told: (kind: RepairKind, text: string) => void): ChatMessage {
  const strings =
    message.role === "tool"
      ? [message.text, message.callId, message.name]
      : message.role === "assistant"
        ? [message.text, ...message.calls.flatMap((call) => [call.id, call.name, call.arguments])]
        : [message.text];
  // A copy in any case: pairing goes by identity, and the same object may stand in a history twice.
  if (strings.every(isWellFormed)) return message.role === "assistant" ? { ...message, calls: message.calls } : { ...message };
  told("text", `Half a character in a ${message.role} message becomes U+FFFD.`);
  const text = wellFormed(message.text);
  if (message.role === "tool") return { ...message, text, callId: wellFormed(message.callId), name: wellFormed(message.name) };
  if (message.role !== "assistant") return { ...message, text };
  return {
    ...message,
    text,
    calls: message.calls.map((call) => ({ id: wellFormed(call.id), name: wellFormed(call.name), arguments: wellFormed(call.arguments) })),
  };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
