/** The shape of a rehearsal script (contract §7): what stands in `rehearsals/<name>.yaml`. */
import { z } from "zod";

/** A strict object whose refusal of an unknown key names the allowed ones. */
function only<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      const keys = (issue["keys"] as string[]).map((key) => `"${key}"`).join(", ");
      return `unknown key ${keys}; allowed are ${Object.keys(shape).join(", ")}`;
    },
  });
}

const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m)?$/;
const UNIT_MS = { ms: 1, s: 1000, m: 60_000 } as const;

/** `250ms`, `3s`, `2m`; a bare number is seconds; `forever` is null. */
const durationSchema = z.union([z.string(), z.number().nonnegative()]).transform((value, context): number | null => {
  if (value === "forever") return null;
  const match = DURATION.exec(String(value).trim());
  if (match === null) {
    context.issues.push({
      code: "custom",
      input: value,
      message: `${JSON.stringify(value)} is no duration; write 250ms, 3s, 2m or forever`,
    });
    return z.NEVER;
  }
  return Number(match[1]) * UNIT_MS[(match[2] as keyof typeof UNIT_MS | undefined) ?? "s"];
});

const patternSchema = z.string().transform((source, context): RegExp => {
  try {
    return new RegExp(source, "i");
  } catch (error) {
    context.issues.push({
      code: "custom",
      input: source,
      message: `${JSON.stringify(source)} is no regular expression: ${(error as Error).message}`,
    });
    return z.NEVER;
  }
});

const momentSchema = z.enum(["start", "middle"]);

const callSchema = only({
  /** The name by which later rounds look the result up. */
  id: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, "an id begins with a letter and holds letters, digits, _ and -")
    .optional(),
  tool: z.string().min(1),
  input: z.json().optional(),
  /** Sent as it stands, valid or not, in place of `input`. */
  raw: z.string().optional(),
}).refine((call) => call.input === undefined || call.raw === undefined, { error: "a call has either input or raw, not both" });

const usageSchema = only({
  input: z.number().int().nonnegative(),
  output: z.number().int().nonnegative(),
  cacheRead: z.number().int().nonnegative().default(0),
  cacheWrite: z.number().int().nonnegative().default(0),
  reasoning: z.number().int().nonnegative().default(0),
});

const failSchema = only({
  status: z.number().int().min(400).max(599),
  /** Seconds. */
  retryAfter: z.number().nonnegative().optional(),
  message: z.string().optional(),
  /** How often the same request fails before the rest of the round plays; absent: always. Counted by the player, not stored. */
  times: z.number().int().positive().optional(),
  /** `middle`: after think and say, as an error event in the stream. */
  at: momentSchema.default("start"),
});

const stallSchema = z.union(
  [durationSchema.transform((ms) => ({ for: ms, at: "start" as const })), only({ for: durationSchema, at: momentSchema.default("start") })],
  {
    error: (issue) => `${JSON.stringify(issue.input)} is no stall; write 250ms, 3s, 2m, forever, or { for: 3s, at: start | middle }`,
  },
);

const stepShape = {
  think: z.string().optional(),
  say: z.string().optional(),
  call: z.array(callSchema).min(1).optional(),
  usage: usageSchema.optional(),
  /** Words per second for this round; 0 is at once. */
  pace: z.number().nonnegative().optional(),
  cut: z.enum(["text", "arguments", "finish"]).optional(),
  fail: failSchema.optional(),
  stall: stallSchema.optional(),
};
const stepSchema = only(stepShape);

const roundSchema = only({
  ...stepShape,
  if: only({ value: z.string().min(1), is: z.json() }).optional(),
  then: stepSchema.optional(),
  else: stepSchema.optional(),
}).superRefine((round, context) => {
  const plain = Object.keys(stepShape).filter((key) => round[key as keyof typeof stepShape] !== undefined);
  if (round.if === undefined) {
    if (round.then !== undefined || round.else !== undefined) context.addIssue({ code: "custom", message: "then and else need an if" });
    else if (plain.length === 0) context.addIssue({ code: "custom", message: "an empty round: give think, say, call, fail, stall or cut" });
  } else {
    if (round.then === undefined) context.addIssue({ code: "custom", message: "if needs a then" });
    if (plain.length > 0)
      context.addIssue({ code: "custom", message: `beside if stand only then and else; ${plain.join(", ")} goes into one of them` });
  }
});

const whenSchema = only({ text: patternSchema.optional(), steer: patternSchema.optional() }).refine(
  (when) => (when.text === undefined) !== (when.steer === undefined),
  { error: "when has either text or steer" },
);

const entrySchema = only({ when: whenSchema.optional(), rounds: z.array(roundSchema).min(1) });

const outcomeName = z.enum(["completed", "partial", "degraded", "failed", "cancelled", "removed"]);
const outcomeShape = {
  outcome: outcomeName.optional(),
  outcomeReason: z.string().optional(),
  /** Tools in the order they were called. */
  calls: z.array(z.string()).optional(),
  /** Regular expression over the answer. */
  text: patternSchema.optional(),
  /** Code of the error. */
  error: z.string().optional(),
  callsRunTwice: z.number().int().nonnegative().optional(),
};
const expectSchema = z.union(
  [
    only({ send: z.string(), ...outcomeShape }),
    only({ kill: z.string().regex(/^(after|during) (call [A-Za-z_][\w-]*|round \d+|text)$/), then: z.literal("restart"), ...outcomeShape }),
    only({ atEnd: only({ actorsRunning: z.number().int().optional(), processesLeft: z.number().int().optional() }) }),
  ],
  {
    error:
      "an expectation is { send: text, outcome?, outcomeReason?, calls?, text?, error? }, { kill: after call ID, then: restart, … } or { atEnd: … }",
  },
);

export const scriptSchema = only({
  rehearsal: z.literal(1, { error: "rehearsal: 1 has to stand here (the version of the format)" }),
  about: z.string().min(1),
  pace: z.number().nonnegative().default(40),
  turns: z.array(entrySchema).min(1),
  expect: z.array(expectSchema).default([]),
});

export type Script = z.infer<typeof scriptSchema>;
export type ScriptEntry = Script["turns"][number];
export type ScriptRound = ScriptEntry["rounds"][number];
export type ScriptStep = z.infer<typeof stepSchema>;
export type ScriptExpectation = Script["expect"][number];
