/** A model server that is not ours (`@copilotkit/aimock`): streamed answer, tool call, 429, disconnect. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { modelOf, requestOf, run, streamed, textOf } from "../suites/engine/engine-bench.ts";
import { engineAt } from "../suites/engine/served.ts";

const installed = new URL("./node_modules/@copilotkit/aimock/dist/index.js", import.meta.url);
const WHY = "the peers are not installed: npm --prefix test/peers ci";

/** The part of its interface used here; written down so that types do not need the package. */
interface Mock {
  onMessage(pattern: string, response: object, options?: { chunkSize?: number; latency?: number; disconnectAfterMs?: number }): Mock;
  onToolResult(id: string, response: object): Mock;
  nextRequestError(status: number, body?: { message: string }): Mock;
  start(): Promise<string>;
  stop(): Promise<void>;
}

let mock: Mock | null = null;
let url = "";
beforeAll(async () => {
  if (!existsSync(installed)) return;
  const { LLMock } = (await import(installed.href)) as { LLMock: new (options: object) => Mock };
  mock = new LLMock({ host: "127.0.0.1", port: 0, chunkSize: 8 })
    .onMessage("hello", { content: "Hello from a server that is not ours. ñ 北 👩‍👩‍👧" })
    .onToolResult("call_t1", { content: "It is 14:31." })
    .onMessage("time", { toolCalls: [{ id: "call_t1", name: "time_now", arguments: '{"timezone":"UTC"}' }] })
    .onMessage("limit", { error: { message: "Too many requests.", type: "rate_limit_error" }, status: 429, retryAfter: 7 })
    .onMessage(
      "break",
      { content: "This answer is far too long to arrive before the line is cut." },
      { chunkSize: 4, latency: 20, disconnectAfterMs: 90 },
    );
  url = await mock.start();
});
afterAll(async () => {
  await mock?.stop();
});

const ask = (context: TestContext, messages: Parameters<typeof requestOf>[1]) => {
  if (!mock) return context.skip(WHY);
  return run(engineAt(`${url}/v1`), requestOf(modelOf("gpt-4o-mini"), messages));
};

describe("a model server that is not ours", () => {
  it("streams an answer in several deltas", async (context) => {
    const { result, events } = await ask(context, "hello");
    expect(result?.finish).toBe("stop");
    expect(textOf(result)).toBe("Hello from a server that is not ours. ñ 北 👩‍👩‍👧");
    expect(streamed(events)).toBe(textOf(result));
    expect(events.filter((event) => event.type === "text.delta").length).toBeGreaterThan(2);
  });

  it("calls a tool and takes its result in the next round", async (context) => {
    const question = { role: "user" as const, text: "what time is it" };
    const { result } = await ask(context, [question]);
    expect(result).toMatchObject({ finish: "tools", calls: [{ id: "call_t1", name: "time_now", input: { timezone: "UTC" } }] });
    const second = await ask(context, [
      question,
      { role: "assistant", text: "", calls: [{ id: "call_t1", name: "time_now", arguments: '{"timezone":"UTC"}' }] },
      { role: "tool", callId: "call_t1", name: "time_now", text: '{"ok":true,"data":{"time":"14:31"}}' },
    ]);
    expect(textOf(second.result)).toBe("It is 14:31.");
  });

  it("limits us with 429 and says for how long", async (context) => {
    const { error } = await ask(context, "limit");
    expect(error).toMatchObject({ code: "PROVIDER_LIMITED", retryable: true, retryAfterMs: 7_000 });
    expect(error?.message).toContain("Too many requests.");
  });

  it("disconnects in mid-answer: the text is kept and the round is cut", async (context) => {
    const { result, events } = await ask(context, "break");
    expect(result?.finish).toBe("cut");
    expect(textOf(result).length).toBeGreaterThan(0);
    expect("This answer is far too long to arrive before the line is cut.".startsWith(textOf(result))).toBe(true);
    expect(streamed(events)).toBe(textOf(result));
  });
});
