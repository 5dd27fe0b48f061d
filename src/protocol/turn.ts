/** A turn as HTTP, the command line and `/live` speak of it. */
import { z } from "zod";
import { errorBodySchema, originSchema, outcomeSchema } from "./history.ts";
import { usageSchema } from "./usage.ts";

export const turnStateSchema = z.enum(["pending", "done", "failed", "cancelled", "removed"]);
export type TurnState = z.infer<typeof turnStateSchema>;

export const turnResultSchema = z.object({
  turnId: z.string(),
  agent: z.string(),
  session: z.string(),
  state: turnStateSchema,
  outcome: outcomeSchema.optional(),
  outcomeReason: z.string().optional(),
  finalText: z.string(),
  error: errorBodySchema.optional(),
  toolCalls: z.number().int(),
  rounds: z.number().int(),
  ms: z.number(),
  usage: usageSchema,
  costUsd: z.number().nullable().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  filesWritten: z.array(z.string()),
  media: z.array(z.json()),
  /** For an applied steer: the turn that took it. */
  appliedTo: z.string().optional(),
  position: z.number().int().optional(),
});
export type TurnResult = z.infer<typeof turnResultSchema>;

export const queueEntrySchema = z.object({
  turnId: z.string(),
  position: z.number().int(),
  origin: originSchema,
  preview: z.string(),
  at: z.number().int(),
});
export type QueueEntry = z.infer<typeof queueEntrySchema>;

/** `state` from `outcome`, the table of contract §4. */
export function stateOf(outcome: z.infer<typeof outcomeSchema>): TurnState {
  if (outcome === "failed" || outcome === "cancelled" || outcome === "removed") return outcome;
  return "done";
}

/** Exit code of the command line for a turn, the table of contract §4. */
export function exitCodeOf(result: Pick<TurnResult, "state" | "outcome" | "outcomeReason">): 0 | 1 | 3 {
  if (result.state === "pending") return 3;
  if (result.state !== "done") return 1;
  return result.outcome === "partial" && result.outcomeReason === "cut" ? 1 : 0;
}
