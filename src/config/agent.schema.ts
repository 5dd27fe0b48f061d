/** agent.yaml (rules of one agent) and the frontmatter of its AGENTS.md (how it is shown). */
import { z } from "zod";
import { agentLoopSchema, budgetSchema } from "./config.schema.ts";

export const agentSchema = z.strictObject({
  kind: z.enum(["chat", "builder"]).default("chat").describe("`builder`: made for long work on code"),
  model: z.string().min(1).optional().describe("An alias or `provider/id`"),
  thinking: z.enum(["off", "low", "medium", "high"]).optional().describe("How much the model is asked to think"),
  agentLoop: agentLoopSchema.prefault({}).describe("Limits of one turn, in place of the server's"),
  budget: budgetSchema.prefault({}).describe("What this agent may cost; the server's budget binds as well"),
  workspace: z
    .strictObject({ path: z.string().min(1).optional().describe("Folder where it works; absent: `workspace.default`") })
    .prefault({}),
  tools: z
    .strictObject({
      deny: z.array(z.string().min(1)).default([]).describe("Tools it does not get: `name`, `toolset:<tag>` or `prefix*`"),
      allow: z.array(z.string().min(1)).default([]).describe("Tools it gets beyond its kind, such as `exec`"),
    })
    .prefault({}),
});
export type AgentFile = z.infer<typeof agentSchema>;

/** Lenient: what does not fit is left out, an extra key does no harm. */
export const frontmatterSchema = z.object({
  name: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  icon: z.string().optional().catch(undefined),
  color: z.string().optional().catch(undefined),
  role: z.string().optional().catch(undefined),
});
export type Frontmatter = z.infer<typeof frontmatterSchema>;
