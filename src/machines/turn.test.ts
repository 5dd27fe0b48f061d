/** What a turn decides: rounds, calls, limits, retries, ends. */
import { describe, expect, it } from "vitest";
import { Play } from "../../test/support/chart-play.ts";
import type { Effect } from "../protocol/effects.ts";
import type { AskedCall, Prepared, RoundValue, TurnContext, TurnEnd } from "./turn-types.ts";
import { turnMachine } from "./turn.machine.ts";

const ADDRESS = "/agents/ada/sessions/main/turns/turn_1";
const SESSION = "/agents/ada/sessions/main";
const facts: Prepared = {
  provider: "p",
  model: "m",
  ref: "p/m",
  rehearsal: false,
  parallel: true,
  maxRounds: 8,
  maxCalls: 20,
  cwd: "/w",
  resume: true,
};
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const call = (tool: string, more: Partial<AskedCall> = {}): AskedCall => ({
  id: "m1",
  tool,
  about: "",
  payload: 1,
  preview: null,
  broken: null,
  repeatable: true,
  limitMs: 1000,
  ...more,
});

class Turn extends Play {
  constructor(prepared: Partial<Prepared> = {}) {
    super(turnMachine, {
      agent: "ada",
      session: "main",
      sessionAddress: SESSION,
      address: ADDRESS,
      turnId: "turn_1",
      origin: { kind: "human" },
      cwd: null,
      model: null,
      at: 1,
    });
    this.send({ type: "prepare.done", name: "prepare", value: { ...facts, ...prepared }, attempt: 1 });
  }
  get context(): TurnContext {
    return this.snapshot.context as TurnContext;
  }
  get end(): TurnEnd {
    return this.snapshot.output as TurnEnd;
  }
  round(value: Partial<RoundValue> = {}, more: object = {}): Effect[] {
    const text = value.blocks === undefined && value.calls === undefined;
    return this.send({
      type: "engine.done",
      name: "engine",
      attempt: 1,
      payloads: [ref("answer", 6), ref("json", 2)],
      value: {
        blocks: text ? [{ kind: "text", blockId: "b1", payload: 0, size: 6 }] : [],
        calls: [],
        finish: value.calls ? "tools" : "stop",
        usage,
        costUsd: 0.5,
        model: "m",
        notices: [],
        ...value,
      },
      ...more,
    });
  }
  calls(...tools: string[]): Effect[] {
    return this.round({ calls: tools.map((tool) => call(tool)) });
  }
  fails(code: string, details: object = {}, value: RoundValue | null = null): Effect[] {
    return this.send({
      type: "engine.failed",
      name: "engine",
      attempt: 1,
      value,
      error: { code, message: `${code} said`, details },
      payloads: [ref("answer", 6)],
    });
  }
  down(name: string, more: object = {}): Effect[] {
    return this.send({
      type: "down",
      address: `${ADDRESS}/calls/${name}`,
      birth: "1.1.1",
      reason: { kind: "normal" },
      lost: [],
      output: {
        token: null,
        end: {
          ok: true,
          summary: "ok",
          code: null,
          ms: 1,
          filesWritten: [],
          changes: [],
          processes: 0,
          output: ref("json", 2),
          interrupted: false,
          known: null,
        },
      },
      ...more,
    });
  }
  resumed(cause: string, pending: string[] = [], timers: string[] = []): Effect[] {
    return this.send({ type: "resumed", cause, pending, timers });
  }
  get spawned(): string[] {
    return this.of("spawn").map(({ name }) => name);
  }
  get request(): Record<string, unknown> | undefined {
    return this.of("perform").find(({ driver }) => driver === "engine")?.request;
  }
  notices(): unknown[] {
    return this.rows("notice").map((row) => row["kind"]);
  }
}

const ref = (kind: string, size: number) => ({ id: `r${kind}`, kind, size, preview: "words" });
const partial: RoundValue = {
  blocks: [{ kind: "text", blockId: "b1", payload: 0, size: 6 }],
  calls: [],
  finish: "cut",
  usage: null,
  costUsd: null,
  model: "m",
  notices: [],
};

describe("a turn", () => {
  it("prepares first, then asks the model once", () => {
    const turn = new Turn();
    expect(turn.state).toBe("calling");
    expect(turn.request).toMatchObject({ round: 1, request: 1, attempt: 1, forced: false });
    expect(turn.of("publish").map(({ type }) => type)).toEqual(["turn.started", "turn.state"]);
  });
  it("is over when the model answers without calls", () => {
    const turn = new Turn();
    turn.round();
    expect(turn.rows("assistant_message")).toHaveLength(1);
    expect(turn.end).toMatchObject({ outcome: "completed", rounds: 1, toolCalls: 0, costUsd: 0.5, usage });
  });
  it("fails with the words of the preparation", () => {
    const turn = new Play(turnMachine, {
      agent: "a",
      session: "s",
      sessionAddress: SESSION,
      address: ADDRESS,
      turnId: "t",
      origin: { kind: "human" },
      cwd: null,
      model: null,
      at: 1,
    });
    turn.send({ type: "prepare.failed", name: "prepare", value: null, attempt: 1, error: { code: "MODEL_UNSET", message: "no model" } });
    expect(turn.snapshot.output).toMatchObject({ outcome: "failed", error: { code: "MODEL_UNSET" } });
  });
  it("adds usage up over its rounds; a round of unknown cost makes the sum unknown", () => {
    const turn = new Turn();
    turn.calls("echo");
    turn.down("1.0");
    turn.round({ blocks: partial.blocks, usage: null });
    expect(turn.end).toMatchObject({ usage, costUsd: null });
  });
});

describe("calls of one round", () => {
  it("start at once when the model has parallel calls, and the next round begins with the last result", () => {
    const turn = new Turn();
    turn.calls("a", "b", "c");
    expect(turn.spawned).toEqual(["calls/1.0", "calls/1.1", "calls/1.2"]);
    turn.down("1.2");
    turn.down("1.0");
    expect(turn.state).toBe("tools");
    turn.down("1.1");
    expect(turn.request).toMatchObject({ round: 2 });
  });
  it("run in order else, each starting in the step that takes the last result", () => {
    const turn = new Turn({ parallel: false });
    turn.calls("a", "b");
    expect(turn.spawned).toEqual(["calls/1.0"]);
    turn.down("1.0");
    expect(turn.rows("tool_result")).toHaveLength(1);
    expect(turn.spawned).toEqual(["calls/1.1"]);
  });
  it.each([
    ["crash", { kind: "crash", error: { code: "CRASHED", message: "planted" } }, "CRASHED"],
    ["gone", { kind: "gone" }, "TOOL_INTERRUPTED"],
    ["stopped", { kind: "stopped", stop: { by: "user", scope: ADDRESS } }, "TOOL_CANCELLED"],
  ])("that end as %s leave a result that says so", (_, reason, code) => {
    const turn = new Turn();
    turn.calls("a");
    turn.down("1.0", { reason, output: null });
    expect(turn.rows("tool_result")).toMatchObject([{ ok: false, code }]);
  });
  it("below a stop are not begun any more", () => {
    const turn = new Turn({ parallel: false });
    turn.calls("a", "b");
    turn.send({ type: "stop", stop: { by: "user", scope: ADDRESS } });
    turn.down("1.0");
    expect(turn.spawned).toEqual([]);
    expect(turn.state).toBe("tools");
  });
  it("are watched again after a crash, only those that run", () => {
    const turn = new Turn();
    turn.calls("a", "b");
    turn.down("1.0");
    turn.resumed("crash");
    expect(turn.of("watch")).toEqual([{ address: `${ADDRESS}/calls/1.1` }]);
    expect(turn.of("send")).toMatchObject([{ to: SESSION, event: { type: "steer.again" } }]);
  });
  it("whose down comes twice leave one result", () => {
    const turn = new Turn();
    turn.calls("a", "b");
    turn.down("1.0");
    turn.down("1.0");
    expect(turn.rows("tool_result")).toEqual([]);
  });
});

describe("limits", () => {
  it("are told at three quarters, once, and the round past them gets no tools", () => {
    const turn = new Turn({ maxRounds: 4 });
    const told: unknown[][] = [];
    for (let round = 1; round <= 4; round += 1) {
      turn.calls("a");
      turn.down(`${round}.0`);
      told.push(turn.notices());
    }
    expect(told).toEqual([[], [], ["limit_near"], ["limit_reached"]]);
    expect(turn.request).toMatchObject({ round: 5, forced: true });
    turn.round();
    expect(turn.end).toMatchObject({ outcome: "partial", outcomeReason: "round_cap" });
  });
  it("of calls: those past it are answered, not run, and the turn ends as tool_budget", () => {
    const turn = new Turn({ maxCalls: 2 });
    turn.calls("a", "b", "c");
    expect(turn.spawned).toHaveLength(2);
    expect(turn.rows("tool_result")).toMatchObject([{ code: "TOOL_LIMIT" }]);
    turn.down("1.0");
    turn.down("1.1");
    expect(turn.request).toMatchObject({ forced: true });
    turn.round();
    expect(turn.end).toMatchObject({ outcome: "partial", outcomeReason: "tool_budget", toolCalls: 2 });
  });
  it("end in our own words when the forced round brings none", () => {
    const turn = new Turn({ maxCalls: 1 });
    turn.calls("a");
    turn.down("1.0");
    turn.round({ blocks: [] });
    expect(turn.rows("assistant_message")).toMatchObject([{ model: "somora" }]);
    expect(turn.end).toMatchObject({ outcome: "degraded", outcomeReason: "force_summary_failed" });
  });
});

describe("arguments that are not JSON", () => {
  const broken = { calls: [call("a", { broken: { kind: "malformed", error: "unexpected end" } })] };
  it("are asked for again, twice, without the model seeing it; then the call goes through as broken", () => {
    const turn = new Turn();
    for (let n = 1; n <= 2; n += 1) {
      turn.round(broken);
      expect(turn.notices()).toEqual(["call_malformed"]);
      expect(turn.request).toMatchObject({ round: 1, request: n + 1 });
    }
    turn.round(broken);
    expect(turn.rows("tool_call")).toMatchObject([{ broken: { kind: "malformed" } }]);
    expect(turn.spawned).toEqual(["calls/1.0"]);
  });
});

describe("a model server that refuses", () => {
  it("is asked again after what it says, at most twice", () => {
    const turn = new Turn();
    for (let n = 0; n < 2; n += 1) {
      turn.fails("PROVIDER_LIMITED", { retryable: true, retryAfterMs: 5000 });
      expect(turn.state).toBe("waiting");
      turn.send({ type: "xstate.after.retry.(machine).waiting" });
      expect(turn.request).toMatchObject({ round: 1 });
    }
    turn.fails("PROVIDER_LIMITED", { retryable: true, retryAfterMs: 5000 });
    expect(turn.end).toMatchObject({ outcome: "failed", retryable: true, error: { code: "PROVIDER_LIMITED" } });
  });
  it("is not waited for over a minute, nor asked again for what another try does not mend", () => {
    for (const details of [{ retryable: true, retryAfterMs: 61_000 }, { retryable: false }]) {
      const turn = new Turn();
      turn.fails("X", details);
      expect(turn.end.outcome).toBe("failed");
    }
  });
  it("in the middle of its text leaves a partial answer, cut", () => {
    const turn = new Turn();
    turn.fails("PROVIDER_FAILED", { retryable: true }, partial);
    expect(turn.rows("assistant_message")).toMatchObject([{ interrupted: true }]);
    expect(turn.end).toMatchObject({ outcome: "partial", outcomeReason: "cut", retryable: true });
  });
  it("that cuts the stream without text is a failure, and no call of it runs", () => {
    const turn = new Turn();
    turn.round({ finish: "cut", calls: [call("a")] });
    expect(turn.end).toMatchObject({ outcome: "failed", error: { code: "STREAM_CUT" } });
    expect(turn.spawned).toEqual([]);
  });
});

describe("a steering message", () => {
  it("goes in before the next request, once, however often it is told", () => {
    const turn = new Turn();
    turn.calls("a");
    const steer = { type: "steer", steerId: "s1", n: 1, text: ref("message", 3) };
    turn.send(steer);
    turn.down("1.0");
    expect(turn.rows("user_message")).toMatchObject([{ steer: true, steerId: "s1" }]);
    expect(turn.of("send")).toMatchObject([{ to: SESSION, event: { type: "steer.applied", steerId: "s1" } }]);
    turn.send(steer);
    expect(turn.context.steers.size).toBe(0);
  });
  it("taken back before is withdrawn; after, it says that it was applied", () => {
    const turn = new Turn();
    turn.send({ type: "steer", steerId: "s1", n: 1, text: ref("message", 3) });
    turn.send({ type: "steer.withdraw", steerId: "s1" });
    expect(turn.of("send")).toMatchObject([{ event: { type: "steer.withdrawn" } }]);
    turn.send({ type: "steer", steerId: "s2", n: 2, text: ref("message", 3) });
    turn.calls("a");
    turn.down("1.0");
    turn.send({ type: "steer.withdraw", steerId: "s2" });
    expect(turn.of("send")).toMatchObject([{ event: { type: "steer.applied", steerId: "s2" } }]);
  });
  it("several go in in the order they came", () => {
    const turn = new Turn();
    turn.calls("a");
    for (const n of [2, 1, 3]) turn.send({ type: "steer", steerId: `s${n}`, n, text: ref("message", 3) });
    turn.down("1.0");
    expect(turn.rows("user_message").map((row) => row["steerId"])).toEqual(["s1", "s2", "s3"]);
  });
});

describe("a turn that was interrupted", () => {
  it("begins a new attempt after a restart; what was stored stays readable and is superseded", () => {
    const turn = new Turn();
    turn.send({ type: "text.stored", name: "engine", blockId: "b1", kind: "text", payloads: [ref("answer", 4)] });
    turn.resumed("restart", ["engine"]);
    expect(turn.rows("assistant_message")).toMatchObject([{ attempt: 1, interrupted: true, superseded: true }]);
    expect(turn.of("publish").map(({ type, data }) => [type, data["attempt"]])).toContainEqual(["turn.started", 2]);
    expect(turn.of("perform")).toEqual([]);
  });
  it("asks again when nothing of its request is to come any more, whatever was dropped", () => {
    const turn = new Turn();
    turn.resumed("crash", []);
    expect(turn.request).toMatchObject({ round: 1, attempt: 2 });
  });
  it("goes on as it is when the request still runs after a crash", () => {
    const turn = new Turn();
    turn.resumed("crash", ["engine"]);
    expect(turn.of("perform")).toEqual([]);
    expect(turn.context.attempt).toBe(1);
  });
  it("waits on for its retry while the timer stands, and asks at once when it is gone", () => {
    const turn = new Turn();
    turn.fails("PROVIDER_LIMITED", { retryable: true, retryAfterMs: 5000 });
    turn.resumed("crash", [], ["xstate.after.retry.(machine).waiting"]);
    expect(turn.state).toBe("waiting");
    turn.resumed("crash", [], []);
    expect(turn.state).toBe("calling");
  });
  it("fails as interrupted where turns are not resumed, and keeps what it had said", () => {
    const turn = new Turn({ resume: false });
    turn.send({ type: "text.stored", name: "engine", blockId: "b1", kind: "text", payloads: [ref("answer", 4)] });
    turn.resumed("restart", ["engine"]);
    expect(turn.rows("assistant_message")).toMatchObject([{ interrupted: true }]);
    expect(turn.of("abort")).toEqual([{ name: "engine" }]);
    expect(turn.end).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
  });
});

describe("a turn that is stopped", () => {
  it("writes what was on the screen, from the request or from what was stored", () => {
    for (const value of [partial, null]) {
      const turn = new Turn();
      turn.send({ type: "text.stored", name: "engine", blockId: "b1", kind: "text", payloads: [ref("answer", 4)] });
      turn.send({ type: "stop", stop: { by: "user", scope: ADDRESS } });
      turn.send({ type: "engine.aborted", name: "engine", attempt: 1, value, payloads: [ref("answer", 6)] });
      expect(turn.rows("assistant_message")).toMatchObject([{ interrupted: true }]);
      expect(turn.done).toBe(false);
    }
  });
  it("asks no model any more when its last call ends", () => {
    const turn = new Turn();
    turn.calls("a");
    turn.send({ type: "stop", stop: { by: "user", scope: ADDRESS } });
    turn.down("1.0");
    expect(turn.request).toBeUndefined();
  });
});
