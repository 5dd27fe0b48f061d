/** A chunk of a streamed answer (or a whole one) as servers really send it: known fields are kept, odd ones never fail it. */
import { z } from "zod";

const text = z.string().nullish().catch(undefined);

/** Text, or parts of text and thinking (Mistral). */
const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string().optional(), text: text, thinking: z.unknown().optional() }))])
  .nullish()
  .catch(undefined);

const callSchema = z.object({
  index: z.number().int().nonnegative().nullish().catch(undefined),
  id: z
    .union([z.string(), z.number().transform(String)])
    .nullish()
    .catch(undefined),
  function: z.object({ name: text, arguments: z.unknown().optional() }).nullish().catch(undefined),
});
export type CallDelta = z.infer<typeof callSchema>;

const deltaSchema = z.object({
  content: contentSchema,
  reasoning_content: text,
  reasoning: text,
  refusal: text,
  tool_calls: z.array(callSchema).nullish().catch(undefined),
});
export type Delta = z.infer<typeof deltaSchema>;

const choiceSchema = z.object({
  index: z.number().nullish().catch(undefined),
  delta: deltaSchema.nullish().catch(undefined),
  message: deltaSchema.nullish().catch(undefined),
  finish_reason: text,
  usage: z.unknown().optional(),
});

export const chunkSchema = z.object({
  model: text,
  choices: z.array(choiceSchema).nullish().catch(undefined),
  usage: z.unknown().optional(),
  error: z.unknown().optional(),
  // vLLM: an error as a bare object
  object: text,
  message: z.unknown().optional(),
  code: z.unknown().optional(),
});
export type Chunk = z.infer<typeof chunkSchema>;

/** Text and thinking of one delta, in order. The two names of the thinking field often carry the same text: one is taken. */
export function partsOf(delta: Delta): { kind: "text" | "thinking"; text: string }[] {
  const parts: { kind: "text" | "thinking"; text: string }[] = [];
  const thinking = delta.reasoning_content || delta.reasoning;
  if (thinking) parts.push({ kind: "thinking", text: thinking });
  if (typeof delta.content === "string") parts.push({ kind: "text", text: delta.content });
  for (const part of typeof delta.content === "string" ? [] : (delta.content ?? [])) {
    const thought = thinkingOf(part.thinking);
    if (thought !== "") parts.push({ kind: "thinking", text: thought });
    if (part.text) parts.push({ kind: "text", text: part.text });
  }
  if (delta.refusal) parts.push({ kind: "text", text: delta.refusal });
  return parts;
}

function thinkingOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value
    .map((part: unknown) => (part !== null && typeof part === "object" && "text" in part && typeof part.text === "string" ? part.text : ""))
    .join("");
}
