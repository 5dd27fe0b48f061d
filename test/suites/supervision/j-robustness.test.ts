/** Group J: what breaks supervisors in practice. */
import { describe, expect, it } from "vitest";
import { at, atEveryCommit, Otp } from "../../support/otp-world.ts";

const backoffMs = { first: 2000, most: 2000 };

/** Times of starting and of stopping so many children under one supervisor, with a memory journal. */
async function startAndStop(children: number): Promise<{ start: number; stop: number }> {
  const world = await Otp.open({ sup: { restart: "transient", past: "fail" } });
  const began = performance.now();
  for (let n = 0; n < children; n += 1000) {
    const many = Array.from({ length: Math.min(1000, children - n) }, (_, k) => ({
      name: `c${n + k}`,
      spec: "transientKeeper",
      watch: false,
    }));
    world.kernel.tell(at(""), { type: "start", children: many });
  }
  await world.settle();
  expect([...world.kernel.addresses()]).toHaveLength(children + 2);
  const started = performance.now();
  await world.stop("");
  expect([...world.kernel.addresses()]).toEqual(["/"]);
  return { start: started - began, stop: performance.now() - started };
}

describe("group J, robustness", () => {
  // A child takes away the link its supervisor has to it; a stop of it must not hang. Here there is no link to take away: a
  // supervisor that does not watch its child still ends, stops and outlives it.
  it("child_unlink: a child nobody watches is stopped all the same, and its supervisor goes on", async () => {
    const world = await Otp.open({ children: { a: { restart: "transient", past: "fail" } } });
    await world.tell("", { type: "forget", who: "/sup/a" });
    await world.stop("a");
    expect([world.names(), world.downs(), await world.ask("", { type: "say", text: "here" })]).toEqual([[], [], "here"]);
  });

  // Two levels: one worker crashes, only it restarts; a child that cannot start ends its supervisor, and the top one, for all, starts
  // both of its supervisors anew, with the children they always start with and without those started later.
  it("tree: a crash stays in its branch, an escalation starts all branches anew, without what was started later", async () => {
    const branch = { children: [{ name: "one" }, { name: "two" }] } as never;
    const { end, different } = await atEveryCommit(
      {
        sup: { strategy: "one_for_all" },
        children: { left: { intensity: 4 }, right: { intensity: 4 } },
        input: { left: branch },
        specs: { climber: { intensity: 4, past: "climb" } },
      },
      async (world) => {
        await world.tell("right", { type: "start", children: [{ name: "three", spec: "climber" }, { name: "four" }] });
        const before = ["left/one", "left/two", "right/three", "right/four"].map((who) => world.birth(who));
        await world.crash("right/four");
        const branches = ["left/one", "left/two", "right/three", "right/four"].map((who, n) => world.birth(who) === before[n]);
        const lives = [world.birth("left"), world.birth("right")];
        world.failStarts("right/three", 99);
        await world.crash("right/three");
        return {
          end: [
            branches,
            world.names(),
            world.names("left"),
            world.names("right"),
            world.birth("left") !== lives[0],
            world.birth("right") !== lives[1],
          ],
        };
      },
    );
    expect(end).toEqual([[true, true, true, false], ["left", "right"], ["one", "two"], [], true, true]);
    expect(different).toEqual([]);
    // Restarts within restarts, and the server dies: who waits for its own is stopped with its supervisor's all the same.
    const world = await Otp.open({ children: { top: { strategy: "one_for_all" } }, input: { top: branch } });
    world.hand.stubborn = true;
    await world.tell("top/two", { type: "work" });
    await world.crash("top/one");
    await world.crash("top");
    expect([world.status("top"), world.names("top")]).toEqual(["restarting", ["two"]]);
    await world.replace();
    expect([world.status("top"), world.names("top"), world.status("top/two")]).toEqual(["live", ["one", "two"], "live"]);
  });

  // A temporary child that is stopped because of a sibling's restart is not started again; the supervisor lives on.
  it("temporary_bystander: a temporary child stopped with a sibling's restart does not come back", async () => {
    for (const strategy of ["one_for_all", "rest_for_one"] as const) {
      const { end, different } = await atEveryCommit(
        { sup: { strategy }, children: { a: {}, t: { restart: "temporary", past: "fail" } } },
        async (world) => {
          // An end, not a crash: of a permanent one that is a restart like any other.
          await world.finish("a");
          return { end: [world.names(), world.status(""), world.kernel.tombstone(at("t"))?.reason.kind] };
        },
      );
      expect(end).toEqual([["a"], "live", "stopped"]);
      expect(different).toEqual([]);
    }
  });

  // A supervisor and a worker with names known to all: killed, ended, stopped or restarted, the names lead to the new ones.
  it("simple_global_supervisor: an address leads to the new life, whoever of it and its supervisor was started anew", async () => {
    const world = await Otp.open({
      sup: { strategy: "one_for_all" },
      children: { middle: {} },
      input: { middle: { children: [{ name: "w" }] } as never },
    });
    const reached = async (): Promise<unknown> => [
      await world.ask("middle", { type: "say", text: "m" }),
      await world.ask("middle/w", { type: "say", text: "w" }),
      world.seen("middle/w"),
    ];
    await world.crash("middle");
    expect(await reached()).toEqual(["m", "w", ["w"]]);
    await world.crash("middle/w");
    expect(await reached()).toEqual(["m", "w", ["w"]]);
    await world.finish("middle/w");
    expect(await reached()).toEqual(["m", "w", ["w"]]);
    await world.stop("middle/w", "user", true);
    await world.tell("middle", { type: "start", children: [{ name: "w" }] });
    expect(await reached()).toEqual(["m", "w", ["w"]]);
  });

  // What a temporary child was started with is not kept by its supervisor: memory does not grow with it.
  it("do_not_save_start_parameters_for_temporary_children: nothing a temporary child was started with is in its supervisor's row", async () => {
    const world = await Otp.open();
    await world.start({ name: "t", spec: "temporary", input: { big: "potentially large ".repeat(100) }, watch: false });
    await world.crash("t");
    await world.ask("", { type: "say", text: "touch" });
    const rows = (await world.journal.newest()).filter((row) => row.kind === "actor");
    const body = JSON.parse(rows.find((row) => row.key === "/sup")?.body ?? "{}") as { snapshot: unknown; mail: unknown };
    expect(JSON.stringify([body.snapshot, body.mail])).not.toContain("potentially");
    expect(rows.find((row) => row.key === "/sup/t")?.body).not.toContain("potentially");
    // How it ended is remembered for a day, for who looks late; then nothing of it is left in memory.
    expect(world.kernel.tombstone(at("t"))?.reason.kind).toBe("crash");
    await world.advance(86_400_000);
    await world.start({ name: "u", spec: "temporary", watch: false });
    await world.finish("u");
    expect([world.kernel.tombstone(at("t")), world.kernel.tombstone(at("u"))?.reason.kind]).toEqual([null, "normal"]);
  });

  // Nor is its spec: the same id can be started again at once, however the first one ended.
  it("do_not_save_child_specs_for_temporary_children: its name is free at once, however it ended; a permanent one's is not", async () => {
    for (const strategy of ["one_for_one", "one_for_all", "rest_for_one"] as const)
      for (const how of ["crash", "finish", "stop"] as const) {
        const world = await Otp.open({ sup: { strategy, identity: "keep" } });
        await world.start({ name: "t", spec: "temporary" });
        await world[how]("t");
        expect(world.names()).toEqual([]);
        await world.start({ name: "t", spec: "temporary" });
        expect(world.names()).toEqual(["t"]);
        await world.start({ name: "p" });
        await world[how]("p");
        await expect(world.ask("", { type: "start", children: [{ name: "p" }] })).rejects.toMatchObject({ code: "CRASHED" });
      }
  });

  // 10,000 temporary children cost about ten times 1,000 to stop one by one.
  it("simple_one_for_one_scale_many_temporary_children: stopping 5,000 one by one costs about five times 1,000", async () => {
    const oneByOne = async (children: number): Promise<number> => {
      const world = await Otp.open();
      await world.start(...Array.from({ length: children }, (_, n) => ({ name: `c${n}`, spec: "temporary", watch: false })));
      const began = performance.now();
      for (const name of world.names()) void world.kernel.stop(at(name), { by: "shutdown" });
      await world.settle();
      expect(world.names()).toEqual([]);
      return performance.now() - began;
    };
    await oneByOne(500);
    const few = await oneByOne(1000);
    expect((await oneByOne(5000)) / few).toBeLessThan(25);
  });

  // A child whose start fails again and again: meanwhile it is told as restarting, it can be stopped, and so can the supervisor.
  it("hanging_restart_loop: a child that fails at every start hinders neither its own stop nor its supervisor's", async () => {
    const { end, different } = await atEveryCommit(
      { sup: { restart: "transient", past: "fail" }, children: { a: { intensity: 8, backoffMs } } },
      async (world) => {
        world.failStarts("a", 99);
        await world.crash("a");
        await world.advance(3000);
        const looping = [world.status("a"), world.names(), await world.ask("", { type: "say", text: "here" })];
        await world.stop("a", "user", true);
        const stopped = world.names();
        world.failStarts("a", 0);
        await world.start({ name: "a" });
        world.failStarts("a", 99);
        await world.crash("a");
        await world.stop("");
        return { end: [looping.slice(0, 2), stopped, world.has(""), world.downs("/").map(({ kind }) => kind)] };
      },
    );
    expect(end).toEqual([["restarting", ["a"]], [], false, ["stopped"]]);
    expect(different).toEqual([]);
  });

  // As above under rest_for_one: who was before it runs on, who was after it is down until it is there again, or it is stopped.
  it("hanging_restart_loop_rest_for_one: those after it wait with it, those before it go on; a stop ends it all", async () => {
    const { end, different } = await atEveryCommit(
      {
        sup: { strategy: "rest_for_one", restart: "transient", past: "fail" },
        children: { a: {}, b: { intensity: 8, backoffMs }, c: {} },
      },
      async (world) => {
        const first = world.birth("a");
        world.failStarts("b", 2);
        await world.crash("b");
        await world.advance(3000);
        const waits = [...["a", "b", "c"].map((name) => world.status(name)), world.birth("a") === first];
        await world.advance(3000);
        const through = ["a", "b", "c"].map((name) => world.status(name));
        world.failStarts("b", 99);
        await world.crash("b");
        await world.stop("b", "user", true);
        const without = [world.names(), world.status("c")];
        await world.stop("");
        return { end: [waits, through, without, world.has("")] };
      },
    );
    expect(end).toEqual([["live", "restarting", "restarting", true], ["live", "live", "live"], [["a", "c"], "live"], false]);
    expect(different).toEqual([]);
    // Parked by a person while it waits, and resumed: nobody of the group stays behind.
    const world = await Otp.open({ sup: { strategy: "rest_for_one" }, children: { a: {}, b: { backoffMs }, c: {} } });
    await world.crash("b");
    world.kernel.park(at("b"), "by hand");
    await world.settle();
    expect([world.status("b"), world.status("c")]).toEqual(["parked", "restarting"]);
    await world.resume("b");
    expect(["a", "b", "c"].map((name) => [world.status(name), world.starts(name)])).toEqual([
      ["live", 1],
      ["live", 2],
      ["live", 2],
    ]);
  });

  // As above with dynamic children of one kind.
  it("hanging_restart_loop_simple: one of many that fails at every start hinders nobody", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" }, specs: { one: { intensity: 8, backoffMs } } });
    for (const name of "abc") await world.start({ name, spec: "one" });
    world.failStarts("b", 99);
    await world.crash("b");
    await world.advance(5000);
    expect([..."abc"].map((name) => world.status(name))).toEqual(["live", "restarting", "live"]);
    await world.start({ name: "d", spec: "one" });
    await world.stop("b", "user", true);
    expect(world.names()).toEqual(["a", "c", "d"]);
    await world.stop("");
    expect(world.has("")).toBe(false);
  });

  // Every exit is traced: after restarts of several children they still start in order and stop in reverse.
  it("order_of_children: after several restarts children still start in order, stop in reverse, and end in reverse", async () => {
    const { end, different } = await atEveryCommit(
      { sup: { strategy: "one_for_all", restart: "transient", past: "fail" }, children: { a: {}, b: {}, c: {}, d: {} } },
      async (world) => {
        const births: string[][] = [];
        for (const name of ["b", "d", "a"]) {
          await world.crash(name);
          births.push(world.births().slice(-4));
        }
        await world.replace();
        await world.finish("");
        return { end: [births, world.buried()] };
      },
    );
    expect(end).toEqual([Array(3).fill(["a", "b", "c", "d"]), ["d", "c", "b", "a", "sup"]]);
    expect(different).toEqual([]);
    // Who ends by itself waits for its transient children, then takes the others down, the last one started first (K6).
    const waiting = await atEveryCommit(
      { sup: { restart: "transient", past: "fail" }, children: { a: {}, t: { restart: "transient", past: "fail" }, p: {} } },
      async (ending) => {
        await ending.finish("");
        const waits = [ending.status(""), ending.names(), ending.status("p")];
        await ending.finish("t");
        return { end: [waits, ending.buried(), ending.downsOf("sup", "/")] };
      },
    );
    expect(waiting.end).toEqual([["stopping", ["a", "t", "p"], "live"], ["t", "p", "a", "sup"], ["normal"]]);
    expect(waiting.different).toEqual([]);
    // A group is taken down one after the other: the next is told only when the one before has ended.
    const world = await Otp.open({ sup: { strategy: "rest_for_one" }, children: { a: {}, b: {}, c: {}, d: {} } });
    world.hand.stubborn = true;
    for (const name of "abcd") await world.tell(name, { type: "work" });
    await world.crash("b");
    const told = (): string => [..."abcd"].filter((name) => world.jobs(name)[0]?.context.signal.aborted).join("");
    const order: string[] = [told()];
    for (const name of "dcb") {
      world.jobs(name)[0]?.end({ status: "aborted" });
      await world.settle();
      order.push(told());
    }
    expect(order).toEqual(["d", "cd", "bcd", "bcd"]);
    expect(world.births().slice(-3)).toEqual(["b", "c", "d"]);
    // A stop tells all at once (K6), the last one started first; with nothing to wait for they go down in that order.
    const stopped = await Otp.open({ sup: { restart: "transient", past: "fail" }, children: { a: {}, b: {}, c: {} } });
    await stopped.crash("a");
    await stopped.stop("");
    expect(stopped.buried()).toEqual(["c", "b", "a", "sup"]);
  });

  // 1,000 against 100,000 children: the times to start and to stop them grow about linearly.
  it("scale_start_stop_many_children: a hundred times the children cost about a hundred times as much to start and to stop", async () => {
    const most = process.env["SUPERVISION_CHILDREN"] === undefined ? 20_000 : Number(process.env["SUPERVISION_CHILDREN"]);
    await startAndStop(500);
    const few = await startAndStop(1000);
    const many = await startAndStop(most);
    const times = most / 1000;
    if (process.env["SUPERVISION_CHILDREN"] !== undefined)
      console.log(
        `scale: ${most} children: start ${many.start.toFixed(0)} ms (x${(many.start / few.start).toFixed(1)}), stop ${many.stop.toFixed(0)} ms (x${(many.stop / few.stop).toFixed(1)})`,
      );
    expect(many.start / few.start).toBeLessThan(times * 3);
    expect(many.stop / few.stop).toBeLessThan(times * 3);
  });

  // A crash report says who, on what, and why. Here it is the step in the actor's own story, the reason its watcher hears, and the
  // answer to who asked.
  it("format_log_1: a crash says who crashed, on which event, and why, in the story, to the watcher and to who asked", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    await expect(world.ask("a", { type: "crash", text: "the reason" })).rejects.toMatchObject({
      code: "CRASHED",
      message: expect.stringMatching(/^\/sup\/a crashed on "crash": the reason/),
    });
    expect(world.downs()).toMatchObject([{ name: "a", kind: "crash", message: "the reason" }]);
    const row = (await world.journal.newest()).find(({ key }) => key === "/sup/a");
    const { story } = JSON.parse(row?.body ?? "{}") as { story: { event: { type: string }; crashed?: unknown }[] };
    expect(story.at(-1)).toMatchObject({ event: { type: "crash" }, crashed: { code: "CRASHED", message: "the reason" } });
  });

  // Reports can be cut to a length, and say so.
  it("format_log_2: a reason of any length is cut to 2,000 characters wherever it is told, and says how long it was", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" }, k: { identity: "keep", intensity: 0 } } });
    const text = "x".repeat(50_000);
    await world.crash("a", text);
    await world.crash("k", text);
    for (const message of [world.downs()[0]?.message, world.kernel.parkedReason(at("k"))]) {
      expect(message?.length).toBeLessThan(2200);
      expect(message).toMatch(/… \(50000 characters\)$/);
    }
  });
});
