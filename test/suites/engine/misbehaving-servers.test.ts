/**
 * Servers as they are. Defects this file would catch: a page of HTML taken for an answer; a key in an error message; a request
 * that hangs because the server never closes; a call run from half its arguments; calls of one round melted into one; a request
 * refused for a key that could be left out; anything of this machine sent along unasked.
 */
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelOf, requestOf, run, streamed, textOf } from "./engine-bench.ts";
import { delta, events, flush, rawServer, stream, type RawAnswer, type RawServer } from "./raw-server.ts";
import { engineAt } from "./served.ts";

let server: RawServer;
beforeAll(async () => {
  server = await rawServer((response) => void response.end());
});
afterAll(() => server.close());

const ask = (answer: RawAnswer, more: Parameters<typeof requestOf>[2] = {}, key: string | null = null) => {
  server.answerWith(answer);
  return run(engineAt(server.baseUrl, key), requestOf(modelOf("m"), "go", more));
};
type SyncAnswer = (response: ServerResponse) => void;
const status =
  (code: number, body: string, headers: { [name: string]: string } = {}): SyncAnswer =>
  (response) => {
    response.writeHead(code, { "content-type": body.startsWith("<") ? "text/html" : "application/json", ...headers });
    response.end(body);
  };
const sse =
  (...chunks: unknown[]): SyncAnswer =>
  (response) => {
    stream(response);
    response.end(events(...chunks));
  };
const error = (message: string, more: object = {}) => JSON.stringify({ error: { message, type: "invalid_request_error", ...more } });
const HTML = "<!DOCTYPE html><html><head><title>Welcome to nginx!</title></head><body>Hi</body></html>";

describe("what is not a model server", () => {
  it.each([200, 404])("is named when it answers HTML with %i, with the way out", async (code) => {
    const { error: refused } = await ask(status(code, HTML));
    expect(refused).toMatchObject({ code: "PROVIDER_NOT_JSON", retryable: false, hint: expect.stringContaining("/v1") as string });
    expect(refused?.message).toContain("Welcome to nginx!");
    expect(refused?.message).toContain(server.baseUrl);
  });

  it("is named with the address it redirects to", async () => {
    const { error: moved } = await ask(status(301, "", { location: "https://models.example/v1" }));
    expect(moved).toMatchObject({ code: "PROVIDER_NOT_JSON", message: expect.stringContaining("https://models.example/v1") as string });
  });

  it("is named when it streams something else, or JSON that is no answer", async () => {
    const plain = await ask((response) => {
      stream(response);
      response.end("hello, this is\nno event stream\n");
    });
    expect(plain.error).toMatchObject({ code: "PROVIDER_NOT_JSON", message: expect.stringContaining("hello, this is") as string });
    expect((await ask(status(200, '{"hello":1}'))).error?.code).toBe("PROVIDER_NOT_JSON");
    expect((await ask(sse("not json"))).error?.code).toBe("PROVIDER_NOT_JSON");
  });

  it("is a failing server all the same when HTML comes with 502", async () => {
    const { error: failed } = await ask(status(502, HTML.replace("Welcome to nginx!", "502 Bad Gateway")));
    expect(failed).toMatchObject({
      code: "PROVIDER_FAILED",
      retryable: true,
      message: expect.stringContaining("502 Bad Gateway") as string,
    });
  });
});

describe("a server that refuses", () => {
  it("for want of a key says how to give one", async () => {
    expect((await ask(status(401, error("No key.")))).error?.hint).toContain("apiKey");
  });

  it("never shows the key, even when the server quotes it", async () => {
    const { error: refused } = await ask(status(401, error("Incorrect API key provided: sk-very-secret.")), {}, "sk-very-secret");
    expect(refused).toMatchObject({ code: "PROVIDER_REFUSED_KEY", message: expect.stringContaining("[key]") as string });
    expect(refused?.message).not.toContain("very-secret");
  });

  it("is left alone as long as it says: in seconds, in milliseconds, or until a date", async () => {
    const inTen = new Date(Date.now() + 10_000).toUTCString();
    expect((await ask(status(429, error("slow down"), { "retry-after": "1.5" }))).error?.retryAfterMs).toBe(1_500);
    expect((await ask(status(429, error("slow down"), { "retry-after-ms": "70" }))).error?.retryAfterMs).toBe(70);
    const dated = (await ask(status(429, error("slow down"), { "retry-after": inTen }))).error;
    expect(dated?.retryAfterMs).toBeGreaterThan(8_000);
    expect(dated?.retryAfterMs).toBeLessThanOrEqual(10_000);
    expect((await ask(status(429, error("slow down"), { "retry-after": "soon" }))).error).not.toHaveProperty(
      "retryAfterMs",
      expect.anything(),
    );
    expect((await ask(status(503, error("overloaded"), { "retry-after": "3" }))).error).toMatchObject({
      code: "PROVIDER_FAILED",
      retryable: true,
      retryAfterMs: 3_000,
    });
  });

  it("without a word is told in whole sentences, not in those of the client library", async () => {
    const { error: limited } = await ask(status(429, "", { "retry-after": "2" }));
    expect(limited?.message).toBe("The model server limits requests (429): it gave no reason. Again in 2 s.");
    expect((await ask(status(503, "down"))).error?.message).toBe("The model server answered with an error (503): down.");
  });

  it("for want of money is not asked again", async () => {
    const { error: refused } = await ask(status(429, error("You exceeded your current quota.", { code: "insufficient_quota" })));
    expect(refused).toMatchObject({ code: "PROVIDER_LIMITED", retryable: false });
  });

  it.each([
    [400, error("too long", { code: "context_length_exceeded" })],
    [400, error("the request exceeds the available context size. try increasing the context size", { type: "exceed_context_size_error" })],
    [400, error("This model's maximum context length is 4096 tokens. However, you requested 5000.")],
    [400, error("prompt is too long: 210000 tokens > 200000 maximum")],
    [500, error("input length exceeds the context window")],
  ])("because the window is full (%i %s) fails with CONTEXT_FULL", async (code, body) => {
    expect((await ask(status(code, body))).error).toMatchObject({ code: "CONTEXT_FULL", retryable: false });
  });

  it.each(["stream_options", "parallel_tool_calls"])("%s is asked once more without it, and not again in later rounds", async (key) => {
    server.answerWith((response, request) => {
      if (key in request.body) status(400, error(`Unrecognized request argument supplied: ${key}`))(response);
      else sse(delta({ content: "fine" }, "stop"))(response);
    });
    const engine = engineAt(server.baseUrl);
    const before = server.requests.length;
    const first = await run(engine, requestOf(modelOf("m"), "go"));
    expect(textOf(first.result)).toBe("fine");
    expect(first.events).toContainEqual({ type: "notice", kind: "key_dropped", text: expect.stringContaining(key) as string });
    expect(server.requests.length - before).toBe(2);
    const second = await run(engine, requestOf(modelOf("m"), "go"));
    expect(server.requests.length - before).toBe(3);
    expect(second.events.some((event) => event.type === "notice")).toBe(false);
  });

  it("reasoning_effort and the old name of max_tokens at once is asked without the one and with the new name of the other", async () => {
    server.answerWith((response, request) => {
      if ("reasoning_effort" in request.body) status(422, error("Extra inputs are not permitted: reasoning_effort"))(response);
      else if ("max_tokens" in request.body)
        status(400, error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))(response);
      else sse(delta({ content: "fine" }, "stop"))(response);
    });
    const model = modelOf("m", { capabilities: ["text", "reasoning"] });
    const { result } = await run(engineAt(server.baseUrl), requestOf(model, "go", { thinking: "high" }));
    expect(textOf(result)).toBe("fine");
    expect(server.requests.at(-3)?.body["reasoning_effort"]).toBe("high");
    expect(server.requests.at(-1)?.body).toMatchObject({ max_completion_tokens: 512 });
  });

  it("the request for another reason is asked once", async () => {
    const before = server.requests.length;
    expect((await ask(status(400, error("messages: invalid")))).error).toMatchObject({ code: "PROVIDER_FAILED", retryable: false });
    expect(server.requests.length - before).toBe(1);
  });
});

describe("a connection that fails", () => {
  it("is PROVIDER_UNREACHABLE with a hint when nobody listens", async () => {
    const closed = createServer();
    const port = await new Promise<number>((resolve) =>
      closed.listen(0, "127.0.0.1", () => resolve((closed.address() as { port: number }).port)),
    );
    await new Promise((resolve) => closed.close(resolve));
    const { error: gone } = await run(engineAt(`http://127.0.0.1:${port}/v1`), requestOf(modelOf("m"), "go"));
    expect(gone).toMatchObject({ code: "PROVIDER_UNREACHABLE", retryable: false, hint: expect.stringContaining("baseUrl") as string });
    expect(gone?.message).toContain("ECONNREFUSED");
  });

  it.each(["no address", "ftp://127.0.0.1/v1"])(
    "is PROVIDER_UNREACHABLE, not to be tried again, when the address is %j",
    async (address) => {
      const { error: wrong } = await run(engineAt(address), requestOf(modelOf("m"), "go"));
      expect(wrong).toMatchObject({ code: "PROVIDER_UNREACHABLE", retryable: false });
      expect(wrong?.message).toContain(address);
    },
  );

  it("may be tried again when it is reset before anything came", async () => {
    const { error: reset } = await ask((response) => void response.socket?.resetAndDestroy());
    expect(reset).toMatchObject({ code: "PROVIDER_UNREACHABLE", retryable: true });
  });

  it("is alive while keep-alives come, however long the answer takes", async () => {
    const { result } = await ask(
      async (response) => {
        stream(response);
        for (let n = 0; n < 8; n += 1) {
          await flush(response, ": still there\n\n");
          await new Promise((resolve) => setTimeout(resolve, 50)); // the passing of real time is what is tested
        }
        response.end(events(delta({ content: "here" }, "stop")));
      },
      { idleMs: 250 },
    );
    expect(textOf(result)).toBe("here");
  });
});

describe("a stream that does not end as it should", () => {
  const socketsGone = async () => {
    const until = performance.now() + 100;
    while (server.openSockets() > 0 && performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    return server.openSockets();
  };

  it("is ended by us right after its end mark when the server never closes", async () => {
    const began = performance.now();
    const { result } = await ask((response) => {
      stream(response);
      response.write(events(delta({ content: "done" }, "stop")));
    });
    expect(textOf(result)).toBe("done");
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await socketsGone()).toBe(0);
  });

  it("is whole after its finish reason when neither end mark nor close follow", async () => {
    const { result } = await ask((response) => {
      stream(response);
      response.write(
        `data: ${JSON.stringify({ ...(delta({ content: "done" }, "stop") as object), usage: { prompt_tokens: 3, completion_tokens: 1 } })}\n\n`,
      );
    });
    expect(result).toMatchObject({ finish: "stop", usage: { input: 3, output: 1 } });
    expect(await socketsGone()).toBe(0);
  });

  it("is whole when the end mark comes without a finish reason, and when the finish reason comes without an end mark", async () => {
    expect((await ask(sse(delta({ content: "a" })))).result?.finish).toBe("stop");
    const { result } = await ask((response) => {
      stream(response);
      response.end(`data: ${JSON.stringify(delta({ content: "b" }, "stop"))}`); // not even a line end
    });
    expect(result).toMatchObject({ finish: "stop", blocks: [{ text: "b" }] });
  });

  it.each([
    ["an error field", `data: ${error("boom", { code: 500 })}\n\n`],
    ["an error event", `event: error\ndata: {"message":"boom"}\n\n`],
    ["a bare error object", `data: {"object":"error","message":"boom","code":500}\n\n`],
    ["an error line", `error: {"message":"boom","code":500}\n\n`],
  ])("is a failure with what came before when it breaks with %s", async (_how, text) => {
    const { error: failed } = await ask(async (response) => {
      stream(response);
      await flush(response, `data: ${JSON.stringify(delta({ content: "I began" }))}\n\n`);
      response.end(text);
    });
    expect(failed).toMatchObject({ code: "PROVIDER_FAILED", retryable: false, message: expect.stringContaining("boom") as string });
    expect(textOf(failed?.partial)).toBe("I began");
  });

  it("is read whole when one event has five megabytes, in less than two seconds", async () => {
    const text = "0123456789abcdef".repeat(327_680);
    const began = performance.now();
    const { result } = await ask(sse(delta({ content: text }, "stop")));
    expect(textOf(result).length).toBe(text.length);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  // G36
  it("is read with `data:` without a space, comments between, and lines cut inside CR LF", async () => {
    const { result } = await ask(async (response) => {
      stream(response);
      await flush(response, `:hello\r\ndata:${JSON.stringify(delta({ content: "ñ" }))}\r`);
      await flush(response, `\n\r\n: still there\r\n\r\ndata:${JSON.stringify(delta({ content: " ok" }, "stop"))}\r\n\r`);
      response.end("\ndata:[DONE]\r\n\r\n");
    });
    expect(result).toMatchObject({ finish: "stop", blocks: [{ text: "ñ ok" }] });
  });

  it("never shows half a character when a server escapes one into two deltas", async () => {
    const { result, events: seen } = await ask((response) => {
      stream(response);
      response.end(
        `data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00b\\ud83d"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
      );
    });
    expect(textOf(result)).toBe("a😀b\ufffd");
    for (const event of seen)
      if (event.type === "text.delta")
        expect(event.text).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
  });
});

describe("a stream under way", () => {
  it("shows nothing more after a stop, also of what came in the same piece", async () => {
    server.answerWith((response) => {
      stream(response);
      response.end(events(...Array.from({ length: 50 }, (_none, n) => delta({ content: `${n} ` })), delta({}, "stop")));
    });
    const { error: stopped, events: seen } = await run(engineAt(server.baseUrl), requestOf(modelOf("m"), "go"), (event, stop) => {
      if (event.type === "text.delta" && event.text === "3 ") stop();
    });
    expect(stopped?.code).toBe("ABORTED");
    expect(streamed(seen)).toBe("0 1 2 3 ");
    expect(textOf(stopped?.partial)).toBe("0 1 2 3 ");
  });

  it("shows its first words before the server sends its second event", async () => {
    let shown: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (shown = resolve));
    server.answerWith(async (response) => {
      stream(response);
      await flush(response, `data: ${JSON.stringify(delta({ content: "first" }))}\n\n`);
      await first;
      response.end(events(delta({ content: " second" }, "stop")));
    });
    const { result } = await run(
      engineAt(server.baseUrl),
      requestOf(modelOf("m"), "go"),
      (event) => event.type === "text.delta" && shown(),
    );
    expect(textOf(result)).toBe("first second");
  });
});

describe("an answer in another dress", () => {
  it("may come whole where a stream was asked for", async () => {
    const message = {
      role: "assistant",
      content: "<think>hm</think>\nhi",
      tool_calls: [{ id: "c", type: "function", function: { name: "time_now", arguments: "" } }],
    };
    const { result, events: seen } = await ask(
      status(
        200,
        JSON.stringify({
          model: "whole",
          choices: [{ index: 0, message, finish_reason: "tool_calls" }],
          usage: { prompt_tokens: 4, completion_tokens: 2 },
        }),
      ),
    );
    expect(result).toMatchObject({
      finish: "tools",
      model: "whole",
      blocks: [
        { kind: "thinking", text: "hm" },
        { kind: "text", text: "hi" },
      ],
      calls: [{ id: "c", name: "time_now", input: {} }],
      usage: { input: 4 },
    });
    expect(streamed(seen)).toBe("hi");
  });

  it("may think inline, the tags cut between deltas", async () => {
    const { result } = await ask(
      sse(...["<thi", "nk>Wh", "ere?</th", "ink>", "\n\n", "He", "re."].map((content) => delta({ content })), delta({}, "stop")),
    );
    expect(result?.blocks).toEqual([
      { kind: "thinking", blockId: "r1", text: "Where?" },
      { kind: "text", blockId: "t1", text: "Here." },
    ]);
  });

  it("may bring thinking and text as parts", async () => {
    const { result } = await ask(
      sse(
        delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
        delta({ content: [{ type: "text", text: "ok" }] }, "stop"),
      ),
    );
    expect(result?.blocks.map((block) => [block.kind, block.text])).toEqual([
      ["thinking", "hm"],
      ["text", "ok"],
    ]);
  });

  const call = (name?: string, text?: unknown, more: object = {}) => ({
    ...more,
    function: { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) },
  });
  const two = [
    { name: "a", input: { x: 1 } },
    { name: "b", input: { y: 2 } },
  ];
  it.each<[string, unknown[]]>([
    [
      "by index, interleaved",
      [
        [call("a", '{"x"', { index: 0, id: "1" }), call("b", '{"y"', { index: 1, id: "2" })],
        [call(undefined, ":1}", { index: 0 }), call(undefined, ":2}", { index: 1 })],
      ],
    ],
    ["whole in one chunk", [[call("a", '{"x":1}', { index: 0, id: "1" }), call("b", '{"y":2}', { index: 1, id: "2" })]]],
    [
      "all under index 0 with ids",
      [[call("a", '{"x":1}', { index: 0, id: "1" })], [call("b", '{"y":', { index: 0, id: "2" })], [call(undefined, "2}", { index: 0 })]],
    ],
    ["all under index 0 without ids", [[call("a", '{"x":1}', { index: 0 })], [call("b", '{"y":2}', { index: 0 })]]],
    ["without index", [[call("a", '{"x"', { id: "1" })], [call(undefined, ":1}")], [call("b", '{"y":2}', { id: "2" })]]],
    ["without index and ids", [[call("a", '{"x":1}'), call("b", '{"y":2}')]]],
    [
      "with the name and id repeated in each piece",
      [
        [call("a", '{"x"', { index: 0, id: "1" })],
        [call("a", ":1}", { index: 0, id: "1" })],
        [call("b", '{"y":2}', { index: 1, id: "2" })],
      ],
    ],
    ["with arguments as objects", [[call("a", { x: 1 }, { index: 0, id: "1" }), call("b", { y: 2 }, { index: 1, id: "2" })]]],
    [
      "with empty names and null arguments in later pieces",
      [
        [call("a", null, { index: 0, id: "1" })],
        [call("", '{"x":1}', { index: 0, id: "" })],
        [call("b", '{"y":2}', { index: 1, id: "2" })],
      ],
    ],
    ["with numbers as ids", [[call("a", '{"x":1}', { index: 0, id: 1 }), call("b", '{"y":2}', { index: 1, id: 2 })]]],
  ])("may bring its two calls %s", async (_how, chunks) => {
    const { result } = await ask(sse(...chunks.map((calls) => delta({ tool_calls: calls })), delta({}, "stop")));
    expect(result?.finish).toBe("tools");
    expect(result?.calls).toMatchObject(two);
    expect(result?.calls.length).toBe(2);
  });

  it("keeps a call without arguments apart from the next one under the same index", async () => {
    const { result } = await ask(
      sse(
        delta({ tool_calls: [call("a", "", { index: 0, id: "1" })] }),
        delta({ tool_calls: [call("b", '{"y":2}', { index: 0, id: "2" })] }, "stop"),
      ),
    );
    expect(result?.calls).toMatchObject([
      { id: "1", name: "a", input: {} },
      { id: "2", name: "b", input: { y: 2 } },
    ]);
  });

  it("never makes a call out of none: tools that were not offered are ignored, with a notice", async () => {
    const { result, events: seen } = await ask(sse(delta({ content: "Sum.", tool_calls: [call("a", "{}", { index: 0 })] }, "tool_calls")), {
      toolChoice: "none",
    });
    expect(result).toMatchObject({ finish: "stop", calls: [] });
    expect(seen).toContainEqual(expect.objectContaining({ type: "notice", kind: "call_ignored" }));
  });

  it("does not run a call whose arguments the limit kept from beginning", async () => {
    const { result } = await ask(sse(delta({ tool_calls: [call("time_now", "", { index: 0, id: "1" })] }, "length")));
    expect(result).toMatchObject({ finish: "length", calls: [{ name: "time_now", input: {}, broken: { kind: "cut" } }] });
  });
});

describe("a request", () => {
  it("carries the key, our effect key and the conversation, and nothing of this machine", async () => {
    await ask(sse(delta({ content: "x" }, "stop")), { key: "/agents/a#1.1.1.7" }, "sk-test");
    const { headers = {}, body } = server.requests.at(-1) ?? {};
    expect(headers["authorization"]).toBe("Bearer sk-test");
    expect(headers["idempotency-key"]).toBe("/agents/a#1.1.1.7");
    expect(Object.keys(headers).filter((name) => name.startsWith("x-stainless") || name.startsWith("openai-"))).toEqual([]);
    expect(headers["user-agent"]).toBe("somora");
    expect(body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "go" }],
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        { type: "function", function: { name: "time_now", description: "The time.", parameters: { type: "object", properties: {} } } },
      ],
      tool_choice: "auto",
      parallel_tool_calls: true,
      max_tokens: 512,
    });
  });

  it("without a key carries no authorization, and without tools nothing about tools", async () => {
    await ask(sse(delta({ content: "x" }, "stop")), { tools: [], thinking: "high" });
    const { headers, body = {} } = server.requests.at(-1) ?? {};
    expect(headers).not.toHaveProperty("authorization");
    expect(Object.keys(body).toSorted()).toEqual(["max_tokens", "messages", "model", "stream", "stream_options"]);
  });

  it("goes out with a key trimmed, without one that is empty, and not at all with one that no header can carry", async () => {
    await ask(sse(delta({ content: "x" }, "stop")), { key: "/agents/ñ#1.1.1" }, " sk-test\n");
    expect(server.requests.at(-1)?.headers).toMatchObject({ authorization: "Bearer sk-test", "idempotency-key": "/agents/%C3%B1#1.1.1" });
    await ask(sse(delta({ content: "x" }, "stop")), {}, " ");
    expect(server.requests.at(-1)?.headers).not.toHaveProperty("authorization");
    const before = server.requests.length;
    expect((await ask(sse(), {}, "sk-ключ")).error?.code).toBe("PROVIDER_REFUSED_KEY");
    expect(server.requests.length).toBe(before);
  });

  it("closes its connection after an ordinary answer too", async () => {
    await ask(sse(delta({ content: "x" }, "stop")));
    const until = performance.now() + 100;
    while (server.openSockets() > 0 && performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    expect(server.openSockets()).toBe(0);
  });
});
