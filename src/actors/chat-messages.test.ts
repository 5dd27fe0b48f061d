import { describe, expect, it } from "vitest";
import type { HistoryRow } from "../protocol/history.ts";
import { chatMessages } from "./chat-messages.ts";

let seq = 0;
const row = (turnId: string, kind: HistoryRow["kind"], data: object): HistoryRow =>
  ({ seq: (seq += 1), at: 0, turnId, kind, data }) as HistoryRow;
const said = (turnId: string, text: string, more: object = {}) => row(turnId, "user_message", { text, origin: { kind: "human" }, ...more });
const answered = (turnId: string, text: string, more: object = {}) =>
  row(turnId, "assistant_message", { text, attempt: 1, blockId: `${turnId}-${text}`, round: 1, ...more });
const called = (turnId: string, callId: string) => row(turnId, "tool_call", { callId, tool: "look", input: { callId }, round: 1 });
const gave = (turnId: string, callId: string) => row(turnId, "tool_result", { callId, ok: true, output: { ok: true, data: callId } });

describe("the conversation a model gets", () => {
  it("has each round's calls in one message and their results behind it in the calls' order", () => {
    const messages = chatMessages([
      said("a", "go"),
      answered("a", "I look"),
      called("a", "c1"),
      called("a", "c2"),
      gave("a", "c2"),
      gave("a", "c1"),
    ]);
    expect(messages.map((message) => (message.role === "tool" ? message.callId : message.role))).toEqual(["user", "assistant", "c1", "c2"]);
  });
  it("leaves out thoughts and superseded attempts, keeps what was cut, and marks steered and own words", () => {
    const messages = chatMessages([
      said("a", "go"),
      answered("a", "half of attempt 1", { interrupted: true, superseded: true }),
      answered("a", "cut", { interrupted: true }),
      said("a", "use gross prices", { steer: true }),
      row("a", "notice", { kind: "limit_near", text: "Come to an end.", toModel: true }),
      row("a", "notice", { kind: "provider_retry", text: "not for the model" }),
    ]);
    expect(messages.map((message) => (message.role === "tool" ? "" : message.text))).toEqual([
      "go",
      "cut",
      "[somora] steered:\nuse gross prices",
      "[somora] Come to an end.",
    ]);
  });
  it("has a message that is tried again where it is tried again, without what the earlier tries left", () => {
    const retried = (turnId: string, of: string) => row(turnId, "notice", { kind: "retried", of, text: "Tried again." });
    const messages = chatMessages([
      said("a", "break"),
      answered("a", "half a", { interrupted: true }),
      said("b", "another"),
      answered("b", "fine"),
      retried("c", "a"),
      answered("c", "half again", { interrupted: true }),
      retried("d", "c"),
    ]);
    expect(messages.map((message) => (message.role === "tool" ? "" : message.text))).toEqual(["another", "fine", "break"]);
  });
});
