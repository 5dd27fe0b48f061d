/** Errors as HTTP answers: `{error: {code, message, hint?, …}}`. What is not ours to name goes to the log and out as INTERNAL. */
import type { z } from "zod";
import { SomoraError } from "../protocol/errors.ts";

export function refusalOf(
  error: unknown,
  log: (line: string, cause: unknown) => void,
): { status: number; body: { error: unknown }; headers: Record<string, string> } {
  const known =
    error instanceof SomoraError
      ? error
      : new SomoraError("INTERNAL", "Something failed inside the server.", { hint: "`somora server logs` has the cause.", cause: error });
  if (known.code === "INTERNAL") log("a request failed inside the server", error);
  const headers: Record<string, string> = {};
  const wait = known.details?.["retryAfterMs"];
  if (typeof wait === "number") headers["retry-after"] = String(Math.ceil(wait / 1_000));
  else if (known.status === 503) headers["retry-after"] = "2";
  if (known.status === 401) headers["www-authenticate"] = "Bearer";
  if (known.status === 413) headers["connection"] = "close";
  return { status: known.status, body: { error: known.toBody() }, headers };
}

/** Parses or throws REQUEST_INVALID with the field named. `place`: `body`, `query` or `path`. */
export function parseOrRefuse<Value>(schema: z.ZodType<Value>, value: unknown, place: "body" | "query" | "path"): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0] as z.core.$ZodIssue;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const field = [...issue.path, ...(unknown === undefined ? [] : [unknown])].map(String).join(".");
  const where = place === "path" ? "in the path" : `in the ${place}`;
  const message =
    field === ""
      ? `The ${place} does not fit: ${issue.message}.`
      : unknown === undefined
        ? `\`${field}\` ${where} does not fit: ${issue.message}.`
        : `\`${field}\` ${where} is not known here.`;
  throw new SomoraError("REQUEST_INVALID", message, {
    hint:
      unknown === undefined
        ? "docs/reference/routes.md lists what each route takes."
        : `Leave it out; docs/reference/routes.md lists what the route takes.`,
    details: { field, in: place },
  });
}
