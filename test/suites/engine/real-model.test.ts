/** The same engine against a real model, where one is at hand: SOMORA_TEST_BASE_URL (with SOMORA_TEST_MODEL), or OPENAI_API_KEY. */
import { describe, expect, it } from "vitest";
import { modelOf, requestOf, run, streamed, textOf } from "./engine-bench.ts";
import { engineAt } from "./served.ts";

const baseUrl = process.env["SOMORA_TEST_BASE_URL"] ?? (process.env["OPENAI_API_KEY"] ? "https://api.openai.com/v1" : null);
const key = process.env["OPENAI_API_KEY"] ?? null;
const WHY = "no real model: set SOMORA_TEST_BASE_URL (and SOMORA_TEST_MODEL), or OPENAI_API_KEY";

async function at(): Promise<{ engine: ReturnType<typeof engineAt>; model: ReturnType<typeof modelOf> }> {
  const engine = engineAt(baseUrl ?? "", key);
  const named = process.env["SOMORA_TEST_MODEL"] ?? (baseUrl?.includes("api.openai.com") ? "gpt-4o-mini" : undefined);
  if (named !== undefined) return { engine, model: modelOf(named, { contextWindow: null }) };
  const listed = (await (await fetch(`${baseUrl}/models`)).json()) as { data: { id: string }[] };
  return { engine, model: modelOf(listed.data[0]?.id ?? "", { contextWindow: null }) };
}

describe("a real model", () => {
  it("streams an answer and tells its usage", { timeout: 120_000 }, async (context) => {
    if (baseUrl === null) return context.skip(WHY);
    const { engine, model } = await at();
    const { result, events, error } = await run(
      engine,
      requestOf(model, "Say the word somora and nothing else.", { tools: [], idleMs: 60_000 }),
    );
    expect(error).toBeUndefined();
    expect(textOf(result).toLowerCase()).toContain("somora");
    expect(streamed(events)).toBe(textOf(result));
    expect(result?.usage?.input).toBeGreaterThan(0);
  });

  it("calls a tool and takes its result", { timeout: 120_000 }, async (context) => {
    if (baseUrl === null) return context.skip(WHY);
    const { engine, model } = await at();
    const question = { role: "user" as const, text: "What time is it? Use the tool time_now, then answer with the time." };
    const first = await run(engine, requestOf(model, [question], { idleMs: 60_000 }));
    const call = first.result?.calls[0];
    expect(call?.name).toBe("time_now");
    const second = await run(
      engine,
      requestOf(
        model,
        [
          question,
          {
            role: "assistant",
            text: textOf(first.result),
            calls: [{ id: call?.id ?? "", name: "time_now", arguments: JSON.stringify(call?.input ?? {}) }],
          },
          { role: "tool", callId: call?.id ?? "", name: "time_now", text: '{"ok":true,"data":{"time":"14:31"}}' },
        ],
        { idleMs: 60_000 },
      ),
    );
    expect(textOf(second.result)).toMatch(/14:31|2:31/);
  });
});
