/** Would catch: a call that rejects or never ends, a limit or stop that a deaf tool can ignore, an unknown fault without words. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Clock } from "../ports/clock.port.ts";
import type { CallFiles, CallProcesses, ToolHost } from "../ports/host.port.ts";
import type { AgentSettings, SettingsPort } from "../ports/settings.port.ts";
import type { ToolCallResult } from "../ports/tools.port.ts";
import { defineTool, ToolStopped, type ToolContext, type ToolData } from "./define-tool.ts";
import { createRegistry } from "./registry.ts";
import { createRunner } from "./run-tool.ts";

/** Time that moves only by hand. */
function handClock(): Clock & { advance(ms: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    setTimer(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      now += ms;
      for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
        if (timer.at > now || !timers.delete(timer)) continue;
        timer.callback();
      }
    },
  };
}

const agent = { name: "ada", kind: "chat", tools: { deny: [], allow: [] }, loop: { toolCallTimeoutMs: 1_000 } } as unknown as AgentSettings;
const settings = { agent: (name: string) => (name === "ada" ? agent : null), agents: () => ["ada"] } as unknown as SettingsPort;
const files = { changes: [], written: [] } as unknown as CallFiles;
const processes = { endedProcesses: 0, lost: [] } as unknown as CallProcesses;
const host = { files: () => files, processes: () => processes, saveOverflow: () => Promise.resolve(null) } as unknown as ToolHost;

/** Starts one call of a tool that works like `work`. */
function start(
  work: (context: ToolContext<"clock">) => Promise<ToolData>,
  limits = {},
): { clock: ReturnType<typeof handClock>; stop(): void; result: Promise<ToolCallResult>; logged: string[] } {
  const clock = handClock();
  const controller = new AbortController();
  const logged: string[] = [];
  const tool = defineTool({
    name: "probe",
    toolset: "time",
    description: "A tool for tests.",
    input: z.object({}),
    needs: ["clock"],
    repeatable: true,
    limits,
    run: (_, context) => work(context),
  });
  const runner = createRunner({ registry: createRegistry([tool]), settings, clock, host, shared: {}, log: (line) => logged.push(line) });
  const result = runner.run(
    { tool: "probe", input: {}, agent: "ada", session: "main", turnId: null, callId: "c", cwd: "/", effectKey: "k" },
    { signal: controller.signal, progress: () => {} },
  );
  return { clock, stop: () => controller.abort(), result, logged };
}
const code = (result: ToolCallResult): string => (result.output.ok ? "ok" : result.output.error.code);
const never = (): Promise<ToolData> => new Promise(() => {});

describe("a call", () => {
  it("past the agent's limit is ended through its signal", async () => {
    const { clock, result } = start(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("told")))),
    );
    clock.advance(999);
    clock.advance(1);
    expect(code(await result)).toBe("TOOL_TIMEOUT");
  });
  it("that is deaf is given up 9 s after its limit", async () => {
    const { clock, result } = start(never);
    clock.advance(1_000);
    clock.advance(9_000);
    expect([code(await result), (await result).ms]).toEqual(["TOOL_TIMEOUT", 10_000]);
  });
  it("that is deaf is given up 9 s after a stop, and says that it was stopped", async () => {
    const { clock, stop, result } = start(never);
    stop();
    clock.advance(9_000);
    expect([code(await result), (await result).aborted]).toEqual(["TOOL_CANCELLED", true]);
  });
  it("keeps the tool's own limit and its margin", async () => {
    const { clock, result } = start(
      ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ended: true }))),
      { timeoutMs: 5_000, marginMs: 500 },
    );
    clock.advance(5_499);
    clock.advance(1);
    expect((await result).output).toEqual({ ok: true, data: { ended: true } });
  });
  it("that is stopped and has something to say says it", async () => {
    const { stop, result } = start(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new ToolStopped({ half: 1 })))),
    );
    stop();
    expect((await result).output).toMatchObject({ ok: false, error: { code: "TOOL_CANCELLED", half: 1 } });
  });
  it("that was done before the stop arrived is done", async () => {
    const { stop, result } = start(() => Promise.resolve({ a: 1 }));
    const first = await result;
    stop();
    expect([code(first), first.aborted]).toEqual(["ok", undefined]);
  });
  it("that throws what nobody knows fails with its words, and the log has it", async () => {
    const { result, logged } = start(() => Promise.reject(new Error("kaput")));
    expect((await result).output).toMatchObject({
      ok: false,
      error: { code: "TOOL_FAILED", message: "probe failed: kaput.", hint: expect.stringContaining("Try") as string },
    });
    expect(logged).toHaveLength(1);
  });
  it("that throws before it gives a promise fails alike", async () => {
    const { result } = start(() => {
      throw new TypeError("at once");
    });
    expect(code(await result)).toBe("TOOL_FAILED");
  });
  it("whose data is no JSON fails", async () => {
    const circle: ToolData = {};
    circle["self"] = circle;
    expect(code(await start(() => Promise.resolve(circle)).result)).toBe("TOOL_FAILED");
    expect(code(await start(() => Promise.resolve({ big: 1n })).result)).toBe("TOOL_FAILED");
  });
  it("leaves out what is undefined and mends lone surrogates", async () => {
    const { result } = start(() => Promise.resolve({ a: undefined, b: "x\ud800" }));
    expect((await result).output).toEqual({ ok: true, data: { b: "x\u{FFFD}" } });
  });
  it("whose whole result cannot be stored says so in its hint", async () => {
    const { result } = start(() => Promise.resolve({ text: "x".repeat(2_000) }), { maxResultSizeChars: 1_000 });
    expect((await result).output).toMatchObject({
      ok: true,
      data: {
        truncated: true,
        original_size_chars: 2_011,
        cap_chars: 1_000,
        hint: expect.stringContaining("could not be stored") as string,
      },
    });
  });
});
