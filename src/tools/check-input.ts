/** The input of a call against the tool's schema: a rescue for JSON sent as text, and errors that name the field. */
import type { z } from "zod";
import { closeNames } from "../protocol/close-names.ts";
import { SomoraError } from "../protocol/errors.ts";
import type { Tool } from "./define-tool.ts";

const MOST_ISSUES = 5;

/** The parsed input, or TOOL_INPUT_INVALID. */
export function checkInput(tool: Tool, input: unknown): unknown {
  const first = tool.parse(input);
  if (first.success) return first.input;
  const rescued = rescue(input, first.issues);
  const second = rescued === null ? first : tool.parse(rescued.input);
  if (second.success) return second.input;
  const sentences = second.issues.slice(0, MOST_ISSUES).map((issue) => sentence(issue, tool));
  throw new SomoraError("TOOL_INPUT_INVALID", `The input of ${tool.name} does not fit: ${sentences.join("; ")}.`, {
    hint: `Fields of ${tool.name}: ${tool.fields.join(", ") || "none"}. Mend the named field and call again.`,
    details: { fields: second.issues.slice(0, MOST_ISSUES).map((issue) => pathOf(issue.path)) },
  });
}

/** Where an object or array was wanted and a text came that is one in JSON, the parsed value takes its place. Null: nothing to rescue. */
function rescue(input: unknown, issues: readonly z.core.$ZodIssue[]): { input: unknown } | null {
  let changed = false;
  let result = input;
  for (const issue of issues) {
    if (issue.code !== "invalid_type" || !["object", "array", "record"].includes(issue.expected)) continue;
    const parsed = parsedText(valueAt(result, issue.path));
    if (parsed === null) continue;
    result = replaceAt(result, issue.path, parsed.value);
    changed = true;
  }
  return changed ? { input: result } : null;
}

function parsedText(value: unknown): { value: unknown } | null {
  if (typeof value !== "string" || !/^\s*[[{]/u.test(value)) return null;
  try {
    return { value: JSON.parse(value) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  );
}

function replaceAt(value: unknown, path: readonly PropertyKey[], fresh: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof value !== "object" || value === null) return fresh;
  const copy: Record<PropertyKey, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
  (copy as Record<PropertyKey, unknown>)[key] = replaceAt((copy as Record<PropertyKey, unknown>)[key], rest, fresh);
  return copy;
}

function sentence(issue: z.core.$ZodIssue, tool: Tool): string {
  const where = pathOf(issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .map((key) => {
        const near = closeNames(key, tool.fields, 1);
        return `there is no field ${JSON.stringify(key)}${near.length > 0 ? ` (did you mean ${near.join(", ")}?)` : ""}`;
      })
      .join("; ");
  }
  if (issue.code === "invalid_type" && issue.input === undefined) return `${where} is missing (${issue.expected} wanted)`;
  return `${where}: ${lowerFirst(issue.message)}, seen ${seen(issue.input)}`;
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.length === 0
    ? "the input"
    : path
        .map((key) => (typeof key === "number" ? `[${key}]` : String(key)))
        .join(".")
        .replaceAll(".[", "[");
}

function seen(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
