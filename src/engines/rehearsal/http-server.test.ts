import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { Clock } from "../../ports/clock.port.ts";
import { createRehearsalServer, type RehearsalServer, type RehearsalServerParts } from "./http-server.ts";

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
const SCRIPT = `
rehearsal: 1
about: A test.
pace: 0
turns:
  - when: { text: "fail" }
    rounds: [{ fail: { status: 429, retryAfter: 2 } }]
  - when: { text: "hang" }
    rounds: [{ stall: forever }]
  - rounds:
      - { think: Hm., say: "Look.", call: [{ id: now, tool: time_now, input: { a: 1 } }], usage: { input: 10, output: 5, cacheRead: 3, reasoning: 2 } }
      - { say: "It is {{now.data}}." }
`;

let server: RehearsalServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function serve(more: Partial<RehearsalServerParts> = {}): Promise<RehearsalServer> {
  server = await createRehearsalServer({
    clock,
    readScript: (model) => Promise.resolve(model === "x" ? { text: SCRIPT, file: "x.yaml" } : null),
    models: () => Promise.resolve(["x"]),
    ...more,
  });
  return server;
}
const post = (at: RehearsalServer, body: unknown, headers: { [name: string]: string } = {}) =>
  fetch(`${at.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const TOOLS = [{ type: "function", function: { name: "time_now", parameters: {} } }];
const ask = (text: string, more: object = {}) => ({ model: "x", tools: TOOLS, messages: [{ role: "user", content: text }], ...more });

describe("a served rehearsal", () => {
  it("lists its models and counts its requests", async () => {
    const at = await serve();
    expect(await (await fetch(`${at.baseUrl}/models`)).json()).toMatchObject({ object: "list", data: [{ id: "x", object: "model" }] });
    await (await post(at, ask("hi"), { "idempotency-key": "k1" })).text();
    const counted = (await (await fetch(`http://127.0.0.1:${at.port}/__requests`)).json()) as unknown[];
    expect(counted).toMatchObject([{ n: 1, model: "x", text: "hi", messages: 1, tools: ["time_now"], idempotencyKey: "k1", status: 200 }]);
    expect(at.requests().length).toBe(1);
  });

  it("answers whole when no stream is asked for", async () => {
    const body: unknown = await (await post(await serve(), ask("hi"))).json();
    expect(body).toMatchObject({
      object: "chat.completion",
      model: "x",
      choices: [
        {
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: "Look.",
            reasoning_content: "Hm.",
            tool_calls: [{ id: "now_1", type: "function", function: { name: "time_now", arguments: '{"a":1}' } }],
          },
        },
      ],
      usage: {
        prompt_tokens: 13,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it("streams events that end with [DONE], with usage only when asked for", async () => {
    const at = await serve();
    const plain = await (await post(at, ask("hi", { stream: true }))).text();
    expect(plain.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(plain).not.toContain("prompt_tokens");
    expect(await (await post(at, ask("hi", { stream: true, stream_options: { include_usage: true } }))).text()).toContain(
      '"prompt_tokens":13',
    );
  });

  it("goes on by the messages it is sent, and calls no tool that is not offered", async () => {
    const at = await serve();
    const messages = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: null, tool_calls: [{ id: "z", type: "function", function: { name: "time_now", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "z", content: '{"ok":true,"data":7}' },
    ];
    expect(await (await post(at, ask("", { messages }))).json()).toMatchObject({
      choices: [{ message: { content: "It is 7." }, finish_reason: "stop" }],
    });
    expect(await (await post(at, ask("hi", { tools: undefined }))).json()).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  });

  it("fails with the real status and its retry-after", async () => {
    const response = await post(await serve(), ask("fail"));
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) as string } });
  });

  it.each<[string, unknown, number, RegExp]>([
    ["another model", ask("hi", { model: "y" }), 404, /model y does not exist/],
    ["a body that is not JSON", "{", 400, /not JSON/],
    ["a body without messages", { model: "x" }, 400, /messages/],
  ])("refuses %s in the shape clients know", async (_what, body, status, words) => {
    const response = await post(await serve(), body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(words);
  });

  it("refuses a wrong key when it has one, and other paths", async () => {
    const at = await serve({ key: "sk-1" });
    expect((await post(at, ask("hi"))).status).toBe(401);
    expect((await post(at, ask("hi"), { authorization: "Bearer sk-1" })).status).toBe(200);
    expect((await fetch(`${at.baseUrl}/embeddings`, { headers: { authorization: "Bearer sk-1" } })).status).toBe(404);
  });

  it.each<[string, unknown[]]>([
    [
      "a call without a result",
      [
        { role: "user", content: "x" },
        { role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "t", arguments: "{}" } }] },
      ],
    ],
    [
      "a result without a call",
      [
        { role: "user", content: "x" },
        { role: "tool", tool_call_id: "a", content: "{}" },
      ],
    ],
    [
      "broken arguments",
      [
        { role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "t", arguments: "{" } }] },
        { role: "tool", tool_call_id: "a", content: "{}" },
      ],
    ],
    [
      "an empty assistant message",
      [
        { role: "user", content: "x" },
        { role: "assistant", content: "" },
      ],
    ],
  ])("in strict mode refuses %s", async (_what, messages) => {
    const response = await post(await serve({ strict: true }), ask("", { messages }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("invalid_conversation");
  });

  it("forgets a client that leaves while it stalls", async () => {
    const at = await serve();
    const leave = new AbortController();
    at.onRequest(() => leave.abort());
    await expect(
      fetch(`${at.baseUrl}/chat/completions`, { method: "POST", body: JSON.stringify(ask("hang")), signal: leave.signal }),
    ).rejects.toThrow();
    await expect.poll(() => at.requests()[0]?.end).toBe("left");
  });

  it.each(["guide", "tinker", "mishap"])("plays the shipped %s", async (name) => {
    const at = await serve({
      pace: 0,
      readScript: () => Promise.resolve({ text: readFileSync(`rehearsals/${name}.yaml`, "utf8"), file: name }),
    });
    const body = (await (await post(at, ask("hello there"))).json()) as { choices: { message: { content: string } }[] };
    expect(body.choices[0]?.message.content).toMatch(/\w/);
  });
});
