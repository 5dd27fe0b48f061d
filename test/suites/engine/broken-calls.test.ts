/** Broken tool calls, replayed from public reports: what goes back to the model afterwards is accepted by a strict server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repairHistory } from "../../../src/engines/shared/index.ts";
import type { ChatMessage, RoundResult } from "../../../src/ports/engine.port.ts";
import { modelOf, requestOf, run, textOf } from "./engine-bench.ts";
import { delta, rawServer, stream, type RawServer } from "./raw-server.ts";
import { engineAt, served } from "./served.ts";

const ARGUMENTS = '{"path":"a\\"b","lines":[1,2.5e3],"deep":{"ok":true,"no":null}}';

let broken: RawServer;
let strict: Awaited<ReturnType<typeof served>>;
beforeAll(async () => {
  broken = await rawServer((response) => void response.end());
  strict = await served();
});
afterAll(async () => {
  await broken.close();
  await strict.close();
});

/** What the turn's chart stores of a round: broken calls as `{}` with an error result. */
function storedAs(result: RoundResult): ChatMessage[] {
  return [
    {
      role: "assistant",
      text: textOf(result),
      calls: result.calls.map((call) => ({ id: call.id, name: call.name, arguments: JSON.stringify(call.input) })),
    },
    ...result.calls.map((call): ChatMessage => ({
      role: "tool",
      callId: call.id,
      name: call.name,
      text: JSON.stringify({ ok: false, error: { code: "TOOL_INPUT_BROKEN", message: call.broken?.error ?? "did not run" } }),
    })),
  ];
}

async function nextRequestIsAccepted(messages: ChatMessage[]): Promise<boolean> {
  const model = strict.model("rehearsal: 1\nabout: x\npace: 0\nturns: [{ rounds: [{ say: one }, { say: two }, { say: three }] }]\n");
  const { error } = await run(strict.engine, requestOf(model, repairHistory(messages).messages));
  return error === undefined;
}

describe("a call whose arguments were cut off", () => {
  // G09: it was stored as it came, and from then on the provider refused the whole conversation
  it.each(["length", "tool_calls", null])(
    "at any position, with finish reason %s, never runs from a guess, and the next request is accepted",
    async (finish) => {
      const wrong: string[] = [];
      for (let at = 1; at < ARGUMENTS.length; at += 1) {
        broken.answerWith((response) => {
          stream(response);
          const call = delta({ tool_calls: [{ index: 0, id: "c1", function: { name: "file_read", arguments: ARGUMENTS.slice(0, at) } }] });
          response.write(`data: ${JSON.stringify(call)}\n\n`);
          if (finish !== null) response.write(`data: ${JSON.stringify(delta({}, finish))}\n\ndata: [DONE]\n\n`);
          response.end();
        });
        const { result } = await run(engineAt(broken.baseUrl), requestOf(modelOf("m"), "go"));
        const call = result?.calls[0];
        if (!result || call?.broken?.kind !== "cut" || JSON.stringify(call.input) !== "{}") wrong.push(`${at}: not marked`);
        else if (result.finish !== (finish === null ? "cut" : finish === "length" ? "length" : "tools"))
          wrong.push(`${at}: ended as ${result.finish}`);
        else if (!(await nextRequestIsAccepted([{ role: "user", text: "go" }, ...storedAs(result)])))
          wrong.push(`${at}: the next request was refused`);
      }
      expect(wrong).toEqual([]);
    },
  );

  it("is refused by the strict server when it is sent back as it came: the server does look", async () => {
    const model = strict.model("rehearsal: 1\nabout: x\nturns: [{ rounds: [{ say: one }, { say: two }] }]\n");
    const messages: ChatMessage[] = [
      { role: "user", text: "go" },
      { role: "assistant", text: "", calls: [{ id: "c", name: "x", arguments: '{"a":' }] },
      { role: "tool", callId: "c", name: "x", text: "{}" },
    ];
    expect((await run(strict.engine, requestOf(model, messages))).error?.message).toContain("no JSON object");
    expect((await run(strict.engine, requestOf(model, messages.slice(0, 2)))).error?.code).toBe("PROVIDER_FAILED");
    expect((await run(strict.engine, requestOf(model, [...messages.slice(0, 1), ...messages.slice(2)]))).error?.code).toBe(
      "PROVIDER_FAILED",
    );
  });
});

describe("a call without arguments", () => {
  // G10: a tool without parameters called with "" crashed the run
  it.each<[string, object]>([
    ["an empty string", { arguments: "" }],
    ["white space", { arguments: " \n" }],
    ["null", { arguments: null }],
    ["nothing at all", {}],
    ["the word null", { arguments: "null" }],
  ])("given as %s has an empty object as input, streamed and whole", async (_form, given) => {
    const calls = [{ index: 0, id: "c", type: "function", function: { name: "time_now", ...given } }];
    for (const whole of [false, true]) {
      broken.answerWith((response) => {
        if (whole) {
          response.writeHead(200, { "content-type": "application/json" });
          response.end(
            JSON.stringify({ model: "m", choices: [{ message: { content: null, tool_calls: calls }, finish_reason: "tool_calls" }] }),
          );
          return;
        }
        stream(response);
        response.end(`data: ${JSON.stringify(delta({ tool_calls: calls }, "tool_calls"))}\n\ndata: [DONE]\n\n`);
      });
      const { result } = await run(engineAt(broken.baseUrl), requestOf(modelOf("m"), "go"));
      expect(result).toMatchObject({ finish: "tools", calls: [{ name: "time_now", input: {} }] });
      expect(result?.calls[0]).not.toHaveProperty("broken");
      expect(await nextRequestIsAccepted([{ role: "user", text: "go" }, ...storedAs(result as RoundResult)])).toBe(true);
    }
  });
});

describe("a conversation with an interrupted call in it", () => {
  // G07: the provider refused every later request
  it.each([
    ["1 of 3 parallel calls unanswered", ["a", "c"]],
    ["all of them unanswered", []],
    ["results in another order", ["c", "b", "a"]],
  ])("is accepted after the repair: %s", async (_what, answered) => {
    const messages: ChatMessage[] = [
      { role: "user", text: "go" },
      { role: "assistant", text: "", calls: ["a", "b", "c"].map((id) => ({ id, name: "x", arguments: "{}" })) },
      ...answered.map((callId): ChatMessage => ({ role: "tool", callId, name: "x", text: "{}" })),
      { role: "user", text: "are you there" },
    ];
    const model = strict.model("rehearsal: 1\nabout: x\nturns: [{ rounds: [{ say: one }] }]\n");
    expect((await run(strict.engine, requestOf(model, messages))).error?.code).toBe("PROVIDER_FAILED");
    expect(await nextRequestIsAccepted(messages)).toBe(true);
  });
});
