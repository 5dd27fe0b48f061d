/** What a tool card says in its one line: what it is about, its result in a word or two, and how its body is drawn. */
import { type CallItem, clockSpan, codeWord, count, grouped, type MarkName, type Move } from "../../src/client/index.ts";
import type { Json } from "../../src/protocol/json.ts";
import type { CallView } from "../../src/protocol/session-view.ts";

type Fields = { [field: string]: Json };
export const fieldsOf = (value: Json | undefined): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
const words = (value: Json | undefined): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

export function aboutOf(tool: string, input: Json): string {
  const fields = fieldsOf(input);
  if (tool === "exec") return words(fields["command"]) ?? "";
  if (tool === "file_search")
    return [words(fields["pattern"]) ?? words(fields["query"]), words(fields["path"])].filter((part) => part !== undefined).join(" in ");
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
  const code = words(error?.["code"]) ?? call.result?.data.code ?? settled?.code;
  if (ok) return { mark: "done", move: "none", word: goodWord(call, data, settled?.summary), loud: false };
  const move: Move = call.handled ? "none" : "bad";
  if (call.result?.data.interrupted === true || code === "TOOL_INTERRUPTED")
    return { mark: "interrupted", move, word: "interrupted", loud: true };
  if (code === "TOOL_CANCELLED") return { mark: "cancelled", move: "none", word: "cancelled", loud: false };
  if (code === "TOOL_TIMEOUT")
    return { mark: "cut", move, word: live?.limitMs === undefined ? "cut by its limit" : `cut at ${clockSpan(live.limitMs)}`, loud: true };
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
  for (const [key, one] of [
    ["total_lines", "line"],
    ["lines", "line"],
    ["count", "item"],
    ["total", "item"],
  ] as const) {
    const value = data[key];
    if (typeof value === "number") return count(value, one);
  }
  return "done";
}

function diffCount(call: CallItem): string | null {
  const changes = changesOf(call);
  if (changes.length === 0) return null;
  const sum = (of: "added" | "removed"): number => changes.reduce((all, change) => all + change[of], 0);
  return `+${grouped(sum("added"))} −${grouped(sum("removed"))}`;
}

export interface Change {
  id: string;
  path: string;
  added: number;
  removed: number;
  diff: string;
}

/** Files the call changed, each kept as it was before. */
export function changesOf(call: CallItem): Change[] {
  return (call.result?.data.changes ?? []).flatMap((value) => {
    const { id, path, added, removed, diff } = fieldsOf(value as Json);
    if (typeof id !== "string" || typeof path !== "string") return [];
    return [{ id, path, added: Number(added ?? 0), removed: Number(removed ?? 0), diff: words(diff) ?? "" }];
  });
}

/** What a call is about to change, until its result is there: old and new text of its input. */
export function planOf(call: CallItem): { before: string; after: string } | null {
  const input = fieldsOf(call.input);
  const [before, after] =
    call.tool === "file_patch"
      ? [input["old_string"], input["new_string"]]
      : call.tool === "file_write"
        ? ["", input["content"]]
        : [null, null];
  return typeof before === "string" && typeof after === "string" ? { before, after } : null;
}

/** What a result holds as plain text, the way a person reads it. */
export function textOf(call: CallItem): string {
  const { data, error } = resultOf(call);
  if (error !== null)
    return [words(error["message"]), words(error["hint"]), words(fieldsOf(error["details"])["stderr"])]
      .filter((part) => part !== undefined)
      .join("\n");
  const parts = [words(data["stdout"]), words(data["stderr"])].filter((part) => part !== undefined);
  if (parts.length > 0 || call.tool === "exec") return parts.join("\n").replace(/\n$/u, "");
  for (const key of ["content", "text", "preview", "iso"]) {
    const value = words(data[key]);
    if (value !== undefined) return value;
  }
  for (const key of ["entries", "hits", "files", "matches", "results", "items", "pages"]) {
    const value = data[key];
    if (Array.isArray(value) && value.length > 0) return value.map(lineOf).join("\n");
    if (Array.isArray(value) && data["count"] === 0) return "Nothing.";
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
  const rest =
    words(fields["text"]) ?? words(fields["snippet"]) ?? (typeof fields["size"] === "number" ? `${grouped(fields["size"])} B` : undefined);
  const folder = ["dir", "directory", "folder"].includes(String(fields["type"] ?? fields["kind"])) ? "/" : "";
  return `${path}${folder}${line}${rest === undefined ? "" : `  ${rest}`}`;
}
