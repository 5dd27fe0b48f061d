/** G40: hand-computed totals for the usage blocks of real servers. Cached input is counted once, reasoning is part of output. */
import { describe, expect, it } from "vitest";
import { costOf } from "../../protocol/usage.ts";
import { mapUsage, withReasoningEstimate } from "./map-usage.ts";

const PRICE = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 };

const BLOCKS: [string, unknown, { input: number; output: number; cacheRead: number; cacheWrite: number; reasoning: number }, number][] = [
  [
    "plain",
    { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    300,
  ],
  [
    "openai with cached and reasoning tokens inside",
    {
      prompt_tokens: 1200,
      completion_tokens: 300,
      total_tokens: 1500,
      prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 256 },
    },
    { input: 176, output: 300, cacheRead: 1024, cacheWrite: 0, reasoning: 256 },
    176 + 3000 + 102.4,
  ],
  [
    "vLLM with null details",
    { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55, prompt_tokens_details: null },
    { input: 50, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    100,
  ],
  [
    "deepseek hit and miss",
    {
      prompt_tokens: 700,
      completion_tokens: 40,
      total_tokens: 740,
      prompt_cache_hit_tokens: 640,
      prompt_cache_miss_tokens: 60,
      completion_tokens_details: { reasoning_tokens: 30 },
    },
    { input: 60, output: 40, cacheRead: 640, cacheWrite: 0, reasoning: 30 },
    60 + 400 + 64,
  ],
  [
    "openrouter with cache writes",
    {
      prompt_tokens: 2000,
      completion_tokens: 100,
      total_tokens: 2100,
      cost: 0.01,
      prompt_tokens_details: { cached_tokens: 500, cache_write_tokens: 1000 },
    },
    { input: 500, output: 100, cacheRead: 500, cacheWrite: 1000, reasoning: 0 },
    500 + 1000 + 50 + 1250,
  ],
  [
    "a proxy that counts the cache beside the prompt",
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 515, cache_read_input_tokens: 400, cache_creation_input_tokens: 100 },
    { input: 10, output: 5, cacheRead: 400, cacheWrite: 100, reasoning: 0 },
    10 + 50 + 40 + 125,
  ],
  [
    "xai, whose reasoning stands beside the completion",
    { prompt_tokens: 30, completion_tokens: 10, total_tokens: 140, completion_tokens_details: { reasoning_tokens: 100 } },
    { input: 30, output: 110, cacheRead: 0, cacheWrite: 0, reasoning: 100 },
    30 + 1100,
  ],
  [
    "moonshot with cached tokens at the top",
    { prompt_tokens: 90, completion_tokens: 9, total_tokens: 99, cached_tokens: 64 },
    { input: 26, output: 9, cacheRead: 64, cacheWrite: 0, reasoning: 0 },
    26 + 90 + 6.4,
  ],
];

describe("a usage block", () => {
  it.each(BLOCKS)("adds up to the bill: %s", (_name, block, numbers, microUsd) => {
    const usage = mapUsage(block);
    expect(usage).toMatchObject(numbers);
    expect(costOf(usage ?? numbers, PRICE)).toBeCloseTo(microUsd / 1e6, 12);
    expect(usage?.contextUsed).toBe(numbers.input + numbers.cacheRead + numbers.cacheWrite);
  });

  it.each([
    undefined,
    null,
    "x",
    {},
    { prompt_tokens: 5 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: -1, completion_tokens: 3 },
    { prompt_tokens: "a", completion_tokens: 1 },
  ])("that tells nothing (%j) is absent, not zero", (block) => {
    expect(mapUsage(block)).toBeUndefined();
  });

  it("gets an estimate of reasoning, marked as one, only where thinking came without a number", () => {
    const usage = mapUsage({ prompt_tokens: 10, completion_tokens: 50 });
    expect(usage && withReasoningEstimate(usage, 100)).toMatchObject({ output: 50, reasoning: 25, estimated: true });
    expect(usage && withReasoningEstimate(usage, 0)).toBe(usage);
  });
});
