/** `expect` of a rehearsal: what `somora rehearse` does and compares (contract §7). */
import { parseDocument } from "yaml";
import { z } from "zod";
import { outcomeSchema } from "../../protocol/history.ts";

const told = {
  outcome: outcomeSchema.optional(),
  /** Tools called in the turn, in order. */
  calls: z.array(z.string()).optional(),
  /** A regular expression, ignoring case, that the answer fits. */
  text: z.string().optional(),
  /** How many calls ran more than once. */
  callsRunTwice: z.number().int().min(0).optional(),
};

const entrySchema = z.union([
  z.strictObject({
    atEnd: z.strictObject({ actorsRunning: z.number().int().min(0).optional(), processesLeft: z.number().int().min(0).optional() }),
  }),
  z.strictObject({
    /** Absent: the message of the entry before. */
    send: z.string().min(1).optional(),
    kill: z.string().regex(/^(?:after|during) call \S+$/, "`after call <id>` or `during call <id>`"),
    then: z.literal("restart"),
    ...told,
  }),
  z.strictObject({ send: z.string().min(1), ...told }),
]);
export type Expectation = z.infer<typeof entrySchema>;

export interface Played {
  about: string;
  expect: Expectation[];
}

/** Null with the reason when the file's expectations do not fit. The script itself is checked by the rehearsal engine. */
export function readExpectations(text: string, file: string): { ok: true; played: Played } | { ok: false; reason: string } {
  const document = parseDocument(text, { prettyErrors: true });
  const fault = document.errors[0];
  if (fault) return { ok: false, reason: `${file}:${fault.linePos?.[0].line ?? 1}: ${fault.message.split("\n")[0] ?? ""}` };
  const value: unknown = document.toJS();
  const schema = z.looseObject({ about: z.string().default(""), expect: z.array(entrySchema).default([]) });
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, played: { about: parsed.data.about, expect: parsed.data.expect } };
  const issue = parsed.error.issues[0] as z.core.$ZodIssue;
  const node = document.getIn(issue.path.slice(0, 2), true) as { range?: [number, number, number] } | undefined;
  const line = node?.range ? text.slice(0, node.range[0]).split("\n").length : 1;
  const words =
    issue.code === "invalid_union"
      ? "an entry is {send, outcome?, calls?, text?}, {kill, then: restart, …} or {atEnd: {…}}"
      : issue.message;
  return { ok: false, reason: `${file}:${line}: \`${issue.path.map(String).join(".")}\` does not fit: ${words}` };
}
