/**
 * A provider's usage block to one set of numbers that adds up to the bill: `input` is fresh input only, `output` includes
 * reasoning. Not known is absent, never zero (P10).
 */
import { z } from "zod";
import type { Usage } from "../../protocol/usage.ts";

const count = z.number().nonnegative().transform(Math.round).nullish().catch(undefined);

const usageBlock = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z
    .object({ cached_tokens: count, cache_write_tokens: count, cache_creation_tokens: count })
    .nullish()
    .catch(undefined),
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(undefined),
  // DeepSeek: hit + miss = prompt_tokens
  prompt_cache_hit_tokens: count,
  // Moonshot and some proxies: at the top
  cached_tokens: count,
  reasoning_tokens: count,
  // proxies in front of Anthropic models
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});

/** Undefined when the block tells nothing: absent, not an object, without counts, or all of them zero. */
export function mapUsage(raw: unknown): Usage | undefined {
  const parsed = usageBlock.safeParse(raw);
  if (!parsed.success) return undefined;
  const block = parsed.data;
  const prompt = block.prompt_tokens;
  const completion = block.completion_tokens;
  if (typeof prompt !== "number" || typeof completion !== "number" || prompt + completion === 0) return undefined;
  const details = block.prompt_tokens_details;
  const cacheRead = details?.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens ?? block.cache_read_input_tokens ?? 0;
  const cacheWrite = details?.cache_write_tokens ?? details?.cache_creation_tokens ?? block.cache_creation_input_tokens ?? 0;
  const reasoning = block.completion_tokens_details?.reasoning_tokens ?? block.reasoning_tokens ?? 0;
  // Most count cached input inside the prompt, a few beside it; the total tells which.
  const beside =
    cacheRead + cacheWrite > prompt || (block.total_tokens === prompt + completion + cacheRead + cacheWrite && cacheRead + cacheWrite > 0);
  const whole = beside ? prompt + cacheRead + cacheWrite : prompt;
  // The same for reasoning: inside the completion, or (xAI) beside it.
  const apart = reasoning > completion || (reasoning > 0 && block.total_tokens === whole + completion + reasoning);
  return {
    input: whole - cacheRead - cacheWrite,
    output: apart ? completion + reasoning : completion,
    cacheRead,
    cacheWrite,
    reasoning,
    contextUsed: whole,
  };
}

/** Thinking was streamed and the provider told no number for it: four characters a token, marked as an estimate. */
export function withReasoningEstimate(usage: Usage, thinkingChars: number): Usage {
  if (usage.reasoning > 0 || thinkingChars === 0) return usage;
  return { ...usage, reasoning: Math.min(usage.output, Math.ceil(thinkingChars / 4)), estimated: true };
}
