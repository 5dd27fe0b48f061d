/** Rows of a conversation as clients and models see them (contract §8), one schema per kind. */
import { z } from "zod";
import { usageSchema } from "./usage.ts";

export const originSchema = z.looseObject({
  kind: z.enum(["human", "agent", "subagent", "sentinel", "tmux", "browser", "voice", "wake"]),
});
export type Origin = z.infer<typeof originSchema>;

export const errorBodySchema = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }).loose();
export type ErrorBody = z.infer<typeof errorBodySchema>;

export const outcomeSchema = z.enum(["completed", "partial", "degraded", "failed", "cancelled", "removed"]);
export type Outcome = z.infer<typeof outcomeSchema>;

/** What a tool call handed back, as the model and people see it. */
export const toolOutputSchema = z.union([
  z.object({ ok: z.literal(true), data: z.json() }).loose(),
  z.object({ ok: z.literal(false), error: errorBodySchema }).loose(),
]);
export type ToolOutput = z.infer<typeof toolOutputSchema>;

const base = { seq: z.number().int().positive(), at: z.number().int(), turnId: z.string().nullable() };

/** What a model wrote in one go: an answer or a thought. */
const block = {
  text: z.string(),
  attempt: z.number().int().positive(),
  blockId: z.string(),
  round: z.number().int(),
  interrupted: z.boolean().optional(),
  superseded: z.boolean().optional(),
};

export const historyRowSchema = z.discriminatedUnion("kind", [
  z.object({
    ...base,
    kind: z.literal("user_message"),
    data: z.object({
      text: z.string(),
      origin: originSchema,
      steer: z.boolean().optional(),
      steerId: z.string().optional(),
      attachments: z.array(z.json()).optional(),
    }),
  }),
  z.object({
    ...base,
    kind: z.literal("assistant_message"),
    data: z.object({
      ...block,
      model: z.string().optional(),
    }),
  }),
  z.object({
    ...base,
    kind: z.literal("thinking"),
    data: z.object({
      ...block,
      ms: z.number().optional(),
    }),
  }),
  z.object({
    ...base,
    kind: z.literal("tool_call"),
    data: z.object({
      callId: z.string(),
      tool: z.string(),
      input: z.json(),
      round: z.number().int(),
      modelCallId: z.string().optional(),
      broken: z.object({ kind: z.enum(["cut", "malformed"]), error: z.string(), raw: z.string() }).optional(),
    }),
  }),
  z.object({
    ...base,
    kind: z.literal("tool_result"),
    data: z.object({
      callId: z.string(),
      ok: z.boolean(),
      output: z.json(),
      summary: z.string().optional(),
      code: z.string().optional(),
      changes: z.array(z.json()).optional(),
      ms: z.number().optional(),
      interrupted: z.boolean().optional(),
      shortened: z.object({ chars: z.number(), shown: z.number() }).optional(),
    }),
  }),
  z.object({ ...base, kind: z.literal("notice"), data: z.looseObject({ kind: z.string(), text: z.string().optional() }) }),
  z.object({
    ...base,
    kind: z.literal("turn_end"),
    data: z.object({
      outcome: outcomeSchema,
      outcomeReason: z.string().optional(),
      error: errorBodySchema.optional(),
      usage: usageSchema,
      costUsd: z.number().nullable(),
      toolCalls: z.number().int().optional(),
      rounds: z.number().int().optional(),
      ms: z.number().optional(),
      provider: z.string().optional(),
      model: z.string().optional(),
      filesWritten: z.array(z.string()).optional(),
      /** True when the message can be sent again with `retryOf`. */
      retryable: z.boolean().optional(),
      stopped: z.object({ processes: z.number().int(), ms: z.number() }).optional(),
    }),
  }),
]);
export type HistoryRow = z.infer<typeof historyRowSchema>;
export type HistoryKind = HistoryRow["kind"];
