/** Supervision as a client sees it over HTTP: a session chart with a planted throw. */
import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/server/index.ts";
import { poisonedCharts } from "../../support/poison.ts";
import { openRuntimeWorld, reopenRuntime, type RuntimeWorld } from "../../support/runtime-world.ts";

let throws = 0;
const planted = {
  charts: poisonedCharts((chart, event) => {
    const poison = chart === "session" && event["title"] === "poison";
    if (poison) throws += 1;
    return poison;
  }),
};

interface Answer {
  status: number;
  body: Record<string, unknown> & { error?: { code: string; message: string; hint?: string; reason?: string } };
}

function http(world: RuntimeWorld) {
  const { chat, team, actors, models, tools, usage, watch } = world.runtime;
  const handles = {
    chat,
    team,
    actors,
    models,
    tools,
    usage,
    watch,
    config: { status: () => ({ valid: true, errors: [], inForceSince: 0 }), reload: () => Promise.reject(new Error("not here")) },
    version: { version: "test", epoch: 1, startedAt: 0 },
  };
  const app = createApp(handles as never, { key: "k", listenHost: "127.0.0.1", homeId: "h", ui: null });
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = app.fetch(
      new Request(`http://127.0.0.1/api${path}`, {
        method,
        headers: { authorization: "Bearer k", host: "127.0.0.1", "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    let done = false;
    void answer.then(() => (done = true));
    await world.until(`an answer to ${method} ${path}`, () => done);
    const text = await (await answer).text();
    return { status: (await answer).status, body: (text === "" ? {} : JSON.parse(text)) as Answer["body"] };
  };
}

const SESSION = "/agents/ada/sessions/main";
const poison = { title: "poison" };

describe("a poison event", () => {
  it("is answered 500 CRASHED once, and never again over a restart; the session goes on", async () => {
    throws = 0;
    const world = await openRuntimeWorld({ replace: planted });
    const ask = http(world);
    expect(await ask("PATCH", SESSION, poison)).toMatchObject({
      status: 500,
      body: { error: { code: "CRASHED", message: expect.stringContaining("planted poison"), hint: expect.any(String) } },
    });
    await ask("POST", "/chat/send", { agent: "ada", text: "hello" });
    await world.idle();
    expect((await world.history()).at(-1)).toMatchObject({ kind: "turn_end", data: { outcome: "completed" } });
    const after = await reopenRuntime(world);
    const again = http(after);
    await again("POST", "/chat/send", { agent: "ada", text: "hello again" });
    await after.idle();
    expect((await after.history()).filter((row) => row.kind === "turn_end")).toHaveLength(2);
    expect(throws).toBe(1);
    expect((await again("GET", `/actor?address=${SESSION}`)).body["actor"]).toMatchObject({ status: "live", restarts: 1 });
  });
});

describe("a session that crashes past its intensity", () => {
  it("is parked with its reason and its queue, others go on, resume brings it back; all of it over restarts", async () => {
    let world = await openRuntimeWorld({ replace: planted, agents: ["ada", "bob"] });
    let ask = http(world);
    await ask("POST", `${SESSION}/hold`);
    await ask("POST", "/chat/send", { agent: "ada", text: "waiting one" });
    await ask("POST", "/chat/send", { agent: "ada", text: "waiting two" });
    for (let n = 0; n < 2; n += 1) await ask("PATCH", SESSION, poison);
    world = await reopenRuntime(world);
    ask = http(world);
    for (let n = 0; n < 2; n += 1) await ask("PATCH", SESSION, poison);

    for (const restarted of [false, true]) {
      if (restarted) {
        world = await reopenRuntime(world);
        ask = http(world);
      }
      const refused = await ask("POST", "/chat/send", { agent: "ada", text: "while parked" });
      expect(refused).toMatchObject({
        status: 409,
        body: {
          error: { code: "PARKED", message: expect.stringContaining("planted poison"), reason: expect.stringContaining("crashed 4 times") },
        },
      });
      const { agents } = (await ask("GET", "/agents")).body as {
        agents: { name: string; sessions: { slug: string; state: string; parked: string | null; queued: number }[] }[];
      };
      expect(agents.find(({ name }) => name === "ada")?.sessions[0]).toMatchObject({
        slug: "main",
        state: "parked",
        queued: 2,
        parked: expect.stringContaining("planted poison"),
      });
      await ask("POST", "/chat/send", { agent: "bob", text: "others go on" });
      await world.idle("bob");
      expect((await world.history("bob")).at(-1)?.kind).toBe("turn_end");
    }

    expect(await ask("POST", "/resume", { address: SESSION })).toMatchObject({ status: 200 });
    expect(await ask("POST", "/resume", { address: SESSION })).toMatchObject({ status: 409, body: { error: { code: "NOT_PARKED" } } });
    await ask("POST", `${SESSION}/release`);
    await world.idle();
    expect((await world.history()).filter((row) => row.kind === "user_message").map((row) => row.data.text)).toEqual([
      "waiting one",
      "waiting two",
    ]);
    world = await reopenRuntime(world);
    expect(await http(world)("POST", "/chat/send", { agent: "ada", text: "after all" })).toMatchObject({ status: 202 });
    await world.idle();
  });

  it("ends its running turn and writes its end when it is resumed", async () => {
    const world = await openRuntimeWorld({
      replace: planted,
      model: (said) => (said === "long" ? { say: "half", hang: "stream" } : { say: "ok" }),
    });
    const ask = http(world);
    await ask("POST", "/chat/send", { agent: "ada", text: "long" });
    await world.until("it streams", () => world.outside.isWaiting("stream"));
    await ask("POST", "/chat/send", { agent: "ada", text: "next" });
    await ask("POST", "/chat/send", { agent: "ada", text: "steered", steer: true });
    for (let n = 0; n < 4; n += 1) await ask("PATCH", SESSION, poison);
    await world.time.settle();
    expect(world.outside.isWaiting("stream")).toBe(false);
    await ask("POST", "/resume", { address: SESSION });
    await world.idle();
    const rows = await world.history();
    expect(rows.filter((row) => row.kind === "turn_end").map((row) => row.data.outcome)).toEqual(["cancelled", "completed", "completed"]);
    expect(rows.find((row) => row.kind === "assistant_message")?.data).toMatchObject({ text: "half", interrupted: true });
  });
});

describe("an agent whose folder goes", () => {
  it("refuses messages with the reason, keeps its queue, and goes on by itself when the folder is back", async () => {
    let world = await openRuntimeWorld({
      agents: ["ada", "bob"],
      model: (said) => (said === "long" ? { say: "half", hang: "stream" } : { say: "ok" }),
    });
    let ask = http(world);
    await ask("POST", "/chat/send", { agent: "ada", text: "long" });
    await world.until("it streams", () => world.outside.isWaiting("stream"));
    await ask("POST", "/chat/send", { agent: "ada", text: "waits" });
    world.agents.delete("ada");
    await world.runtime.agentsChanged();
    await world.time.settle();
    expect(world.outside.isWaiting("stream")).toBe(false);
    for (const restarted of [false, true]) {
      if (restarted) {
        world = await reopenRuntime(world);
        ask = http(world);
      }
      await world.time.advance(5000);
      expect(await ask("POST", "/chat/send", { agent: "ada", text: "x" })).toMatchObject({
        status: 409,
        body: {
          error: { code: "PARKED", message: expect.stringContaining("folder gone"), hint: expect.stringContaining("Put the folder") },
        },
      });
      expect(await ask("POST", "/resume", { address: "/agents/ada" })).toMatchObject({ status: 409, body: { error: { code: "PARKED" } } });
      expect((await world.history("ada")).filter((row) => row.kind === "user_message")).toHaveLength(1);
      expect(await ask("POST", "/chat/send", { agent: "bob", text: "bob goes on" })).toMatchObject({ status: 202 });
    }
    world.agents.add("ada");
    await world.runtime.agentsChanged();
    await world.idle("ada");
    const ends = (await world.history("ada")).filter((row) => row.kind === "turn_end");
    expect(ends.map((row) => row.data.outcome)).toEqual(["cancelled", "completed"]);
  });
});

describe("stopping a session", () => {
  it("ends what waited and what was to be steered as cancelled, and nothing is asked of a model afterwards", async () => {
    const world = await openRuntimeWorld({ model: () => ({ say: "half", hang: "stream" }) });
    const ask = http(world);
    await ask("POST", "/chat/send", { agent: "ada", text: "long" });
    await world.until("it streams", () => world.outside.isWaiting("stream"));
    const { turnId } = (await ask("POST", "/chat/send", { agent: "ada", text: "waits" })).body as { turnId: string };
    const { steerId } = (await ask("POST", "/chat/send", { agent: "ada", text: "steers", steer: true })).body as { steerId: string };
    expect((await ask("POST", "/stop", { address: SESSION })).body).toMatchObject({ stopped: true });
    await world.time.advance(5000);
    for (const id of [turnId, steerId])
      expect((await ask("GET", `/chat/turns/${id}`)).body).toMatchObject({
        state: "cancelled",
        error: { code: "CANCELLED", reason: "user" },
      });
    expect(world.outside.asked).toHaveLength(1);
    expect((await world.history()).filter((row) => row.kind === "turn_end")).toHaveLength(1);
  });
});

describe("stopping an agent", () => {
  it("says how many messages of all its sessions it cancelled", async () => {
    const world = await openRuntimeWorld({ model: () => ({ say: "half", hang: "stream" }) });
    const ask = http(world);
    await ask("POST", "/chat/send", { agent: "ada", text: "long" });
    await world.until("it streams", () => world.outside.isWaiting("stream"));
    await ask("POST", "/chat/send", { agent: "ada", text: "waits" });
    await ask("POST", "/chat/send", { agent: "ada", text: "steers", steer: true });
    expect((await ask("POST", "/stop", { address: "/agents/ada" })).body).toMatchObject({
      stopped: true,
      cancelledQueued: 2,
      processes: 0,
    });
  });
});

describe("two sessions deleted at the same time", () => {
  it("both go, and the agent does not crash", async () => {
    const world = await openRuntimeWorld();
    const ask = http(world);
    for (const slug of ["one", "two"]) await ask("POST", "/agents/ada/sessions", { slug });
    const [one, two, again] = await Promise.all([
      ask("DELETE", "/agents/ada/sessions/one"),
      ask("DELETE", "/agents/ada/sessions/two"),
      ask("DELETE", "/agents/ada/sessions/two"),
    ]);
    expect([one.status, two.status, again.status]).toEqual([204, 204, 404]);
    expect(world.runtime.kernel.stats().crashes).toBe(0);
  });
});
