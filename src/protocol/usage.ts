/** What work cost. Unknown is absent or null, never zero (P10). */
import { z } from "zod";

export const usageSchema = z.object({
  /** Fresh input only; cached input is in cacheRead. Tokens. */
  input: z.number().int().nonnegative(),
  output: z.number().int().nonnegative(),
  cacheRead: z.number().int().nonnegative(),
  cacheWrite: z.number().int().nonnegative(),
  reasoning: z.number().int().nonnegative(),
  /** True when any number is our estimate. */
  estimated: z.boolean().optional(),
  /** Prompt tokens of the last request, and the model's window: the context gauge. */
  contextUsed: z.number().int().nonnegative().optional(),
  contextWindow: z.number().int().positive().optional(),
});
export type Usage = z.infer<typeof usageSchema>;

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

/** Sums tokens; the context numbers are those of the later one. */
export function addUsage(a: Usage, b: Usage): Usage {
  const context = b.contextUsed !== undefined ? b : a;
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
    ...(a.estimated || b.estimated ? { estimated: true } : {}),
    ...(context.contextUsed !== undefined ? { contextUsed: context.contextUsed } : {}),
    ...(context.contextWindow !== undefined ? { contextWindow: context.contextWindow } : {}),
  };
}

/** USD per million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** US dollars, or null where the price is not known. Reasoning tokens are part of `output` when providers bill them so; they are not added again. */
export function costOf(usage: Usage, price: Price | null): number | null {
  if (!price) return null;
  return (
    (usage.input * price.input + usage.output * price.output + usage.cacheRead * price.cacheRead + usage.cacheWrite * price.cacheWrite) /
    1e6
  );
}
