import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../ports/engine.port.ts";
import { estimateTokens, fitContext } from "./fit-context.ts";

const talk = (...results: string[]): ChatMessage[] => [
  { role: "user", text: "go" },
  ...results.flatMap((text, index): ChatMessage[] => [
    { role: "assistant", text: "", calls: [{ id: `c${index}`, name: "x", arguments: "{}" }] },
    { role: "tool", callId: `c${index}`, name: "x", text },
  ]),
];
const big = (letter: string) => JSON.stringify({ ok: true, data: letter.repeat(8_000) });
const results = (messages: ChatMessage[]) => messages.filter((message) => message.role === "tool").map((message) => message.text);

describe("a conversation that does not fit its window", () => {
  it("loses the oldest results first, only as many as needed, and each says so", () => {
    const fitted = fitContext(talk(big("a"), big("b"), big("c")), [], 6_000, 1_000);
    if (fitted === "full") throw new Error("it fits");
    const [first, second, third] = results(fitted.messages);
    expect(fitted.shortened).toBe(1);
    expect(JSON.parse(first ?? "")).toMatchObject({
      shortened: true,
      original_size_chars: big("a").length,
      hint: expect.stringContaining("Call the tool again") as string,
    });
    expect([second, third]).toEqual([big("b"), big("c")]);
    expect(estimateTokens(fitted.messages, [])).toBeLessThanOrEqual(5_000);
  });

  it("keeps of the newest result as much as fits", () => {
    const fitted = fitContext(talk(big("a"), big("b")), [], 2_500, 1_000);
    if (fitted === "full") throw new Error("it fits");
    expect(fitted.shortened).toBe(2);
    const [first, second] = results(fitted.messages);
    expect(second?.length).toBeGreaterThan((first?.length ?? 0) * 2);
    expect(estimateTokens(fitted.messages, [])).toBeLessThanOrEqual(1_500);
  });

  it("shortens the arguments of a giant call when results are not enough, still as a JSON object", () => {
    const giant = JSON.stringify({ path: "a.txt", text: "z".repeat(5_000_000) });
    const messages: ChatMessage[] = [
      { role: "user", text: "go" },
      { role: "assistant", text: "", calls: [{ id: "c0", name: "file_write", arguments: giant }] },
      { role: "tool", callId: "c0", name: "file_write", text: big("a") },
      { role: "user", text: "and now?" },
    ];
    const fitted = fitContext(messages, [], 3_000, 1_000);
    if (fitted === "full") throw new Error("it fits");
    const [, assistant] = fitted.messages;
    const shortened: unknown = JSON.parse((assistant?.role === "assistant" ? assistant.calls[0]?.arguments : undefined) ?? "");
    expect(shortened).toMatchObject({ shortened: true, original_size_chars: giant.length });
    expect(estimateTokens(fitted.messages, [])).toBeLessThanOrEqual(2_000);
  });

  it("is full when text alone is too long", () => {
    expect(fitContext([{ role: "user", text: "x".repeat(9_000) }, ...talk(big("a"))], [], 2_000, 500)).toBe("full");
  });

  it("is left alone when it fits, when the window is not known, and counts tools and calls", () => {
    const messages = talk(big("a"));
    expect(fitContext(messages, [], 10_000, 1_000)).toEqual({ messages, shortened: 0 });
    expect(fitContext(messages, [], null, null)).toEqual({ messages, shortened: 0 });
    const tools = [{ name: "x", description: "y".repeat(40_000), inputSchema: {} }];
    expect(fitContext(messages, tools, 10_000, 1_000)).toBe("full");
  });

  it("gives the same result each time, and never a longer one", () => {
    const messages = talk("short", big('"'), big("\\"));
    const once = fitContext(messages, [], 5_000, 1_000);
    expect(fitContext(messages, [], 5_000, 1_000)).toEqual(once);
    if (once === "full") throw new Error("it fits");
    results(once.messages).forEach((text, index) => expect(text.length).toBeLessThanOrEqual(results(messages)[index]?.length ?? 0));
  });
});
