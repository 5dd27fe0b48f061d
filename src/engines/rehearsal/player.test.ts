import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../ports/engine.port.ts";
import { playRound } from "./player.ts";
import { readScript } from "./read-script.ts";

const SCRIPT = readScript(
  `
rehearsal: 1
about: A test.
turns:
  - when: { steer: "faster" }
    rounds: [{ say: "Faster, with {{ls.data.count}} files: {{steered}}" }]
  - when: { text: "list" }
    rounds:
      - say: Looking.
        call: [{ id: ls, tool: file_list, input: { path: "." } }, { id: now, tool: time_now }]
      - if: { value: ls.ok, is: false }
        then: { say: "No luck: {{ls.error.message}}", call: [{ id: again, tool: file_list, input: { path: "{{ls.error.code}}", deep: ["{{now.data}}"] } }] }
        else: { say: "{{ls.data.count}} files, {{ls.data.nothing}}" }
      - say: "{{again.data.count}}"
  - rounds: [{ say: "You said {{said}}." }]
`,
  "t.yaml",
);

const person = (text: string): ChatMessage => ({ role: "user", text });
const model = (text: string, ...ids: string[]): ChatMessage => ({
  role: "assistant",
  text,
  calls: ids.map((id) => ({ id, name: "x", arguments: "{}" })),
});
const tool = (callId: string, result: unknown): ChatMessage => ({
  role: "tool",
  callId,
  name: "x",
  text: typeof result === "string" ? result : JSON.stringify(result),
});

describe("a rehearsed round", () => {
  it("counts model rounds since the last person's message and nothing before it", () => {
    const earlier = [person("hello"), model("You said hello."), person("list it")];
    expect(playRound(SCRIPT, earlier)).toMatchObject({
      say: "Looking.",
      calls: [{ id: "ls_1", arguments: '{"path":"."}' }, { id: "now_2" }],
    });
  });

  it("looks results up by the script's ids, whatever ids the calls went by", () => {
    const messages = [
      person("LIST"),
      model("Looking.", "p", "q"),
      tool("p", { ok: true, data: { count: 3 } }),
      tool("q", { ok: true, data: 5 }),
    ];
    expect(playRound(SCRIPT, messages).say).toBe("3 files, (nothing at ls.data.nothing)");
  });

  it("takes the branch its results decide, in earlier rounds too", () => {
    const refused = { ok: false, error: { code: "PATH_DENIED", message: "not there" } };
    const messages = [person("list"), model("", "p", "q"), tool("p", refused), tool("q", { ok: true, data: { at: 7 } })];
    const plan = playRound(SCRIPT, messages);
    expect(plan.say).toBe("No luck: not there");
    expect(JSON.parse(plan.calls[0]?.arguments ?? "")).toEqual({ path: "PATH_DENIED", deep: [{ at: 7 }] });
    const third = [...messages, model("No luck", "z"), tool("z", { ok: true, data: { count: 9 } })];
    expect(playRound(SCRIPT, third).say).toBe("9");
  });

  it("neither matches nor counts what somora says in the user role", () => {
    const messages = [person("list"), person("[somora] hello, 75 % of the rounds are used")];
    expect(playRound(SCRIPT, messages).say).toBe("Looking.");
  });

  it("hands over to a steer entry that fits and ignores a steer that fits none", () => {
    const before = [person("list"), model("Looking.", "p"), tool("p", { ok: true, data: { count: 3 } })];
    expect(playRound(SCRIPT, [...before, person("[somora] steered:\ngo faster")]).say).toBe("Faster, with 3 files: go faster");
    expect(playRound(SCRIPT, [...before, person("[somora] steered:\nhello list")]).say).toBe("3 files, (nothing at ls.data.nothing)");
  });

  it("fills places once: what a person says is not looked up again", () => {
    expect(playRound(SCRIPT, [person("{{said}} {{x}}")]).say).toBe("You said {{said}} {{x}}.");
  });

  it("is refused with REHEARSAL_NO_ANSWER when the entry has no round left", () => {
    expect(() => playRound(SCRIPT, [person("hello"), model("You said hello.")])).toThrowError(
      expect.objectContaining({ code: "REHEARSAL_NO_ANSWER" }) as Error,
    );
  });
});

describe("the shipped rehearsals", () => {
  const sends = (name: string) => {
    const file = `rehearsals/${name}.yaml`;
    const script = readScript(readFileSync(file, "utf8"), file);
    return script.expect.flatMap((entry) => ("send" in entry ? [{ script, entry }] : []));
  };
  it.each(
    ["guide", "tinker", "mishap"].flatMap((name) => sends(name).map(({ script, entry }) => ({ name, script, entry, send: entry.send }))),
  )("$name calls the expected tools and says the expected words at “$send” when all goes well", ({ script, entry }) => {
    const messages: ChatMessage[] = [person(entry.send)];
    const called: string[] = [];
    let text = "";
    for (let round = 0; round < 10; round += 1) {
      const plan = playRound(script, messages);
      if (plan.fail !== null && plan.fail.times === undefined) return expect(entry.outcome).toBe("failed");
      text += plan.say;
      if (plan.cut === "text" || plan.cut === "finish") return expect(entry.outcome).toBe("partial");
      if (plan.calls.length === 0) break;
      const runs = plan.cut !== "arguments" && entry.send !== "json";
      if (runs) called.push(...plan.calls.map((call) => call.name));
      messages.push({ role: "assistant", text: plan.say, calls: plan.calls });
      for (const call of plan.calls) {
        const fails = !runs || entry.send === "tool";
        const result = fails
          ? { ok: false, error: { code: "X", message: "It is not so." } }
          : { ok: true, data: { count: 2, stdout: "Hello, somora." } };
        messages.push({ role: "tool", callId: call.id, name: call.name, text: JSON.stringify(result) });
      }
    }
    expect(entry.outcome).toBe("completed");
    if (entry.calls) expect(called).toEqual(entry.calls);
    if (entry.text) expect(text).toMatch(entry.text);
  });
});
