/**
 * Makes a conversation fit a model's window by shortening its oldest tool results, then the arguments of its oldest calls, each
 * marked as shortened (P11), so that one giant call does not end a session. Nothing else is changed. Pure: the same conversation is shortened alike each time. Tokens are estimated at four characters each.
 */
import type { ChatMessage, ToolSpec } from "../../ports/engine.port.ts";
import { wellFormed } from "./well-formed.ts";

const CHARS_PER_TOKEN = 4;
/** Roles, ids and separators of a message. */
const CHARS_PER_MESSAGE = 16;
/** What is left of a shortened result: its beginning. The newest result keeps as much as fits. */
const KEPT_CHARS = 400;
/** Arguments up to this long are left alone. */
const LONG_ARGUMENTS = 2_000;
/** Room for the answer when the model names no limit: a quarter of the window, at most this many tokens. */
const ANSWER_TOKENS = 4_096;

export function estimateTokens(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): number {
  return Math.ceil(charsOf(messages, tools) / CHARS_PER_TOKEN);
}

/** `window` null: not known, nothing is shortened. `"full"`: it does not fit even so. `shortened`: how many results and calls. */
export function fitContext(
  messages: readonly ChatMessage[],
  tools: readonly ToolSpec[],
  window: number | null,
  maxTokens: number | null,
): { messages: ChatMessage[]; shortened: number } | "full" {
  if (window === null) return { messages: [...messages], shortened: 0 };
  const answer = Math.min(maxTokens ?? ANSWER_TOKENS, maxTokens === null ? Math.floor(window / 4) : window);
  let over = charsOf(messages, tools) - (window - answer) * CHARS_PER_TOKEN;
  if (over <= 0) return { messages: [...messages], shortened: 0 };
  const fitted = [...messages];
  const newest = messages.findLastIndex((message) => message.role === "tool");
  let shortened = 0;
  for (let at = 0; at < fitted.length && over > 0; at += 1) {
    const message = fitted[at];
    if (message?.role !== "tool") continue;
    const keep = at === newest ? Math.max(KEPT_CHARS, message.text.length - over - MARK_CHARS) : KEPT_CHARS;
    const text = shorten(message.text, keep);
    if (text.length >= message.text.length) continue;
    over -= message.text.length - text.length;
    fitted[at] = { ...message, text };
    shortened += 1;
  }
  for (let at = 0; at < fitted.length && over > 0; at += 1) {
    const message = fitted[at];
    if (message?.role !== "assistant") continue;
    const calls = message.calls.map((call) => {
      const short = over > 0 && call.arguments.length > LONG_ARGUMENTS ? shorten(call.arguments, KEPT_CHARS, CALL_HINT) : call.arguments;
      if (short.length >= call.arguments.length) return call;
      over -= call.arguments.length - short.length;
      shortened += 1;
      return { ...call, arguments: short };
    });
    fitted[at] = { ...message, calls };
  }
  return over > 0 ? "full" : { messages: fitted, shortened };
}

const RESULT_HINT =
  "This earlier result was shortened so that the conversation fits the model's window. Call the tool again for the whole.";
const CALL_HINT =
  "The arguments of this earlier call were shortened so that the conversation fits the model's window. It ran with the whole.";

function shorten(text: string, keep: number, hint = RESULT_HINT): string {
  const mark = {
    shortened: true,
    original_size_chars: text.length,
    hint,
    beginning: "",
  };
  let beginning = wellFormed(text.slice(0, keep));
  // Escaping makes quoted text longer than what it quotes.
  const excess = JSON.stringify(beginning).length - 2 - keep;
  if (excess > 0) beginning = wellFormed(beginning.slice(0, Math.max(0, keep - excess)));
  return JSON.stringify({ ...mark, beginning });
}

/** The mark around a shortened result, with room for its number. */
const MARK_CHARS = shorten("", 0).length + 12;

function charsOf(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): number {
  const offered = tools.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0);
  return messages.reduce((sum, message) => sum + charsIn(message), offered);
}

function charsIn(message: ChatMessage): number {
  const calls = message.role === "assistant" ? message.calls : [];
  return (
    message.text.length +
    CHARS_PER_MESSAGE +
    calls.reduce((sum, call) => sum + call.id.length + call.name.length + call.arguments.length + CHARS_PER_MESSAGE, 0)
  );
}
