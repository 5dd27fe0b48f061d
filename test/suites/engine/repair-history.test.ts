import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../../src/ports/engine.port.ts";
import { violationOf } from "../../../src/engines/rehearsal/strict-conversation.ts";
import { repairHistory, UNKNOWN_OUTCOME } from "../../../src/engines/shared/repair-history.ts";

const person = (text: string): ChatMessage => ({ role: "user", text });
const model = (text: string, ...calls: ([string, string?] | string)[]): ChatMessage => ({
  role: "assistant",
  text,
  calls: calls.map((call) =>
    typeof call === "string" ? { id: call, name: "x", arguments: "{}" } : { id: call[0], name: "x", arguments: call[1] ?? "{}" },
  ),
});
const tool = (callId: string, text = callId): ChatMessage => ({ role: "tool", callId, name: "x", text });

const kinds = (messages: ChatMessage[]) => repairHistory(messages).repairs.map((repair) => repair.kind);

describe("a broken history", () => {
  // G07: an interrupted call left a hole, and every later request was refused
  it("gets an interrupted result for each call without one, next to it and in order", () => {
    const { messages, repairs } = repairHistory([person("go"), model("", "a", "b", "c"), tool("b"), person("next")]);
    expect(messages.slice(2)).toEqual([tool("a", UNKNOWN_OUTCOME), tool("b"), tool("c", UNKNOWN_OUTCOME), person("next")]);
    expect(repairs.map((repair) => repair.kind)).toEqual(["missing-result", "missing-result"]);
  });

  it("has its results put behind their calls when a message stands between, or they come in another order", () => {
    const { messages, repairs } = repairHistory([model("", "a", "b"), tool("b"), person("hole"), tool("a")]);
    expect(messages.slice(1)).toEqual([tool("a"), tool("b"), person("hole")]);
    expect(repairs.map((repair) => repair.kind)).toEqual(["order"]);
  });

  it("takes a result that stands before its call", () => {
    expect(repairHistory([tool("a"), model("", "a")]).messages).toEqual([model("", "a"), tool("a")]);
  });

  it("loses results without a call, and a second result of the same call", () => {
    const { messages } = repairHistory([model("", "a"), tool("a"), tool("a", "again"), tool("z")]);
    expect(messages).toEqual([model("", "a"), tool("a")]);
    expect(kinds([model("", "a"), tool("a"), tool("a", "again"), tool("z")])).toEqual(["orphan-result", "orphan-result"]);
  });

  it("gets unique ids where a model uses one twice, each with its own result", () => {
    const { messages } = repairHistory([model("", "0"), tool("0", "first"), model("", "0"), tool("0", "second")]);
    expect(messages).toEqual([model("", "0"), tool("0", "first"), model("", "0_2"), { ...tool("0_2"), text: "second" }]);
  });

  it("keeps the order of results of two calls in one message under one id", () => {
    const { messages } = repairHistory([model("", "", ""), tool("", "first"), tool("", "second")]);
    expect(messages.slice(1).map((message) => message.text)).toEqual(["first", "second"]);
  });

  it.each(['{"a":', "[1]", "null", "7", "ls -la"])("has %s as arguments replaced by {}", (text) => {
    const { messages, repairs } = repairHistory([model("", ["a", text]), tool("a")]);
    expect(messages[0]).toEqual(model("", "a"));
    expect(repairs.map((repair) => repair.kind)).toEqual(["arguments"]);
  });

  it("loses empty assistant messages and half characters", () => {
    const { messages } = repairHistory([model("  "), person("a\ud83d"), model("\udc00b")]);
    expect(messages).toEqual([person("a\ufffd"), model("\ufffdb")]);
  });

  it("is left alone when nothing is wrong", () => {
    const good = [person("go"), model("I look.", "a", "b"), tool("a"), tool("b"), model("Done.")];
    expect(repairHistory(good)).toEqual({ messages: good, repairs: [] });
  });
});

const text = fc.oneof(fc.constantFrom("", " ", "hello", "\ud83d", "\udc00x"), fc.string({ unit: "binary", maxLength: 6 }));
const id = fc.constantFrom("", "a", "b", "c", "a_2", "\ud800");
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), text }),
  fc.record({
    role: fc.constant("assistant" as const),
    text,
    calls: fc.array(
      fc.record({
        id,
        name: fc.constantFrom("x", "", "y"),
        arguments: fc.oneof(fc.constantFrom("{}", "", '{"a"', "[1]", "null"), fc.json()),
      }),
      { maxLength: 3 },
    ),
  }),
  fc.record({ role: fc.constant("tool" as const), callId: id, name: fc.constantFrom("x", ""), text }),
);

describe("whatever the history", () => {
  it("a strict server accepts what the repair gives, and a second repair changes nothing", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (history) => {
        const { messages } = repairHistory(history);
        expect(violationOf(messages)).toBeNull();
        const again = repairHistory(messages);
        expect(again).toEqual({ messages, repairs: [] });
        const people = (all: ChatMessage[]) => all.filter((one) => one.role === "user").length;
        expect(people(messages)).toBe(people(history));
      }),
      { numRuns: 2_000 },
    );
  });

  it("a change is always told: no repair means the same messages", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (history) => {
        const { messages, repairs } = repairHistory(history);
        const normal = history.map((one) =>
          one.role === "assistant"
            ? { ...one, calls: one.calls.map((call) => ({ ...call, arguments: call.arguments.trim() === "" ? "{}" : call.arguments })) }
            : one,
        );
        const names = (all: ChatMessage[]) => all.map((one) => (one.role === "tool" ? { ...one, name: "" } : one));
        if (repairs.length === 0) expect(names(messages)).toEqual(names(normal));
      }),
      { numRuns: 1_000 },
    );
  });
});
