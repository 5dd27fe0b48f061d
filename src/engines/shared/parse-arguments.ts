/**
 * Reads the arguments of a tool call (design P8, facts "broken tool calls"). Nothing is guessed: what does not parse never
 * runs. Empty, whitespace, null and absent mean an empty object. Told apart by the text alone, never by the finish reason:
 * `cut` ends inside a value, `malformed` is complete but not JSON.
 */
import type { Json } from "../../protocol/json.ts";

export type ParsedArguments = { ok: true; value: Json } | { ok: false; kind: "cut" | "malformed"; position: number; error: string };

/** Deeper than any tool's input; what walks values by recursion (checks, JSON.stringify) is safe below it. */
const MAX_DEPTH = 200;

export function parseArguments(text: string | null | undefined): ParsedArguments {
  if (text === null || text === undefined || text.trim() === "") return { ok: true, value: {} };
  try {
    const value = JSON.parse(text) as Json;
    const position = tooDeepAt(text);
    if (position !== null)
      return { ok: false, kind: "malformed", position, error: `nested deeper than ${MAX_DEPTH} levels at position ${position}` };
    return { ok: true, value: value === null ? {} : value };
  } catch {
    // Not JSON: the scan below says where, which the engine's own message does not say in a stable way.
    return explain(text);
  }
}

function tooDeepAt(text: string): number | null {
  if (text.length <= MAX_DEPTH) return null;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      depth += 1;
      if (depth > MAX_DEPTH) return at;
    } else if (char === "}" || char === "]") depth -= 1;
  }
  return null;
}

function explain(text: string): ParsedArguments {
  const fault = scan(text);
  if (fault === null || !isComplete(text)) {
    return { ok: false, kind: "cut", position: text.length, error: `the arguments stop after ${text.length} characters, inside a value` };
  }
  const seen = text[fault.position] === undefined ? "the end" : JSON.stringify(text[fault.position]);
  return {
    ok: false,
    kind: "malformed",
    position: fault.position,
    error: `not valid JSON at position ${fault.position}: ${fault.expected} expected, ${seen} found`,
  };
}

/** A complete value ends on the closing bracket of its first one; text without an opening bracket is no cut object. */
function isComplete(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return trimmed.length > 1 && trimmed.endsWith("}");
  if (trimmed.startsWith("[")) return trimmed.length > 1 && trimmed.endsWith("]");
  return true;
}

interface Fault {
  position: number;
  expected: string;
}

const WORDS = ["true", "false", "null"];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NUMBER_PREFIX = /-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?$/y;

/** Null when the text is the beginning of valid JSON, else where it stops being one. Iterative: depth costs no stack. */
function scan(text: string): Fault | null {
  const open: ("{" | "[")[] = [];
  let at = 0;
  /** What may come next. */
  let want: "value" | "value or ]" | "key or }" | "key" | ":" | ", or end" = "value";
  const fault = (expected: string): Fault => ({ position: at, expected });
  for (;;) {
    while (at < text.length && " \t\n\r".includes(text[at] ?? "")) at += 1;
    const char = text[at];
    if (char === undefined) return open.length === 0 && want === ", or end" ? fault("nothing") : null;
    if (want === ":") {
      if (char !== ":") return fault('":"');
      at += 1;
      want = "value";
    } else if (want === ", or end") {
      const top = open.at(-1);
      if (top === undefined) return fault("the end");
      if (char === ",") want = top === "{" ? "key" : "value";
      else if (char === (top === "{" ? "}" : "]")) open.pop();
      else return fault(`"," or "${top === "{" ? "}" : "]"}"`);
      at += 1;
    } else if ((want === "key or }" && char === "}") || (want === "value or ]" && char === "]")) {
      open.pop();
      at += 1;
      want = ", or end";
    } else if (want === "key" || want === "key or }") {
      if (char !== '"') return fault("a key in double quotes");
      const end = scanString(text, at);
      if (typeof end !== "number") return end;
      if (end === 0) return null;
      at = end;
      want = ":";
    } else if (char === "{" || char === "[") {
      open.push(char);
      at += 1;
      want = char === "{" ? "key or }" : "value or ]";
    } else {
      const end = char === '"' ? scanString(text, at) : scanScalar(text, at);
      if (typeof end !== "number") return end;
      if (end === 0) return null;
      at = end;
      want = ", or end";
    }
  }
}

/** The position behind the string, 0 when the text ends inside it. */
function scanString(text: string, start: number): number | Fault {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === '"') return at + 1;
    if (char < " ") return { position: at, expected: "an escaped control character" };
    if (char !== "\\") continue;
    at += 1;
    const escape = text[at];
    if (escape === undefined) return 0;
    if (escape === "u") {
      const digits = text.slice(at + 1, at + 5);
      if (!/^[0-9a-fA-F]*$/.test(digits)) return { position: at + 1, expected: "four hexadecimal digits" };
      if (digits.length < 4) return 0;
      at += 4;
    } else if (!'"\\/bfnrt'.includes(escape)) {
      return { position: at, expected: "a valid escape" };
    }
  }
  return 0;
}

/** The position behind true, false, null or a number, 0 when the text ends inside it. */
function scanScalar(text: string, start: number): number | Fault {
  for (const word of WORDS) {
    if (text.startsWith(word, start)) return start + word.length;
    if (word.startsWith(text.slice(start))) return 0;
  }
  NUMBER_PREFIX.lastIndex = start;
  if (NUMBER_PREFIX.test(text)) return 0;
  NUMBER.lastIndex = start;
  const match = NUMBER.exec(text);
  return match === null || match[0] === "" ? { position: start, expected: "a value" } : start + match[0].length;
}
