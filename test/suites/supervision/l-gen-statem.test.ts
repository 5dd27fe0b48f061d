/** Cases of Erlang's gen_statem suite that have a meaning for a chart under the kernel. */
import { assign, raise, setup } from "xstate";
import { describe, expect, it } from "vitest";
import type { ChartDefinition } from "../../../src/actors/kernel/chart.ts";
import { effects } from "../../../src/protocol/effects.ts";
import type { Address, Token } from "../../../src/protocol/ids.ts";
import { member, Otp } from "../../support/otp-world.ts";

interface Seen {
  log: string[];
  address: Address;
}
type Anything = { type: string; [field: string]: unknown; token?: Token };
const note = (text: string) => assign({ log: ({ context }: { context: Seen }) => [...context.log, text] }) as never;

/** Enters states, waits in them, raises events, answers late and twice. */
const statem: ChartDefinition = {
  name: "statem",
  version: 1,
  ignore: ["stop", "start"],
  machine: setup({
    types: {} as { context: Seen; events: Anything; input: { address: Address } },
    actions: effects,
    delays: { soon: 1000, late: 5000 },
  }).createMachine({
    context: ({ input }) => ({ log: [], address: input.address }),
    initial: "idle",
    output: ({ context }) => context.log,
    on: {
      note: {
        actions: assign({ log: ({ context, event }) => [...context.log, `note ${String(event["text"])} by ${String(event["from"])}`] }),
      },
      first: { actions: [note("first"), raise({ type: "raised" })] },
      raised: { actions: note("raised") },
      second: { actions: note("second") },
      twice: {
        actions: [
          { type: "reply", params: ({ event }) => ({ token: event.token as Token, value: 1 }) },
          { type: "reply", params: ({ event }) => ({ token: event.token as Token, value: 2 }) },
        ],
      },
      never: { actions: note("kept a question") },
      "set.timer": {
        actions: {
          type: "timer.set",
          params: ({ event }) => ({
            id: String(event["timer"]),
            event: { type: "note", text: String(event["timer"]) },
            after: Number(event["ms"]),
          }),
        },
      },
      "cancel.timer": { actions: { type: "timer.cancel", params: ({ event }) => ({ id: String(event["timer"]) }) } },
      bye: { target: ".gone", actions: { type: "reply", params: ({ event }) => ({ token: event.token as Token, value: "last words" }) } },
      unknown: { actions: { type: "perform", params: { name: "x", driver: "nobody", request: {} } } },
    },
    states: {
      idle: { entry: note("enter idle"), exit: note("exit idle"), on: { go: "busy" } },
      busy: {
        entry: note("enter busy"),
        exit: note("exit busy"),
        after: { soon: "tired" },
        on: { again: { target: "busy", reenter: true }, stay: { actions: note("stay") }, back: "idle" },
      },
      tired: { entry: note("enter tired") },
      gone: { type: "final" },
    },
  }),
};

async function opened(): Promise<Otp> {
  const world = await Otp.open({ charts: [statem] });
  await world.start({ name: "s", chart: "statem", spec: "transientKeeper" });
  return world;
}
const log = (world: Otp): string[] => world.kernel.context("/sup/s" as never)?.["log"] as string[];

describe("gen_statem", () => {
  // Started with a name, it answers under that name; a second start under the same name is refused.
  it("start8: a machine is there under its name in its first state, and a second one of that name is not", async () => {
    const world = await opened();
    expect(log(world)).toEqual(["enter idle"]);
    await world.start({ name: "s", chart: "statem" });
    expect(world.kernel.stats().crashes).toBe(1);
  });

  // Its init says `ignore`: there is no machine, and that is no error.
  it("start4: a machine that ends in its first step is not there, down as normal", async () => {
    const world = await Otp.open();
    await world.start({ name: "s", spec: "transient", input: { end: true } });
    expect([world.has("s"), world.downsOf("s"), world.kernel.stats().crashes]).toEqual([false, ["normal"], 0]);
  });

  // Its init stops with a reason: there is no machine, and who started it gets the reason.
  it("start5: a machine whose first step throws is not there, and its starter gets the reason", async () => {
    const world = await Otp.open();
    world.failStarts("s", 1);
    await world.start({ name: "s", spec: "temporary" });
    expect([world.has("s"), world.downs()]).toMatchObject([false, [{ name: "s", kind: "crash", message: "s does not start" }]]);
  });

  // Stop registered machines and start new ones under the same name at once.
  it("start11: after its stop a name can be taken again at once, many times", async () => {
    const world = await opened();
    for (let n = 0; n < 3; n += 1) {
      await world.stop("s");
      await world.start({ name: "s", chart: "statem", spec: "transientKeeper" });
      expect(log(world)).toEqual(["enter idle"]);
    }
  });

  // A start that times out or fails is no machine, and its name is free.
  it("loop_start_fail: a machine whose start fails is down with the reason, and its name is free for the next", async () => {
    const world = await Otp.open();
    for (let n = 0; n < 5; n += 1) {
      world.failStarts("s", 1);
      await world.start({ name: "s", spec: "temporary" });
      expect(world.has("s")).toBe(false);
    }
    await world.start({ name: "s", spec: "temporary" });
    expect([world.status("s"), world.downs().every(({ message }) => message === "s does not start")]).toEqual(["live", true]);
  });

  // Stopped from outside with reason normal or another; who watches hears it once.
  it("stop1: a machine that is stopped goes down once with the reason of the stop", async () => {
    const world = await opened();
    await world.stop("s", "user");
    expect(world.downs()).toMatchObject([{ name: "s", kind: "stopped", by: "user" }]);
  });

  // To stop one that is not there is an error for who asks, not a hang.
  it("stop4: to stop one that is gone is refused", async () => {
    const world = await opened();
    await world.stop("s");
    await expect(world.kernel.stop("/sup/s" as never, { by: "user" })).rejects.toMatchObject({ code: "ACTOR_UNKNOWN" });
  });

  // It throws in an event handler: who asked and who watches get the reason.
  it("abnormal2: a throw in an event is answered to who asked, with the reason", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    await expect(world.ask("a", { type: "crash", text: "why" })).rejects.toMatchObject({
      code: "CRASHED",
      message: expect.stringContaining("why"),
    });
    expect(world.downsOf("a")).toEqual(["crash"]);
  });

  // Shutdown by its parent: it goes down with reason shutdown, quietly.
  it("shutdown: the end of its parent is its own, with the parent's reason, and no crash is counted", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" }, children: { a: {} } });
    await world.stop("", "shutdown");
    expect(world.kernel.tombstone("/sup/a" as never)?.reason).toMatchObject({ kind: "stopped", stop: { by: "shutdown", scope: "/sup" } });
    expect(world.kernel.stats().crashes).toBe(0);
  });

  // `stop_and_reply`: the answer of the last step still reaches who asked.
  it("stop_and_reply: the answer given in the last step reaches who asked, then it is down", async () => {
    const world = await opened();
    expect(await world.ask("s", { type: "bye" })).toBe("last words");
    expect(world.downsOf("s")).toEqual(["normal"]);
  });

  // Enter calls on every change of state and on repeat, not on staying.
  it("state_enter: entering and leaving are told on every change and on re-entering, not on staying", async () => {
    const world = await opened();
    for (const type of ["go", "stay", "again", "back"]) await world.tell("s", { type });
    expect(log(world)).toEqual(["enter idle", "exit idle", "enter busy", "stay", "exit busy", "enter busy", "exit busy", "enter idle"]);
  });

  // Inserted events go before those that wait in the queue, these in the order they came.
  it("event_order: an event raised in a step goes before all that wait, those in the order they came", async () => {
    const world = await opened();
    for (const type of ["first", "second", "first"]) world.kernel.tell("/sup/s" as never, { type });
    await world.settle();
    expect(log(world).slice(1)).toEqual(["first", "raised", "second", "first", "raised"]);
  });

  // A state's time-out fires once after its time, not when the state was left or entered anew before; a restart does not lose it.
  it("state_timeout: the time of a state runs while it is in it, over a restart of the server, and ends with it", async () => {
    const world = await opened();
    await world.tell("s", { type: "go" });
    await world.advance(900);
    await world.tell("s", { type: "back" });
    await world.advance(5000);
    expect(log(world).at(-1)).toBe("enter idle");
    await world.tell("s", { type: "go" });
    await world.advance(600);
    await world.replace();
    await world.advance(399);
    expect(log(world).at(-1)).toBe("enter busy");
    await world.advance(1);
    expect(log(world).slice(-2)).toEqual(["exit busy", "enter tired"]);
  });

  // A time-out that is set again counts from then on; a cancelled one never comes.
  it("timeout_cancel_and_update: a timer set again counts from then on, a cancelled one never comes, also when it is due already", async () => {
    const world = await opened();
    const set = (timer: string, ms: number) => world.tell("s", { type: "set.timer", timer, ms });
    await set("a", 1000);
    await set("b", 1000);
    await world.advance(900);
    await set("a", 1000);
    await world.tell("s", { type: "cancel.timer", timer: "b" });
    await world.advance(900);
    expect(log(world)).toEqual(["enter idle"]);
    await world.advance(100);
    await set("c", 0);
    world.kernel.tell("/sup/s" as never, { type: "cancel.timer", timer: "c" });
    await world.advance(0);
    expect(log(world).slice(1)).toEqual(["note a by kernel"]);
  });

  // Any number of named timers beside each other, fired in due order.
  it("generic_timers: many named timers run beside each other and come in due order, also when all are overdue at a start", async () => {
    for (const away of [false, true]) {
      const world = await opened();
      for (const [timer, ms] of [
        ["c", 3000],
        ["a", 1000],
        ["d", 4000],
        ["b", 2000],
      ] as const)
        await world.tell("s", { type: "set.timer", timer, ms });
      if (away) {
        world.time.jump(60_000);
        await world.replace();
        await world.advance(0);
      } else await world.advance(4000);
      expect(log(world).slice(1)).toEqual(["a", "b", "c", "d"].map((timer) => `note ${timer} by kernel`));
    }
  });

  // Events carry where they come from: a call, a cast, an info, a time-out are told apart.
  it("event_types: an event says whether a door, an actor or the kernel sent it", async () => {
    const world = await opened();
    await world.tell("s", { type: "note", text: "x" });
    await world.start({ name: "m" });
    await world.tell("m", { type: "pass", to: "/sup/s", text: "y" });
    await world.tell("s", { type: "set.timer", timer: "z", ms: 0 });
    await world.advance(0);
    expect(log(world).slice(1)).toEqual(["note x by door", "note z by kernel"]);
    expect(world.kernel.stats().notTakenTypes).toEqual([["statem:idle:say", 1]]);
  });

  // An event no state takes is ignored or a crash as the machine says; here it is counted, and who asked is told at once.
  it("undef_event: an event that no state takes changes nothing, is counted, and who asked is told", async () => {
    const world = await opened();
    await expect(world.ask("s", { type: "nonsense" })).rejects.toMatchObject({ code: "ACTOR_UNKNOWN" });
    expect([log(world), world.kernel.stats().notTaken]).toEqual([["enter idle"], 1]);
  });

  // A call of a function that does not exist ends the machine with that as its reason; here a driver that does not exist is a
  // failure the chart hears of.
  it("undef_in_event: work for a driver that does not exist fails and is told to the chart, nothing hangs", async () => {
    const world = await opened();
    await world.tell("s", { type: "unknown" });
    expect(world.kernel.stats().notTakenTypes).toEqual([["statem:idle:x.failed", 1]]);
    expect(world.kernel.committed("/sup/s" as never)?.pending).toEqual([]);
  });

  // A chart that uses what does not exist is found at load. (undef_event_function, undef_init and their kin.)
  it("undef_init: a chart that uses an action nobody knows is refused when the kernel opens", async () => {
    const machine = setup({}).createMachine({ entry: "doSomething" as never });
    await expect(Otp.open({ charts: [{ name: "odd", version: 1, machine }] })).rejects.toThrow(/chart "odd" is refused/);
  });

  // State and data can be read from outside at any time.
  it("get_state: the committed state and the context can be read from outside", async () => {
    const world = await opened();
    await world.tell("s", { type: "go" });
    expect(world.kernel.committed("/sup/s" as never)?.state).toBe("busy");
    expect(log(world)).toContain("enter busy");
  });

  // What it knew is in the report of its crash, in the form the machine gives it.
  it("terminate_crash_format: what an actor knew when it crashed is told in the form its chart gives it", async () => {
    const world = await Otp.open({
      charts: [{ ...member, name: "wordy", lastWords: (context) => ({ heard: context["seen"] as string[] }) }],
    });
    await world.start({ name: "w", chart: "wordy", spec: "temporary" });
    await world.tell("w", { type: "say", text: "this" });
    await world.crash("w");
    expect(world.downs()).toMatchObject([{ name: "w", kind: "crash", output: { heard: ["this"] } }]);
  });

  // Replies by alias: the first answer ends the question, later ones reach nobody.
  it("reply_by_alias_with_payload: a question has one answer; a second one reaches nobody and harms nobody", async () => {
    const world = await opened();
    expect(await world.ask("s", { type: "twice" })).toBe(1);
    expect([world.status("s"), world.kernel.stats().crashes]).toEqual(["live", 0]);
  });

  // Many questions on their way: each gets its own answer; one whose machine ends gets an error, not silence.
  it("send_request_receive_reqid_collection: of many questions each gets its own answer, those to one that ends get an error", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    const asked = ["one", "two", "three"].map((text) => world.kernel.command("/sup/a" as never, { type: "say", text }));
    world.kernel.tell("/sup/a" as never, { type: "finish" });
    const late = world.kernel.command("/sup/a" as never, { type: "say", text: "four" });
    late.catch(() => {});
    await world.settle();
    expect(await Promise.all(asked)).toEqual(["one", "two", "three"]);
    await expect(late).rejects.toMatchObject({ code: "ACTOR_UNKNOWN" });
  });
});
