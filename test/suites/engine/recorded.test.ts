/** Recorded streams of real servers: what they become, wherever they are cut into pieces (G36), and wherever they end (G37). */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAnswerFold } from "../../../src/engines/openai-compatible/answer-fold.ts";
import { chunkSchema } from "../../../src/engines/openai-compatible/chunk.schema.ts";
import { createEventStream, type StreamEvent } from "../../../src/engines/openai-compatible/event-stream.ts";
import type { RoundResult } from "../../../src/ports/engine.port.ts";
import { modelOf, requestOf, run, streamed, textOf } from "./engine-bench.ts";
import { flush, rawServer, stream, type RawServer } from "./raw-server.ts";
import { engineAt } from "./served.ts";

const folder = new URL("./recorded/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".sse"));
const bytesOf = (name: string) => readFileSync(new URL(name, folder));

const EXPECTED: { [name: string]: Partial<RoundResult> } = {
  "openai-text.sse": {
    finish: "stop",
    model: "gpt-4o-mini-2024-07-18",
    blocks: [{ kind: "text", blockId: "t1", text: "Hello from Málaga, 北京 and 👩‍👩‍👧." }],
    calls: [],
    usage: { input: 156, output: 12, cacheRead: 1024, cacheWrite: 0, reasoning: 0, contextUsed: 1180, contextWindow: 8192 },
  },
  "openai-parallel-tools.sse": {
    finish: "tools",
    blocks: [],
    calls: [
      { id: "call_8aQ", name: "file_list", input: { path: "." } },
      { id: "call_8aR", name: "time_now", input: {} },
    ],
    usage: { input: 210, output: 42, cacheRead: 0, cacheWrite: 0, reasoning: 0, contextUsed: 210, contextWindow: 8192 },
  },
  "ollama-thinking-tool.sse": {
    finish: "tools",
    blocks: [{ kind: "thinking", blockId: "r1", text: "The user wants the time." }],
    calls: [{ id: "call_o4n2", name: "time_now", input: { timezone: "Europe/Berlin" } }],
    usage: { input: 164, output: 38, cacheRead: 0, cacheWrite: 0, reasoning: 6, estimated: true, contextUsed: 164, contextWindow: 8192 },
  },
  "llama-cpp-tool.sse": {
    finish: "tools",
    blocks: [],
    calls: [{ id: "Kx3", name: "file_read", input: { path: "note.md" } }],
    usage: { input: 93, output: 19, cacheRead: 0, cacheWrite: 0, reasoning: 0, contextUsed: 93, contextWindow: 8192 },
  },
  "vllm-reasoning.sse": {
    finish: "stop",
    blocks: [
      { kind: "thinking", blockId: "r1", text: "Short question, short answer." },
      { kind: "text", blockId: "t1", text: "Forty-two." },
    ],
    usage: { input: 31, output: 21, cacheRead: 0, cacheWrite: 0, reasoning: 8, estimated: true, contextUsed: 31, contextWindow: 8192 },
  },
  "openrouter-reasoning-tool.sse": {
    finish: "tools",
    blocks: [
      { kind: "thinking", blockId: "r1", text: "I list first." },
      { kind: "text", blockId: "t1", text: "Let me look." },
    ],
    calls: [{ id: "toolu_01A", name: "file_list", input: { path: "." } }],
    usage: { input: 100, output: 90, cacheRead: 2000, cacheWrite: 300, reasoning: 40, contextUsed: 2400, contextWindow: 8192 },
  },
  "deepseek-reasoner.sse": {
    finish: "stop",
    blocks: [
      { kind: "thinking", blockId: "r1", text: "Strawberry: r thrice." },
      { kind: "text", blockId: "t1", text: "Three r’s." },
    ],
    usage: { input: 60, output: 60, cacheRead: 640, cacheWrite: 0, reasoning: 48, contextUsed: 700, contextWindow: 8192 },
  },
};

/** Without a socket, so that the cut is exactly where the test puts it. */
function decode(pieces: Uint8Array[]): StreamEvent[] {
  const decoder = createEventStream();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function foldPieces(pieces: Uint8Array[]): RoundResult {
  const fold = createAnswerFold({ emit: () => undefined, model: "m", contextWindow: 8192, noCalls: false });
  let ended = false;
  for (const { data } of decode(pieces)) {
    if (data === "[DONE]") ended = true;
    else fold.add(chunkSchema.parse(JSON.parse(data)));
  }
  return fold.finish(ended);
}

describe.each(files)("the stream %s", (name) => {
  const bytes = bytesOf(name);
  let server: RawServer;
  beforeAll(async () => {
    server = await rawServer((response) => void response.end());
  });
  afterAll(() => server.close());

  it("becomes what it says", async () => {
    server.answerWith((response) => {
      stream(response);
      response.end(bytes);
    });
    const { result, events } = await run(engineAt(server.baseUrl), requestOf(modelOf("m"), "go"));
    expect(result).toMatchObject(EXPECTED[name] ?? { finish: "no expectation is written down for this file" });
    expect(streamed(events)).toBe(textOf(result));
    expect(streamed(events, "thinking")).toBe(textOf(result, "thinking"));
  });

  // G36: a character split over two network chunks became replacement characters
  it("becomes the same cut in two at any byte, with LF and with CRLF", () => {
    // The events are compared, not what is folded from them: the fold sees nothing else.
    const whole = JSON.stringify(decode([bytes]));
    for (const all of [bytes, Buffer.from(bytes.toString("utf8").replaceAll("\n", "\r\n"))]) {
      const wrong: number[] = [];
      for (let at = 0; at <= all.length; at += 1) {
        if (JSON.stringify(decode([all.subarray(0, at), all.subarray(at)])) !== whole) wrong.push(at);
      }
      expect(wrong).toEqual([]);
    }
  });

  it("becomes the same one byte at a time", () => {
    expect(foldPieces(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(foldPieces([bytes]));
  });

  // G37: a stream that just ended counted as a normal end, and half a call was run
  it.each(["a clean end", "a reset"])(
    "closed after any of its events by %s is whole, cut, or STREAM_CUT, and a cut one has only what came",
    async (how) => {
      const parts = bytes.toString("utf8").split(/(?<=\n\n)/);
      const finishAt = parts.findIndex((part) => /"finish_reason":"/.test(part));
      const whole = foldPieces([bytes]);
      for (let upTo = 0; upTo < parts.length; upTo += 1) {
        server.answerWith(async (response) => {
          stream(response);
          response.flushHeaders();
          await flush(response, `: begin\n\n${parts.slice(0, upTo).join("")}`);
          if (how === "a clean end") response.end();
          else response.socket?.resetAndDestroy();
        });
        const { result, error, events } = await run(engineAt(server.baseUrl), requestOf(modelOf("m"), "go"));
        const seen = streamed(events);
        if (error) {
          expect(error).toMatchObject({ retryable: true });
          expect(["STREAM_CUT", "PROVIDER_UNREACHABLE"]).toContain(error.code);
          expect(seen).toBe("");
          continue;
        }
        expect(textOf(result)).toBe(seen);
        expect(textOf(whole).startsWith(seen)).toBe(true);
        if (upTo <= finishAt) expect(result?.finish, `${upTo}`).toBe("cut");
        // A reset may overtake the last bytes: then it is cut, never silently whole.
        else if (how === "a clean end") expect(result).toMatchObject({ finish: whole.finish, blocks: whole.blocks, calls: whole.calls });
      }
    },
  );
});

// G37
it("a stream closed in the middle of an event is cut, or STREAM_CUT when nothing had come; never taken for another language", async () => {
  const bytes = bytesOf("openrouter-reasoning-tool.sse");
  const server = await rawServer((response) => void response.end());
  const wrong: string[] = [];
  for (let at = 1; at < bytes.length; at += 17) {
    server.answerWith((response) => {
      stream(response);
      response.end(bytes.subarray(0, at));
    });
    const { result, error } = await run(engineAt(server.baseUrl), requestOf(modelOf("m"), "go"));
    if (error ? error.code !== "STREAM_CUT" : !["cut", "tools"].includes(result?.finish ?? ""))
      wrong.push(`${at}: ${error?.code ?? result?.finish}`);
  }
  await server.close();
  expect(wrong).toEqual([]);
});

it("every recorded stream has its expectation", () => {
  expect(files.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
});
