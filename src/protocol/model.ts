/** Models as configuration, engines and clients name them. A reference is an alias or `provider/id`. */
import { z } from "zod";

export const engineKindSchema = z.enum(["openai-compatible", "rehearsal"]);
export type EngineKind = z.infer<typeof engineKindSchema>;

export interface ModelInfo {
  /** `provider/id` */
  ref: string;
  alias: string | null;
  provider: string;
  id: string;
  engine: EngineKind;
  /** True: every place that shows the name says that it is a rehearsal. */
  rehearsal: boolean;
  contextWindow: number | null;
  maxTokens: number | null;
  capabilities: string[];
  parallelToolCalls: boolean;
  price: { input: number; output: number; cacheRead: number; cacheWrite: number } | null;
  baseUrl: string | null;
}
