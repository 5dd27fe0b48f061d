/** config.yaml: every key, its default and what it means. The reference page is made from the descriptions here. */
import { z } from "zod";

const milliseconds = (low: number, high: number) => z.number().int().min(low).max(high);

const priceSchema = z
  .strictObject({
    input: z.number().min(0).describe("Fresh input"),
    output: z.number().min(0).describe("Output"),
    cacheRead: z.number().min(0).default(0).describe("Input read from the provider's cache"),
    cacheWrite: z.number().min(0).default(0).describe("Input written to the provider's cache"),
  })
  .describe("US dollars per million tokens. Without it costs are shown as unknown, never as zero");

const modelEntrySchema = z.strictObject({
  id: z.string().min(1).describe("The model's name as the provider knows it"),
  alias: z
    .string()
    .regex(/^[^/\s]+$/, "an alias has no slash and no blanks")
    .optional()
    .describe("A short name that is unique in the file; agents may use it in place of `provider/id`"),
  contextWindow: z.number().int().min(512).optional().describe("Tokens the model can read at once; the context gauge needs it"),
  maxTokens: z.number().int().min(1).optional().describe("Most tokens of one answer; absent: the provider's own limit"),
  capabilities: z
    .array(z.enum(["text", "image", "pdf", "reasoning"]))
    .default(["text"])
    .describe("What the model can read and do"),
  parallelToolCalls: z.boolean().default(false).describe("True: the calls of one round run at the same time"),
  price: priceSchema.optional(),
});

const providerSchema = z.strictObject({
  engine: z.enum(["openai-compatible", "rehearsal"]).describe("How to talk to it"),
  baseUrl: z
    .url({ protocol: /^https?$/, error: "a web address that begins with http:// or https://" })
    .optional()
    .describe("Address of the model server, up to and with `/v1`"),
  apiKey: z.string().optional().describe("Write `${NAME}`; the value is read from somora.env, then from the environment, for each request"),
  models: z.array(modelEntrySchema).default([]).describe("The models to use from it"),
});

const loopShape = {
  maxRounds: z.number().int().min(1).max(10_000).describe("Model calls one turn may make; then it is asked to finish").default(40),
  maxToolCallsPerTurn: z.number().int().min(1).max(100_000).describe("Tool calls one turn may make").default(120),
  toolCallTimeoutMs: milliseconds(100, 3_600_000).describe("Time limit of one tool call").default(30_000),
  longTaskDefaultTimeoutMs: milliseconds(100, 86_400_000).describe("Time limit of long tools that were given none").default(300_000),
  longTaskMaxTimeoutMs: milliseconds(100, 86_400_000).describe("The longest limit a long tool may be given").default(1_800_000),
};

const dollars = z.number().positive().nullable().default(null);
/** Of the server and, the same, of an agent. */
export const budgetSchema = z.strictObject({
  perTurnUsd: dollars.describe("US dollars one turn may cost; then it asks no model any more. null: no limit"),
  perDayUsd: dollars.describe("US dollars a day may cost, by what is known; then no model is asked until the next day. null: no limit"),
});

export const configSchema = z
  .strictObject({
    server: z
      .strictObject({
        host: z.string().min(1).default("127.0.0.1").describe("Address to listen on. 127.0.0.1 keeps the server to this machine"),
        port: z.number().int().min(0).max(65_535).default(18_737).describe("Port to listen on; 0 takes any free one"),
        drainMs: milliseconds(100, 600_000).default(10_000).describe("How long running turns may go on when the server is asked to stop"),
        resumeAfterRestart: z
          .enum(["all", "off"])
          .default("all")
          .describe("`off`: a turn that a dead server left ends as failed; queues stay"),
      })
      .prefault({}),
    workspace: z
      .strictObject({
        default: z.string().min(1).default("~/somoraworkspace").describe("Folder where agents work that name none of their own"),
      })
      .prefault({}),
    providers: z
      .record(z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "letters, digits, `_`, `.` and `-`"), providerSchema)
      .default({})
      .describe("Where models come from, by name. `rehearsal` is always there"),
    agentLoop: z
      .strictObject({
        ...loopShape,
        wakeGraceMs: milliseconds(100, 600_000)
          .default(3_000)
          .describe("How long finished work waits for its asker before it wakes an idle session; in force once agents ask each other"),
        execMaxConcurrentPerAgent: z
          .number()
          .int()
          .min(1)
          .max(1_000)
          .default(8)
          .describe("Background commands of one agent; in force once `exec` has a background"),
        execMaxConcurrentGlobal: z
          .number()
          .int()
          .min(1)
          .max(10_000)
          .default(32)
          .describe("Background commands on the whole server; in force once `exec` has a background"),
      })
      .prefault({}),
    budget: budgetSchema.prefault({}),
    agents: z
      .strictObject({
        maxSubagents: z.number().int().min(0).max(1_000).default(4).describe("Sub-agents one agent may have at work"),
        maxSubagentsTotal: z.number().int().min(0).max(10_000).default(16).describe("Sub-agents at work on the whole server"),
        maxDepth: z.number().int().min(0).max(16).default(3).describe("How deep sub-agents may start sub-agents"),
        overflow: z.enum(["queue", "refuse"]).default("queue").describe("What happens to one more"),
      })
      .prefault({}),
    store: z
      .strictObject({
        keepStoryDays: z
          .number()
          .int()
          .min(1)
          .max(3_650)
          .default(7)
          .describe("Days the actors' past is kept; conversations and costs stay until deleted"),
      })
      .prefault({}),
    engineWatchdog: z
      .strictObject({
        openaiCompatibleIdleMs: milliseconds(100, 86_400_000)
          .default(1_200_000)
          .describe("A model server that sends nothing for this long is given up"),
      })
      .prefault({}),
  })
  .superRefine((config, context) => {
    const seen = new Map<string, string>();
    for (const [provider, { engine, baseUrl, models }] of Object.entries(config.providers)) {
      if (engine === "openai-compatible" && baseUrl === undefined) {
        context.addIssue({
          code: "custom",
          path: ["providers", provider],
          message: "`baseUrl` is missing; the engine openai-compatible needs it",
        });
      }
      if (provider === "rehearsal" && engine !== "rehearsal") {
        context.addIssue({
          code: "custom",
          path: ["providers", provider, "engine"],
          message: "the provider `rehearsal` has the engine rehearsal",
        });
      }
      models.forEach(({ alias }, index) => {
        if (alias === undefined) return;
        const other = seen.get(alias);
        const here = `providers.${provider}.models.${index}.alias`;
        if (other !== undefined)
          context.addIssue({
            code: "custom",
            path: ["providers", provider, "models", index, "alias"],
            message: `a name that no other model has; ${other} has this one`,
          });
        seen.set(alias, here);
      });
    }
  });
export type Config = z.infer<typeof configSchema>;

/** `agentLoop` of an agent: each key it gives takes the place of the server's. */
export const agentLoopSchema = z.strictObject({
  maxRounds: loopShape.maxRounds.unwrap().optional(),
  maxToolCallsPerTurn: loopShape.maxToolCallsPerTurn.unwrap().optional(),
  toolCallTimeoutMs: loopShape.toolCallTimeoutMs.unwrap().optional(),
  longTaskDefaultTimeoutMs: loopShape.longTaskDefaultTimeoutMs.unwrap().optional(),
  longTaskMaxTimeoutMs: loopShape.longTaskMaxTimeoutMs.unwrap().optional(),
});
