/** What a tool card says in its one line: what it is about, its result in a word or two, and how its body is drawn. */
import { codeWord, clockSpan, count, grouped } from "../../src/client/words.ts";
import type { MarkName, Move } from "../../src/client/marks.ts";
import type { CallItem } from "../../src/client/timeline.ts";
import type { Json } from "../../src/protocol/json.ts";
import type { CallView } from "../../src/protocol/session-view.ts";

type Fields = { [field: string]: Json };
export const fieldsOf = (value: Json | undefined): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const words = (value: Json | undefined): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

export function aboutOf(tool: string, input: Json): string {
  const fields = fieldsOf(input);
  if (tool === "exec") return words(fields["command"]) ?? "";
  if (tool === "file_search") return [words(fields["pattern"]) ?? words(fields["query"]), words(fields["path"])].filter((part) => part !== undefined).join(" in ");
  for (const key of ["path", "file", "query", "url", "name", "slug", "page", "timezone", "task", "agent"]) {
    const value = words(fields[key]);
    if (value !== undefined) return value;
  }
  const first = Object.values(fields).find((value) => typeof value === "string");
  return words(first) ?? "";
}

/** `data` of a good result, the error of a bad one. */
export function resultOf(call: CallItem): { data: Fields; error: Fields | null } {
  const output = fieldsOf(call.result?.data.output);
  if (output["ok"] === false) return { data: {}, error: fieldsOf(output["error"]) };
  return { data: "data" in output ? fieldsOf(output["data"]) : output, error: null };
}

export interface CardWords {
  mark: MarkName;
  move: Move;
  word: string;
  /** The word is worth its state's colour and weight. */
  loud: boolean;
}

export function cardWords(call: CallItem, live: CallView | undefined, running: boolean): CardWords {
  const settled = live?.settled;
  const ok = call.result?.data.ok ?? settled?.ok;
  if (ok === undefined) {
    if (running) return { mark: "tool", move: "run", word: "running", loud: true };
    return { mark: "interrupted", move: call.handled ? "none" : "bad", word: "no result", loud: true };
  }
  const { data, error } = resultOf(call);
  const code = words(error?.["code"]) ?? settled?.code;
  if (ok) return { mark: "done", move: "none", word: goodWord(call, data, settled?.summary), loud: false };
  const move: Move = call.handled ? "none" : "bad";
  if (call.result?.data.interrupted === true || code === "TOOL_INTERRUPTED") return { mark: "interrupted", move, word: "interrupted", loud: true };
  if (code === "TOOL_CANCELLED") return { mark: "cancelled", move: "none", word: "cancelled", loud: false };
  if (code === "TOOL_TIMEOUT") return { mark: "cut", move, word: live?.limitMs === undefined ? "cut by its limit" : `cut at ${clockSpan(live.limitMs)}`, loud: true };
  const exit = data["exit_code"] ?? fieldsOf(error?.["details"])["exit_code"];
  return { mark: "failed", move, word: typeof exit === "number" ? `exit ${exit}` : codeWord(code), loud: true };
}

function goodWord(call: CallItem, data: Fields, settled: string | undefined): string {
  if (call.result?.data.shortened !== undefined || data["truncated"] === true) return "shortened";
  const summary = call.result?.data.summary ?? settled;
  if (typeof data["exit_code"] === "number") return `exit ${data["exit_code"]}`;
  const difference = diffCount(call);
  if (difference !== null) return difference;
  if (summary !== undefined && summary !== "" && summary.length <= 28) return summary;
  for (const [key, one] of [["total_lines", "line"], ["lines", "line"], ["count", "item"], ["total", "item"]] as const) {
    const value = data[key];
    if (typeof value === "number") return count(value, one);
  }
  return "done";
}

function diffCount(call: CallItem): string | null {
  const { before, after } = changeOf(call);
  if (before === null || after === null) return null;
  const lines = (text: string): number => (text === "" ? 0 : text.replace(/\n$/u, "").split("\n").length);
  return `+${grouped(lines(after))} −${grouped(lines(before))}`;
}

/** Old and new text of a call that changes a file. */
export function changeOf(call: CallItem): { before: string | null; after: string | null; path: string | null } {
  const input = fieldsOf(call.input);
  const path = words(input["path"]) ?? null;
  const either = (...keys: string[]): string | null => {
    for (const key of keys) if (typeof input[key] === "string") return input[key];
    return null;
  };
  if (call.tool === "file_patch") return { before: either("old_string", "old_text", "old", "find"), after: either("new_string", "new_text", "new", "replace"), path };
  if (call.tool === "file_write") return { before: "", after: either("content", "text"), path };
  return { before: null, after: null, path };
}

/** The kept copy of a changed file, under whichever of its names the tool gives it. */
export function changeIdOf(call: CallItem): string | null {
  const { data } = resultOf(call);
  for (const key of ["change_id", "changeId", "change"]) {
    const value = data[key];
    if (typeof value === "string") return value;
    const id = fieldsOf(value)["id"];
    if (typeof id === "string") return id;
  }
  return null;
}

/** What a result holds as plain text, the way a person reads it. */
export function textOf(call: CallItem): string {
  const { data, error } = resultOf(call);
  if (error !== null) return [words(error["message"]), words(error["hint"]), words(fieldsOf(error["details"])["stderr"])].filter((part) => part !== undefined).join("\n");
  const parts = [words(data["stdout"]), words(data["stderr"])].filter((part) => part !== undefined);
  if (parts.length > 0 || call.tool === "exec") return parts.join("\n").replace(/\n$/u, "");
  for (const key of ["content", "text", "preview", "iso"]) {
    const value = words(data[key]);
    if (value !== undefined) return value;
  }
  for (const key of ["entries", "files", "matches", "results", "items", "pages"]) {
    const value = data[key];
    if (Array.isArray(value)) return value.map(lineOf).join("\n");
  }
  const output = call.result?.data.output;
  if (typeof output === "string") return output;
  return output === undefined ? "" : JSON.stringify(Object.keys(data).length > 0 ? data : output, null, 2);
}

function lineOf(entry: Json): string {
  if (typeof entry === "string") return entry;
  const fields = fieldsOf(entry);
  const path = words(fields["path"]) ?? words(fields["name"]) ?? words(fields["file"]) ?? words(fields["title"]);
  if (path === undefined) return JSON.stringify(entry);
  const line = typeof fields["line"] === "number" ? `:${fields["line"]}` : "";
  const rest = words(fields["text"]) ?? words(fields["snippet"]) ?? (typeof fields["size"] === "number" ? `${grouped(fields["size"])} B` : undefined);
  const folder = fields["type"] === "dir" || fields["type"] === "directory" || fields["kind"] === "folder" || fields["kind"] === "dir" ? "/" : "";
  return `${path}${folder}${line}${rest === undefined ? "" : `  ${rest}`}`;
}
