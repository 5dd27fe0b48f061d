/** One actor as watchers see it: always the committed state. */
import { z } from "zod";

export const actorStatusSchema = z.enum(["live", "stopping", "suspended", "restarting", "parked", "down"]);

export const actorViewSchema = z.object({
  address: z.string(),
  birth: z.string(),
  /** The chart: `supervisor`, `agent`, `session`, `turn`, `call`. */
  kind: z.string(),
  persona: z.string().optional(),
  /** The chart's own state, dotted. */
  state: z.string(),
  status: actorStatusSchema,
  parent: z.string().nullable(),
  /** Wall clock of the last change of `state` or `status`. */
  since: z.number().int(),
  /** A few plain facts for the row: tool name, what it is about, turn number, model. */
  detail: z.record(z.string(), z.json()),
  waitingFor: z.object({ what: z.string(), since: z.number().int() }).optional(),
  /** Outer effects that run now, by name. */
  pending: z.array(z.object({ name: z.string(), driver: z.string(), since: z.number().int(), attempt: z.number().int() })),
  mailbox: z.number().int(),
  /** Nothing here can move (K14): for what, in words. */
  stuck: z.string().optional(),
  restarts: z.number().int(),
  /** Why it is parked, in words. */
  parkedReason: z.string().optional(),
  /** Of this actor and all below it; null when any part is unknown. Absent when nothing was booked. */
  costUsd: z.number().nullable().optional(),
  nextTimer: z.object({ id: z.string(), at: z.number() }).optional(),
});
export type ActorView = z.infer<typeof actorViewSchema>;

/** One event an actor handled, from its rows. */
export interface StoryStep {
  at: number;
  epoch: number;
  commit: number;
  eventId: string;
  type: string;
  from: string;
  /** Its state after the commit the step is part of. */
  state: string;
  effects: string[];
}
