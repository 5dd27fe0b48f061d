/**
 * What the runtime adds to a model call: the same request, with about 30 KB of history, sent by the client library alone and
 * by a turn of the whole server (real store, real HTTP to a model server on loopback), interleaved. `turn`: send to settled,
 * for turns of one call. `round`: one more round of a turn with a tool call in between, tool included. Prints one JSON object.
 * `node scripts/bench.mjs model-call [--runs 5]`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { openSomora } from "../src/main/somora.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "5" } } });
const RUNS = Number(values.runs);
const CALLS = 20;
const TEXT = "x".repeat(1_500);

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "bench", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** Answers at once. A message "rounds" gets that many rounds with a tool call before the answer. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { messages } = JSON.parse(Buffer.concat(parts).toString()) as { messages: { role: string; content: string }[] };
    const lastUser = messages.findLastIndex((message) => message.role === "user");
    const rounds = messages.slice(lastUser).filter((message) => message.role === "assistant").length;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (messages[lastUser]?.content.startsWith("rounds") && rounds < CALLS) {
      response.write(
        chunk({ tool_calls: [{ index: 0, id: `t${rounds}`, type: "function", function: { name: "time_now", arguments: "{}" } }] }, null),
      );
      response.write(chunk({}, "tool_calls"));
    } else {
      response.write(chunk({ content: TEXT }, null));
      response.write(chunk({}, "stop"));
    }
    response.end(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "bench", choices: [], usage: { prompt_tokens: 8_000, completion_tokens: 400, total_tokens: 8_400 } })}\n\ndata: [DONE]\n\n`,
    );
  });
}

const server = createServer(answer);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });

async function alone(messages: { role: "user" | "assistant"; content: string }[]): Promise<number> {
  const began = performance.now();
  let text = "";
  for await (const part of await client.chat.completions.create({
    model: "bench",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  }))
    text += part.choices[0]?.delta.content ?? "";
  if (text.length !== TEXT.length) throw new Error("the client alone got another answer");
  return performance.now() - began;
}

const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
const home = join(folder, "home");
mkdirSync(join(home, "agents", "bench"), { recursive: true });
writeFileSync(join(home, "agents", "bench", "AGENTS.md"), "You are measured.\n");
writeFileSync(join(home, "agents", "bench", "agent.yaml"), "model: bench/bench\n");
writeFileSync(
  join(home, "config.yaml"),
  `workspace: { default: ${JSON.stringify(join(folder, "work"))} }\nproviders:\n  bench: { engine: openai-compatible, baseUrl: "${baseURL}", models: [{ id: bench, contextWindow: 200000 }] }\n`,
);
const somora = await openSomora({
  home,
  env: {},
  port: 0,
  fatal: (reason) => {
    throw new Error(reason);
  },
});
const { chat, team } = somora.handles;

const added: number[] = [];
const addedByRound: number[] = [];
const bare: number[] = [];
for (let run = 0; run < RUNS; run += 1) {
  const session = `s${run}`;
  await team.createSession("bench", { slug: session });
  const history: { role: "user" | "assistant"; content: string }[] = [];
  // 30 KB of history first: ten turns.
  for (let n = 0; n < 10; n += 1) {
    await chat.sendSync({ agent: "bench", session, text: TEXT });
    history.push({ role: "user", content: TEXT }, { role: "assistant", content: TEXT });
  }
  for (let n = 0; n < CALLS; n += 1) {
    const one = await alone([...history, { role: "user", content: "go" }]);
    const began = performance.now();
    const result = await chat.sendSync({ agent: "bench", session, text: "go" });
    const whole = performance.now() - began;
    if (result.state !== "done" || result.finalText !== TEXT) throw new Error(`the turn ended otherwise: ${JSON.stringify(result)}`);
    bare.push(one);
    added.push(whole - one);
  }
  const ones: number[] = [];
  for (let n = 0; n < CALLS; n += 1) ones.push(await alone([...history, { role: "user", content: "go" }]));
  const began = performance.now();
  const result = await chat.sendSync({ agent: "bench", session, text: "rounds" });
  if (result.toolCalls !== CALLS) throw new Error(`not all rounds were run: ${result.toolCalls}`);
  const perRound = (performance.now() - began) / (CALLS + 1);
  addedByRound.push(perRound - ones.reduce((sum, ms) => sum + ms, 0) / CALLS);
}
await somora.stop();
server.close();
rmSync(folder, { recursive: true });

function at(numbers: number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number) * 100) / 100;
}
process.stdout.write(
  `${JSON.stringify({ bench: "model-call", runs: RUNS, node: process.version, results: { "client alone, ms": { p50: at(bare, 0.5), p99: at(bare, 0.99) }, "added to a turn of one call, ms": { p50: at(added, 0.5), p99: at(added, 0.99) }, "added by one more round, tool included, ms": { median: at(addedByRound, 0.5), most: at(addedByRound, 1) } } }, null, 2)}\n`,
);
process.exit(0);
