/** What every engine keeps, whoever answers: the same scripts are played in process and over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatMessage, Engine, RoundResult } from "../../../src/ports/engine.port.ts";
import type { ModelInfo } from "../../../src/protocol/model.ts";
import { requestOf, run, streamed, textOf } from "./engine-bench.ts";

export interface EngineUnderTest {
  engine: Engine;
  /** A model that plays this script. */
  model(script: string): ModelInfo;
  close(): Promise<void>;
  /** Resolves when the next request has reached whoever answers. */
  asked(): Promise<void>;
  /** Connections still open at whoever answers. */
  openSockets(): number;
}

const HEAD = "rehearsal: 1\nabout: A test.\npace: 0\nturns:\n";
const LONG = "One two three four five six seven eight nine ten eleven twelve. Ünï 北京 👩‍👩‍👧 end.";

export function engineSuite(name: string, make: () => Promise<EngineUnderTest>): void {
  describe(`the ${name} engine`, () => {
    let under: EngineUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const play = (
      rounds: string,
      messages: ChatMessage[] | string = "go",
      more: Parameters<typeof requestOf>[2] = {},
      onEvent?: Parameters<typeof run>[2],
    ) => run(under.engine, requestOf(under.model(`${HEAD}  - rounds: ${rounds}\n`), messages, more), onEvent);

    it("streams text in several deltas that add up to the block", async () => {
      const { result, events } = await play(`[{ say: "${LONG}" }]`);
      expect(result).toMatchObject({ finish: "stop", calls: [], blocks: [{ kind: "text", blockId: "t1", text: LONG }] });
      expect(events.filter((event) => event.type === "text.delta").length).toBeGreaterThan(3);
      expect(streamed(events)).toBe(LONG);
      expect(events[0]).toEqual({ type: "text.start", blockId: "t1" });
      expect(events.at(-1)).toEqual({ type: "text.end", blockId: "t1" });
    });

    it("keeps thinking apart from text, each in its own block, in order", async () => {
      const { result, events } = await play(`[{ think: "Where am I?", say: "Here." }]`);
      expect(result?.blocks).toEqual([
        { kind: "thinking", blockId: "r1", text: "Where am I?" },
        { kind: "text", blockId: "t1", text: "Here." },
      ]);
      expect(events.map((event) => event.type).filter((type) => !type.endsWith("delta"))).toEqual([
        "thinking.start",
        "thinking.end",
        "text.start",
        "text.end",
      ]);
    });

    it("hands over a call with its input as JSON", async () => {
      const { result } = await play(`[{ say: "Look.", call: [{ id: ls, tool: file_list, input: { path: "a\\"b", n: [1, null] } }] }]`);
      expect(result).toMatchObject({ finish: "tools", calls: [{ id: "ls_1", name: "file_list", input: { path: 'a"b', n: [1, null] } }] });
      expect(result?.calls[0]).not.toHaveProperty("broken");
    });

    it("hands over parallel calls in order", async () => {
      const { result } = await play(
        `[{ call: [{ id: a, tool: time_now }, { id: b, tool: file_read, input: { path: x } }, { id: c, tool: time_now }] }]`,
      );
      expect(result?.calls.map((call) => [call.id, call.name])).toEqual([
        ["a_1", "time_now"],
        ["b_2", "file_read"],
        ["c_3", "time_now"],
      ]);
    });

    it("never guesses broken arguments: the input is empty and the reason given", async () => {
      const { result } = await play(`[{ call: [{ tool: exec, raw: '{"command":' }, { tool: exec, raw: "{command: 1}" }] }]`);
      expect(result?.calls).toMatchObject([
        { input: {}, broken: { kind: "cut", raw: '{"command":' } },
        { input: {}, broken: { kind: "malformed", raw: "{command: 1}" } },
      ]);
    });

    it("marks arguments that a limit cut off", async () => {
      const { result } = await play(`[{ call: [{ tool: exec, input: { command: "echo a long command" } }], cut: arguments }]`);
      expect(result).toMatchObject({ finish: "length", calls: [{ input: {}, broken: { kind: "cut" } }] });
    });

    it.each(["text", "finish"])("ends as cut with the text kept when the stream breaks off (%s)", async (cut) => {
      const { result, events } = await play(`[{ say: "half a sentence", cut: ${cut} }]`);
      expect(result?.finish).toBe("cut");
      expect(textOf(result)).toBe("half a sentence");
      expect(streamed(events)).toBe("half a sentence");
    });

    it("fails with STREAM_CUT, which may be tried again, when nothing came before the break", async () => {
      const { error } = await play(`[{ cut: text }]`);
      expect(error).toMatchObject({ code: "STREAM_CUT", retryable: true });
    });

    it.each([
      [401, "PROVIDER_REFUSED_KEY", false],
      [403, "PROVIDER_REFUSED_KEY", false],
      [429, "PROVIDER_LIMITED", true],
      [400, "PROVIDER_FAILED", false],
      [500, "PROVIDER_FAILED", true],
      [503, "PROVIDER_FAILED", true],
    ])("fails at status %i with %s, retryable %s, quoting the server's words", async (status, code, retryable) => {
      const { error } = await play(`[{ fail: { status: ${status}, message: "Words of the server." } }]`);
      expect(error).toMatchObject({ code, retryable });
      expect(error?.message).toContain("Words of the server.");
      expect(error?.partial).toBeUndefined();
    });

    it("says how long a limited server wants to be left alone", async () => {
      const { error } = await play(`[{ fail: { status: 429, retryAfter: 2 } }]`);
      expect(error?.retryAfterMs).toBe(2000);
    });

    it("answers once the failure has been played as often as the script says", async () => {
      const rounds = `[{ fail: { status: 500, times: 2 }, say: "Now." }]`;
      const model = under.model(`${HEAD}  - rounds: ${rounds}\n`);
      const codes: (string | undefined)[] = [];
      for (let attempt = 0; attempt < 3; attempt += 1) codes.push((await run(under.engine, requestOf(model, "times"))).error?.code);
      expect(codes).toEqual(["PROVIDER_FAILED", "PROVIDER_FAILED", undefined]);
    });

    it("fails in mid-stream with what streamed before, not to be tried again by itself", async () => {
      const { error } = await play(`[{ say: "I began", fail: { status: 500, at: middle } }]`);
      expect(error).toMatchObject({ code: "PROVIDER_FAILED", retryable: false });
      expect(textOf(error?.partial)).toBe("I began");
    });

    it("fails with CONTEXT_FULL when the server says that the window is exceeded", async () => {
      const { error } = await play(`[{ fail: { status: 400, message: "This model's maximum context length is 8192 tokens." } }]`);
      expect(error).toMatchObject({ code: "CONTEXT_FULL", retryable: false });
    });

    it.each(["stall: forever", "say: Well, stall: { for: forever, at: middle }"])(
      "ends a silent request at the idle limit with PROVIDER_SILENT (%s)",
      async (stall) => {
        const { error } = await play(`[{ ${stall} }]`, "go", { idleMs: 150 });
        expect(error?.code).toBe("PROVIDER_SILENT");
        expect(textOf(error?.partial)).toBe(stall.startsWith("say") ? "Well" : "");
      },
    );

    it("waits a stall out that is shorter than the idle limit", async () => {
      const { result } = await play(`[{ stall: 100ms, say: "Then this." }]`);
      expect(textOf(result)).toBe("Then this.");
    });

    it("stops at once in mid-stream, and gives back exactly what was shown", async () => {
      let seen = 0;
      const { error, events, endedAfterAbortMs } = await play(`[{ say: "${LONG}", pace: 100 }]`, "go", {}, (event, stop) => {
        if (event.type === "text.delta" && (seen += 1) === 3) stop();
      });
      expect(error?.code).toBe("ABORTED");
      expect(textOf(error?.partial)).toBe(streamed(events));
      expect(streamed(events).length).toBeLessThan(LONG.length);
      expect(endedAfterAbortMs).toBeLessThan(100);
    });

    it("leaves no connection open 100 ms after a stop, also while nothing comes", async () => {
      const stopper = new AbortController();
      const asked = under.asked();
      const ended = under.engine
        .round(requestOf(under.model(`${HEAD}  - rounds: [{ stall: forever }]\n`), "go"), { signal: stopper.signal, emit: () => undefined })
        .catch((error: unknown) => error);
      await asked;
      stopper.abort();
      expect(await ended).toMatchObject({ code: "ABORTED" });
      const until = performance.now() + 100;
      while (under.openSockets() > 0 && performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
      expect(under.openSockets()).toBe(0);
    });

    it("asks nothing when it is stopped before it began", async () => {
      const ended = under.engine.round(requestOf(under.model(`${HEAD}  - rounds: [{ say: x }]\n`), "go"), {
        signal: AbortSignal.abort(),
        emit: () => undefined,
      });
      await expect(ended).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("tells usage with cached input apart from fresh, and nothing when nothing was told", async () => {
      const { result } = await play(`[{ say: a, usage: { input: 120, output: 30, cacheRead: 80, reasoning: 10 } }]`);
      expect(result?.usage).toEqual({
        input: 120,
        output: 30,
        cacheRead: 80,
        cacheWrite: 0,
        reasoning: 10,
        contextUsed: 200,
        contextWindow: 8192,
      });
      const without = await play(`[{ say: a }]`);
      expect(without.result).not.toHaveProperty("usage");
    });

    it("makes no call on a forced finish", async () => {
      const { result } = await play(`[{ call: [{ tool: time_now }] }]`, "go", { toolChoice: "none" });
      expect(result).toMatchObject({ finish: "stop", calls: [] });
      expect(textOf(result)).not.toBe("");
    });

    it("goes through a turn of two rounds with results in between", async () => {
      const script = `[{ call: [{ id: now, tool: time_now }] }, { if: { value: now.ok, is: true }, then: { say: "It is {{now.data.time}}." }, else: { say: no } }]`;
      const first = await play(script);
      const call = first.result?.calls[0];
      const second = await play(script, [
        { role: "system", text: "You are a test." },
        { role: "user", text: "go" },
        { role: "assistant", text: "", calls: [{ id: call?.id ?? "", name: "time_now", arguments: "{}" }] },
        { role: "tool", callId: call?.id ?? "", name: "time_now", text: JSON.stringify({ ok: true, data: { time: "14:31" } }) },
      ]);
      expect(textOf(second.result)).toBe("It is 14:31.");
    });

    it("names the model that answered", async () => {
      const { result } = await play(`[{ say: x }]`);
      expect(result?.model).toMatch(/\S/);
    });

    it("numbers blocks within the round, so that ids are unique", async () => {
      const { result } = await play(`[{ think: a, say: b }]`);
      const ids = (result as RoundResult).blocks.map((block) => block.blockId);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });
}
