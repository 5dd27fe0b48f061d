/** Reads a rehearsal from YAML text. What does not fit is refused with file, line and the way out. */
import { isMap, isNode, LineCounter, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import { scriptSchema, type Script } from "./script.schema.ts";

const HINT = "The format is explained in docs/tasks/write-a-rehearsal.md.";

/** Throws SomoraError REHEARSAL_INVALID; `details` carries file, line and path. */
export function readScript(text: string, file: string): Script {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const broken = document.errors[0];
  if (broken)
    throw refusal(
      file,
      broken.linePos?.[0].line ?? 1,
      "",
      (broken.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, ""),
    );
  const parsed = scriptSchema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {});
  if (parsed.success) return parsed.data;
  const issue = deepest(parsed.error.issues);
  const path = issue.path.filter((part): part is string | number => typeof part !== "symbol");
  const key = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  throw refusal(file, lineOf(document, lines, path, key), nameOf(path), issue.message);
}

/** Reads like `readScript`, and keeps the script of a file as long as its text stays the same. */
export function createScriptReader(): (source: { text: string; file: string }) => Script {
  const kept = new Map<string, { text: string; script: Script }>();
  return ({ text, file }) => {
    const known = kept.get(file);
    if (known?.text === text) return known.script;
    const script = readScript(text, file);
    kept.set(file, { text, script });
    return script;
  };
}

function refusal(file: string, line: number, path: string, what: string): SomoraError {
  const where = path === "" ? "" : ` ${path}:`;
  return new SomoraError("REHEARSAL_INVALID", `${file}:${line}:${where} ${what}`, { hint: HINT, details: { file, line, path } });
}

/** The first issue; of a union the branch that got furthest, when one got further than the union itself. */
function deepest(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const first = issues[0];
  if (!first) throw new Error("a failed parse without an issue");
  if (first.code !== "invalid_union") return first;
  const inner = first.errors.flat().filter((issue) => issue.path.length > 0 && issue.code !== "invalid_type");
  const best = inner.toSorted((a, b) => b.path.length - a.path.length)[0];
  return best ? { ...best, path: [...first.path, ...best.path] } : first;
}

/** `turns[0].rounds[2].say` */
function nameOf(path: (string | number)[]): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}

/** The line of the value at `path`, or of its key; where it is missing, of what it is missing from. */
function lineOf(document: Document, lines: LineCounter, path: (string | number)[], key: string | undefined): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node)) continue;
    const offset = (length === path.length && key !== undefined ? offsetOfKey(node, key) : undefined) ?? node.range?.[0] ?? 0;
    return lines.linePos(offset).line || 1;
  }
  return 1;
}

function offsetOfKey(node: unknown, key: string): number | undefined {
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => isNode(item.key) && String(item.key) === key);
  return isNode(pair?.key) ? pair.key.range?.[0] : undefined;
}
