import { describe, expect, it } from "vitest";
import type { HistoryRow } from "../protocol/history.ts";
import type { ActiveTurn } from "../protocol/session-view.ts";
import { NO_USAGE } from "../protocol/usage.ts";
import { timelineOf } from "./timeline.ts";

let seq = 0;
const row = (kind: HistoryRow["kind"], data: object, turnId = "t1"): HistoryRow =>
  ({ seq: (seq += 1), at: 1, turnId, kind, data }) as HistoryRow;
const call = (callId: string, round = 1): HistoryRow => row("tool_call", { callId, tool: "exec", input: {}, round });
const result = (callId: string, ok = true): HistoryRow => row("tool_result", { callId, ok, output: {} });
const answer = (blockId: string, text: string): HistoryRow => row("assistant_message", { text, attempt: 1, blockId, round: 1 });
const end = (outcome = "completed"): HistoryRow => row("turn_end", { outcome, usage: NO_USAGE, costUsd: null });
const active = (more: Partial<ActiveTurn>): ActiveTurn => ({
  turnId: "t1",
  state: "calling",
  origin: { kind: "human" },
  model: "m",
  rehearsal: false,
  attempt: 1,
  round: 1,
  maxRounds: null,
  startedAt: 1,
  until: null,
  why: null,
  blocks: [],
  calls: [],
  ...more,
});
const keys = (rows: HistoryRow[], turn: ActiveTurn | null = null): string[] =>
  timelineOf({ rows, active: turn }).map((item) => `${item.kind} ${item.key}`);

describe("a timeline", () => {
  it("gives a streaming block the key its row will have", () => {
    const streaming = keys([], active({ blocks: [{ blockId: "b9", kind: "text", attempt: 1, text: "x", offset: 1, open: true }] }));
    expect(streaming).toEqual(["text b:b9"]);
    expect(keys([answer("b9", "x")])).toEqual(streaming);
  });
  it("gives a running call without a row the key its row will have, in the frame of the calls before it", () => {
    const rows = [call("c1"), result("c1")];
    const running = timelineOf({ rows, active: active({ calls: [{ callId: "c2", tool: "exec", input: {}, startedAt: 1 }] }) });
    expect(running.map((item) => item.key)).toEqual(["c:c1"]);
    expect(running[0]).toMatchObject({ kind: "calls", calls: [{ callId: "c1" }, { callId: "c2" }] });
  });
  it("puts calls in a row into one frame and the result into its call", () => {
    const items = timelineOf({ rows: [call("c3"), call("c4"), result("c4"), result("c3", false)], active: null });
    expect(items).toMatchObject([
      {
        kind: "calls",
        calls: [
          { callId: "c3", result: { data: { ok: false } } },
          { callId: "c4", result: { data: { ok: true } } },
        ],
      },
    ]);
  });
  it("counts a failed call as handled once the model went on, and as the end when the turn failed there", () => {
    const on = timelineOf({ rows: [call("c5"), result("c5", false), answer("b1", "so"), end()], active: null });
    expect(on[0]).toMatchObject({ calls: [{ handled: true, ended: false }] });
    const off = timelineOf({ rows: [call("c6"), result("c6", false), end("failed")], active: null });
    expect(off[0]).toMatchObject({ calls: [{ handled: false, ended: true }] });
  });
  it("builds committed items once however many pieces stream behind them", () => {
    const rows = [answer("b2", "x")];
    expect(timelineOf({ rows, active: active({}) })[0]).toBe(timelineOf({ rows, active: active({ attempt: 2 }) })[0]);
  });
});
