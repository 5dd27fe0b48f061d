/** Public reports replayed on the whole runtime in process, by their symptom (bugs.md G06, G07). */
import { describe, expect, it } from "vitest";
import { repairHistory } from "../../../src/engines/shared/index.ts";
import type { HistoryRow } from "../../../src/protocol/history.ts";
import { type Model, openRuntimeWorld, reopenRuntime, type RuntimeWorld } from "../../support/runtime-world.ts";

const said = (rows: HistoryRow[]): string[] => rows.flatMap((row) => (row.kind === "user_message" ? [row.data.text] : []));
const answers = (rows: HistoryRow[]): string[] =>
  rows.flatMap((row) => (row.kind === "assistant_message" && !row.data.interrupted ? [row.data.text] : []));

async function stop(world: RuntimeWorld): Promise<void> {
  const stopping = world.runtime.chat.abort({ agent: "ada", session: "main" });
  await world.time.settle();
  expect(await stopping).toMatchObject({ aborted: true });
}

describe("messages sent while the agent was busy (G06)", () => {
  const busy: Model = (text) => (text === "busy" ? { say: "working", hang: "busy" } : { say: `answer to ${text}` });
  const failing: Model = (text) => (text === "busy" ? { hang: "busy", fail: { code: "PROVIDER_FAILED" } } : { say: `answer to ${text}` });
  const silent: Model = (text) =>
    text === "busy" ? { say: "half", hang: "busy", fail: { code: "PROVIDER_SILENT" } } : { say: `answer to ${text}` };

  async function queued(model: Model): Promise<RuntimeWorld> {
    const world = await openRuntimeWorld({ model });
    await world.send("busy", { clientKey: "0" });
    await world.until("the model hangs", () => world.outside.isWaiting("busy"));
    for (const text of ["one", "two", "three"]) await world.send(text, { clientKey: text });
    return world;
  }
  const inOrder = ["answer to one", "answer to two", "answer to three"];

  it("are answered in order, once each, when the running turn is stopped", async () => {
    const world = await queued(busy);
    await stop(world);
    await world.idle();
    const rows = await world.history();
    expect(answers(rows)).toEqual(inOrder);
    expect(said(rows)).toEqual(["busy", "one", "two", "three"]);
  });
  it.each([
    ["fails with a 500", failing],
    ["runs into its idle limit", silent],
  ])("are answered in order, once each, when the running turn %s", async (_, model) => {
    const world = await queued(model);
    world.outside.release("busy");
    await world.idle();
    expect(answers(await world.history()).filter((text) => text.startsWith("answer"))).toEqual(inOrder);
  });
  it("are answered in order, once each, when the server dies, and their keys give the first answer", async () => {
    const world = await queued(busy);
    const after = await reopenRuntime(world);
    const first = await after.send("two", { clientKey: "two" });
    expect(first.turnId).toBeDefined();
    world.outside.release("busy");
    await after.idle();
    expect(answers(await after.history())).toEqual(["working", ...inOrder]);
  });
});

describe("a conversation after an interrupted tool call (G07)", () => {
  const three: Model = (text, round) =>
    text === "go" && round === 0
      ? {
          say: "three at once",
          calls: [
            ["echo", { n: 1 }],
            ["gate", { name: "stuck" }],
            ["echo", { n: 3 }],
          ],
        }
      : { say: `answer to ${text}` };

  async function stuck(): Promise<RuntimeWorld> {
    const world = await openRuntimeWorld({ model: three, parallel: true });
    await world.send("go");
    await world.until("one of three calls hangs", () => world.outside.isWaiting("stuck"));
    return world;
  }
  /** Each call has exactly one result right behind it, without any repair. */
  async function nextRequestIsValid(world: RuntimeWorld): Promise<void> {
    await world.send("next");
    await world.idle();
    const last = world.outside.asked.findLast((asked) => asked.said === "next");
    expect(last).toBeDefined();
    expect(repairHistory(last?.messages ?? []).repairs).toEqual([]);
    expect((await world.history()).at(-1)).toMatchObject({ kind: "turn_end", data: { outcome: "completed" } });
  }

  it("is valid for the next request when it was stopped during one of three parallel calls", async () => {
    const world = await stuck();
    await stop(world);
    await nextRequestIsValid(world);
  });
  it("is valid for the next request when the server died during one of three parallel calls", async () => {
    const world = await stuck();
    const after = await reopenRuntime(world);
    world.outside.release("stuck");
    await after.idle();
    await nextRequestIsValid(after);
    expect(after.outside.ran.filter((ran) => ran.startsWith("echo"))).toEqual(['echo {"n":1}', 'echo {"n":3}']);
  });
  it("is valid for the next request when it was stopped in the middle of the answer", async () => {
    const world = await openRuntimeWorld({
      model: (text) => (text === "go" ? { say: "half an ans", hang: "mid" } : { say: `answer to ${text}` }),
    });
    await world.send("go");
    await world.until("the answer streams", () => world.outside.isWaiting("mid"));
    await stop(world);
    await nextRequestIsValid(world);
    expect(JSON.stringify(world.outside.asked.at(-1)?.messages)).toContain("half an ans");
  });
});
