/**
 * `/live` (contract §5). A frame is `{topic, seq, at, type, data}`; `seq` is `"<epoch>.<n>"`. Live ones (text, thinking,
 * progress) are told while they happen, all others after the commit that holds what they say.
 */
import { z } from "zod";
import { actorViewSchema } from "./actor-view.ts";
import { errorBodySchema, historyRowSchema, originSchema, outcomeSchema } from "./history.ts";
import { usageSchema } from "./usage.ts";

const turn = { turnId: z.string() };
const block = { ...turn, blockId: z.string() };

/** `data` of every frame of a `session:` topic, by type. */
export const sessionFrames = {
  "turn.queued": z.object({ ...turn, position: z.number().int(), text: z.string(), origin: originSchema, at: z.number().int().optional() }),
  "turn.moved": z.object({ ...turn, position: z.number().int() }),
  "turn.removed": z.object({ ...turn, by: z.string().optional() }),
  "turn.started": z.object({
    ...turn,
    origin: originSchema,
    model: z.string(),
    provider: z.string().optional(),
    attempt: z.number().int().positive(),
    rehearsal: z.boolean().optional(),
  }),
  /** What the turn does now: `preparing`, `calling`, `tools`, `waiting` (429), `settling`; `until`: when a wait ends. */
  "turn.state": z.object({
    ...turn,
    state: z.string(),
    round: z.number().int(),
    maxRounds: z.number().int().optional(),
    until: z.number().optional(),
    why: z.string().optional(),
  }),
  "text.start": z.object({ ...block, attempt: z.number().int() }),
  "text.delta": z.object({ ...block, offset: z.number().int(), text: z.string() }),
  "text.end": z.object(block),
  /** A resumed or repeated round asks again: the block's earlier text stays readable as interrupted. */
  "text.reset": z.object({ ...block, attempt: z.number().int() }),
  "thinking.start": z.object({ ...block, attempt: z.number().int() }),
  "thinking.delta": z.object({ ...block, offset: z.number().int(), text: z.string() }),
  "thinking.end": z.object(block),
  "call.started": z.object({ ...turn, callId: z.string(), tool: z.string(), input: z.json(), limitMs: z.number().optional() }),
  "call.progress": z.looseObject({ ...turn, callId: z.string(), text: z.string().optional() }),
  "call.settled": z.object({
    ...turn,
    callId: z.string(),
    ok: z.boolean(),
    summary: z.string(),
    ms: z.number(),
    code: z.string().optional(),
  }),
  "steer.accepted": z.object({ steerId: z.string(), text: z.string(), after: z.string().optional() }),
  "steer.applied": z.object({ steerId: z.string(), appliedTo: z.string() }),
  notice: z.looseObject({ kind: z.string(), turnId: z.string().optional(), text: z.string().optional() }),
  "model.fallback": z.looseObject({ turnId: z.string() }),
  "session.changed": z.looseObject({
    model: z.string().nullable().optional(),
    title: z.string().nullable().optional(),
    held: z.boolean().optional(),
    parked: z.string().nullable().optional(),
    by: z.string().optional(),
  }),
  "turn.settled": z.object({
    ...turn,
    outcome: outcomeSchema,
    outcomeReason: z.string().optional(),
    usage: usageSchema,
    costUsd: z.number().nullable(),
    error: errorBodySchema.optional(),
  }),
  /**
   * A committed history row. When the text of an answer or a thought already went out as a block of this topic, `data.text`
   * is empty and `fromBlock` true: the fold takes the block's text. Tool outputs are shown up to 4,000 characters
   * (`data.shortened`); the whole row is at `GET /api/chat/row`.
   */
  "row.added": z.object({ row: historyRowSchema, fromBlock: z.boolean().optional() }),
} as const;
export type SessionFrameType = keyof typeof sessionFrames;
export type SessionFrame = { [Type in SessionFrameType]: { type: Type; data: z.infer<(typeof sessionFrames)[Type]> } }[SessionFrameType];

export const treeFrames = {
  /** At most ten a second: what changed since the last one, and what is gone. */
  "tree.changed": z.object({ actors: z.array(actorViewSchema), gone: z.array(z.string()) }),
} as const;
export type TreeFrame = { type: "tree.changed"; data: z.infer<(typeof treeFrames)["tree.changed"]> };

/** `agents`: the rail. One frame whenever an agent or session appears, goes, or changes its line. */
export const agentLineSchema = z.object({
  name: z.string(),
  description: z.string(),
  icon: z.string().optional(),
  color: z.string().optional(),
  model: z.string().nullable(),
  rehearsal: z.boolean(),
  /** Why it cannot answer (folder gone, agent.yaml invalid), in words. */
  problem: z.string().nullable(),
  sessions: z.array(
    z.object({
      slug: z.string(),
      title: z.string().nullable(),
      createdAt: z.number(),
      lastAt: z.number(),
      newestSeq: z.number().int(),
      state: z.string(),
      queued: z.number().int(),
      parked: z.string().nullable(),
      cwd: z.string().nullable(),
    }),
  ),
});
export type AgentLine = z.infer<typeof agentLineSchema>;
export const agentsFrames = { "agents.changed": z.object({ agents: z.array(agentLineSchema), gone: z.array(z.string()) }) } as const;
export type AgentsFrame = { type: "agents.changed"; data: z.infer<(typeof agentsFrames)["agents.changed"]> };

/** `server`: the truth line. */
export const serverLineSchema = z.object({
  version: z.string(),
  home: z.string(),
  draining: z.boolean(),
  store: z.object({ state: z.enum(["ok", "stalled"]), since: z.number(), reason: z.string().nullable() }),
  /** What the last opening of the store found missing or mended, in words. Absent or null: nothing. */
  storeNotice: z.string().nullable().optional(),
  config: z.object({
    valid: z.boolean(),
    errors: z.array(
      z.object({
        file: z.string(),
        line: z.number(),
        key: z.string(),
        value: z.json(),
        allowed: z.string(),
        near: z.string().nullable(),
        message: z.string(),
      }),
    ),
  }),
  /** Turns held after three starts that died within a minute. */
  held: z.boolean(),
  todayUsd: z.number().nullable(),
  todayUnknown: z.boolean(),
});
export type ServerLine = z.infer<typeof serverLineSchema>;
export const serverFrames = { "server.changed": serverLineSchema } as const;
export type ServerFrame = { type: "server.changed"; data: ServerLine };

/** What the server sends: a numbered frame, a snapshot, or (without topic) an answer to an op. */
export type Frame = { topic: string; seq: string; at: number; type: string; data: unknown };

export const clientOpSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("watch"), topic: z.string().min(1).max(300), since: z.string().max(60).optional() }),
  z.object({ op: z.literal("unwatch"), topic: z.string().min(1).max(300) }),
  z.object({ op: z.literal("ping") }),
]);
export type ClientOp = z.infer<typeof clientOpSchema>;
