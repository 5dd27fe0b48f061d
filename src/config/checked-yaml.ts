/** Reads YAML through a schema and says of each fault: file, line, key, value, what is allowed, the nearest known key. */
import { LineCounter, isMap, isNode, isPair, isScalar, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { nearest } from "../protocol/nearest.ts";
import type { Json } from "../protocol/json.ts";
import { fillReferences, type Lookup } from "./secrets.ts";
import { allowedAt, keysAt } from "./schema-words.ts";

export interface Problem {
  file: string;
  line: number;
  /** Dotted; empty for the whole file. */
  key: string;
  value: Json;
  allowed: string;
  near: string | null;
  /** One sentence with all of it. */
  message: string;
}

export type Checked<Value> = { ok: true; value: Value } | { ok: false; problems: Problem[] };

type Path = (string | number)[];

interface CheckOptions {
  /** As the person knows it. */
  file: string;
  lookup: Lookup;
  /** Keys whose `${NAME}` is filled later, by whoever uses them. */
  keep?: (path: Path) => boolean;
}

export function checkYaml<Schema extends z.ZodType>(text: string, schema: Schema, options: CheckOptions): Checked<z.output<Schema>> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    return {
      ok: false,
      problems: document.errors.map((error) => syntaxProblem(options.file, lines.linePos(error.pos[0]).line, error.message)),
    };
  }
  const problems: Problem[] = [];
  const add = (
    path: Path,
    found: Omit<Problem, "file" | "line" | "key" | "message"> & { key?: string; line?: number; say: string },
  ): void => {
    const key = found.key ?? dotted(path);
    const line = found.line ?? lineOf(document, lines, path);
    const { say, value, allowed, near } = found;
    const meant = near === null ? "" : ` Did you mean \`${near}\`?`;
    problems.push({ file: options.file, line, key, value, allowed, near, message: `${options.file}:${line}: ${say}${meant}` });
  };

  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { ok: false, problems: [syntaxProblem(options.file, 1, error instanceof Error ? error.message : String(error))] };
  }
  const filled = fill(raw ?? {}, [], options, (path, names) => {
    add(path, {
      value: `\${${names[0] ?? ""}}`,
      allowed: "a name that has a value",
      near: null,
      say: `\`${dotted(path)}\` asks for ${names.join(", ")}, which neither somora.env nor the environment has.`,
    });
  });
  const result = schema.safeParse(filled);
  if (!result.success) {
    for (const issue of result.error.issues) {
      const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
      if (issue.code === "unrecognized_keys") {
        for (const unknown of issue.keys) {
          const known = keysAt(schema, path);
          const whole = [...path, unknown];
          add(whole, {
            value: plain(valueAt(filled, whole)),
            allowed: known.join(", "),
            near: nearest(unknown, known),
            line: lineOf(document, lines, whole),
            say: `unknown key \`${dotted(whole)}\`; known here: ${known.join(", ")}.`,
          });
        }
        continue;
      }
      // A reference without a value was named already.
      if (problems.some((problem) => problem.key === dotted(path) && problem.key !== "")) continue;
      const value = plain(valueAt(filled, path));
      const allowed =
        issue.code === "custom" || issue.code === "invalid_format" || issue.code === "invalid_key"
          ? issueWords(issue)
          : allowedAt(schema, path);
      const where = path.length === 0 ? "the file" : `\`${dotted(path)}\``;
      const seen = value === null && valueAt(filled, path) === undefined ? `${where} is missing` : `${where} is ${shown(value)}`;
      const near = typeof value === "string" ? nearest(value, choices(allowed)) : null;
      add(path, { value, allowed, near, say: `${seen}; allowed: ${allowed}.` });
    }
  }
  if (problems.length > 0 || !result.success) return { ok: false, problems: problems.sort((a, b) => a.line - b.line) };
  return { ok: true, value: result.data };
}

function syntaxProblem(file: string, line: number, words: string): Problem {
  const first = words.split("\n")[0] ?? words;
  return { file, line, key: "", value: null, allowed: "valid YAML", near: null, message: `${file}:${line}: not valid YAML: ${first}` };
}

function issueWords(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  return issue.message;
}

/** Choices written as `a | b | c`. */
function choices(allowed: string): string[] {
  return allowed.includes(" | ") ? allowed.split(" | ") : [];
}

/** Fills references in strings; one that is a whole unquoted-looking number or truth value becomes one. */
function fill(value: unknown, path: Path, options: CheckOptions, missing: (path: Path, names: string[]) => void): unknown {
  if (typeof value === "string") {
    if (!value.includes("${") || options.keep?.(path)) return value;
    const filled = fillReferences(value, options.lookup);
    if (filled.missing.length > 0) missing(path, filled.missing);
    if (filled.whole && /^(?:-?\d+(?:\.\d+)?|true|false)$/.test(filled.value)) return JSON.parse(filled.value) as unknown;
    return filled.value;
  }
  if (Array.isArray(value)) return value.map((entry, index) => fill(entry, [...path, index], options, missing));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fill(entry, [...path, key], options, missing)]));
  }
  return value;
}

function valueAt(value: unknown, path: Path): unknown {
  let here = value;
  for (const part of path) here = typeof here === "object" && here !== null ? (here as Record<string, unknown>)[String(part)] : undefined;
  return here;
}

/** The line of the key itself; of the nearest thing above it when the key is not there. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number {
  let node: unknown = document.contents;
  let line = 1;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(part));
      if (!pair) break;
      if (isScalar(pair.key) && pair.key.range) line = lines.linePos(pair.key.range[0]).line;
      node = pair.value;
    } else if (isNode(node) && "items" in node && Array.isArray(node.items)) {
      node = (node.items as unknown[])[Number(part)];
      if (isNode(node) && node.range) line = lines.linePos(node.range[0]).line;
    } else break;
  }
  return line;
}

function dotted(path: Path): string {
  return path.join(".");
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

function plain(value: unknown): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);
}
