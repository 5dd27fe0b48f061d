/** Cases of Pekko's (Akka's) supervision and death watch tests; the names are theirs. */
import { describe, expect, it } from "vitest";
import { at, atEveryCommit, Otp } from "../../support/otp-world.ts";
import { wrongRows } from "../../support/row-oracle.ts";

const backoffMs = { first: 100, most: 800 };

describe("Pekko", () => {
  // SupervisionSpec. Here the actor past its budget is down for good (`fail`) or waits for a person (`park`).
  it("stop after restart retries limit: past its budget it is down, or parked until a person resumes it", async () => {
    const { end, different } = await atEveryCommit(
      { children: { a: { restart: "transient", past: "fail", intensity: 2 }, b: { intensity: 2 } } },
      async (world) => {
        for (let n = 0; n < 3; n += 1) for (const name of "ab") await world.crash(name);
        const stood = [world.has("a"), world.status("b"), world.kernel.parkedReason(at("b"))];
        const resumed = [await world.resume("b"), world.status("b"), await world.resume("b")];
        return { end: [stood, resumed] };
      },
    );
    expect(end).toEqual([
      [false, "parked", 'crashed 3 times within 60 s, last on "crash": planted'],
      [true, "live", false],
    ]);
    expect(different).toEqual([]);
  });

  it("reset retry limit after withinTimeRange: crashes older than the period do not count", async () => {
    const world = await Otp.open({ children: { a: { intensity: 2, periodMs: 1000 } } });
    for (let n = 0; n < 3; n += 1) {
      await world.crash("a");
      await world.crash("a");
      expect(world.status("a")).toBe("live");
      await world.advance(1000);
    }
  });

  it("stop children when restarting: a fresh one that restarts has no child of its old life, whatever kind it was", async () => {
    const { end, different } = await atEveryCommit({ children: { a: {} } }, async (world) => {
      await world.tell("a", {
        type: "start",
        children: ["permanent", "transient", "temporary", "keeper"].map((spec) => ({ name: spec, spec })),
      });
      await world.crash("a");
      return { end: [world.status("a"), world.names("a"), world.has("a/permanent"), world.has("a/keeper")] };
    });
    expect(end).toEqual(["live", [], false, false]);
    expect(different).toEqual([]);
  });

  it("optionally NOT stop children when restarting: a keep one that restarts has all its children, untouched", async () => {
    const world = await Otp.open({ children: { a: { identity: "keep" } } });
    await world.tell("a", { type: "start", children: ["permanent", "transient", "temporary"].map((spec) => ({ name: spec, spec })) });
    const births = world.names("a").map((name) => world.birth(`a/${name}`));
    await world.crash("a");
    expect(world.names("a").map((name) => world.birth(`a/${name}`))).toEqual(births);
    expect(world.seen("a")).toEqual(["resumed:crash"]);
  });

  // Its first step of the new life waits for every effect of the old one.
  it("stop children when restarting second time during unstash: a restart waits for all of the old life, mail waits with it", async () => {
    const world = await Otp.open({ children: { a: {} } });
    world.hand.stubborn = true;
    await world.tell("a", { type: "start", children: [{ name: "x", spec: "temporary" }] });
    await world.tell("a", { type: "work" });
    await world.tell("a/x", { type: "work" });
    await world.crash("a");
    await world.tell("", { type: "pass", to: "/sup/a", text: "waits" });
    expect([world.status("a"), world.seen("a")]).toEqual(["restarting", []]);
    world.jobs("a")[0]?.end({ status: "aborted" });
    await world.settle();
    expect(world.status("a")).toBe("restarting");
    world.jobs("a/x")[0]?.end({ status: "aborted" });
    await world.settle();
    expect([world.status("a"), world.seen("a"), world.names("a")]).toEqual(["live", ["waits"], []]);
  });

  // Every stop has a deadline (K9): a restart is one of its old life.
  it("restart despite work that ignores its end: what does not end within the limit is given up, and the new life begins", async () => {
    const world = await Otp.open({ children: { a: { shutdown: 1000 } } });
    world.hand.stubborn = true;
    await world.tell("a", { type: "work" });
    await world.crash("a");
    await world.advance(999);
    expect(world.status("a")).toBe("restarting");
    await world.advance(1);
    expect([world.status("a"), world.starts("a"), world.kernel.lost().length]).toEqual(["live", 2, 1]);
    world.jobs("a")[0]?.end({ status: "done", value: 1 });
    await world.settle();
    expect([world.kernel.lost().length, world.seen("a")]).toEqual([0, []]);
  });

  it("restart after exponential backoff: waits double with each crash up to the most, over a restart of the server, too", async () => {
    const { end, different } = await atEveryCommit({ children: { a: { intensity: 9, backoffMs } } }, async (world) => {
      const waits: number[] = [];
      for (let n = 0; n < 5; n += 1) {
        await world.crash("a");
        let waited = 0;
        while (world.status("a") !== "live" && waited < 2000) {
          await world.advance(50);
          waited += 50;
        }
        waits.push(waited);
      }
      return { end: waits };
    });
    expect(end).toEqual([100, 200, 400, 800, 800]);
    expect(different).toEqual([]);
  });

  it("reset exponential backoff count after reset timeout: after a quiet period the first wait is short again", async () => {
    const world = await Otp.open({ children: { a: { periodMs: 5000, intensity: 9, backoffMs } } });
    for (const wait of [100, 200]) {
      await world.crash("a");
      await world.advance(wait);
    }
    await world.advance(5000);
    await world.crash("a");
    await world.advance(99);
    expect(world.status("a")).toBe("restarting");
    await world.advance(1);
    expect(world.status("a")).toBe("live");
  });

  // Pekko drops what is over a bound and says so; here mail lies in the row, nothing of it is dropped.
  it("publish dropped messages while backing off and stash is full: nothing is dropped while it waits, and a person can end the wait", async () => {
    const world = await Otp.open({ children: { a: { backoffMs: { first: 60_000, most: 60_000 } } } });
    await world.crash("a");
    for (let n = 0; n < 50; n += 1) world.kernel.tell(at(""), { type: "pass", to: "/sup/a", text: String(n) });
    await world.settle();
    await world.replace();
    expect(world.seen("a")).toEqual([]);
    expect(await world.resume("a")).toBe(true);
    expect(world.seen("a")).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
    expect(world.kernel.stats().deadLetters).toBe(0);
  });

  it("fail instead of restart when deferred factory throws: a start that throws again is one more crash, to the end of the budget", async () => {
    const world = await Otp.open({ children: { a: { restart: "transient", past: "fail", intensity: 2 } } });
    world.failStarts("a", 99);
    await world.crash("a");
    expect([world.has("a"), world.starts("a"), world.kernel.tombstone(at("a"))?.reason]).toMatchObject([
      false,
      3,
      { kind: "crash", error: { message: "a does not start" } },
    ]);
  });

  it("ensure unhandled message retention during unstash exception when restart: one poison message costs itself, those behind it stay", async () => {
    const { end, different } = await atEveryCommit({ children: { a: { identity: "keep" }, f: {} } }, async (world) => {
      for (const name of "af") {
        world.kernel.tell(at(name), { type: "say", text: "1" });
        world.kernel.tell(at(""), { type: "pass", to: at(name), text: "2" });
      }
      await world.settle();
      for (const name of "af") {
        world.kernel.tell(at(name), { type: "crash" });
        world.kernel.tell(at(name), { type: "say", text: "3" });
      }
      await world.settle();
      return { end: [world.seen("a"), world.seen("f")] };
    });
    expect(end).toEqual([["1", "2", "resumed:crash", "3"], ["3"]]);
    expect(different).toEqual([]);
  });

  // DeathWatchSpec.
  it("notify with one Terminated message when an actor is already dead: a watch on one that is gone is answered once, with its end", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" }, b: { identity: "keep" } } });
    await world.crash("a");
    await world.tell("b", { type: "look", who: "/sup/a" });
    expect(world.downs("b")).toMatchObject([{ name: "a", kind: "crash", message: "planted" }]);
    await world.replace();
    expect(world.downs("b")).toHaveLength(1);
  });

  it("notify with one Terminated message when an actor dies while it starts: its watcher hears one down with the reason", async () => {
    const { end, different } = await atEveryCommit({}, async (world) => {
      world.failStarts("bad", 1);
      await world.start({ name: "bad", spec: "temporary" });
      return { end: world.downs() };
    });
    expect(end).toEqual([{ name: "bad", kind: "crash", message: "bad does not start", output: null }]);
    expect(different).toEqual([]);
  });

  it("be able to watch a child with the same name after the old died: each life of one name has its own watch and its own down", async () => {
    const { end, different } = await atEveryCommit({}, async (world) => {
      for (let n = 0; n < 3; n += 1) {
        await world.start({ name: "a", spec: "temporary" });
        await world.finish("a");
      }
      return { end: world.downsOf("a") };
    });
    expect(end).toEqual(["normal", "normal", "normal"]);
    expect(different).toEqual([]);
  });

  it("discard Terminated when unwatched between sysmsg and processing: a down that waits is gone with the watch", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" }, b: { identity: "keep" } } });
    await world.tell("b", { type: "look", who: "/sup/a" });
    // The down waits behind the last message of the one that died, and that message takes the watch away.
    world.kernel.tell(at("a"), { type: "pass", to: "/sup/b", event: { type: "forget", who: "/sup/a" } });
    world.kernel.tell(at("a"), { type: "crash" });
    await world.settle();
    expect([world.downs("b"), world.downsOf("a")]).toEqual([[], ["crash"]]);
  });

  // SupervisorHierarchySpec.
  it("suspend children while failing: below one that is parked nothing moves; resumed, all of it goes on with its mail", async () => {
    const { end, different } = await atEveryCommit({ children: { a: { identity: "keep", intensity: 0 } } }, async (world) => {
      await world.tell("a", { type: "start", children: [{ name: "x", spec: "keeper" }] });
      await world.crash("a");
      await world.tell("", { type: "pass", to: "/sup/a/x", text: "waits" });
      await world.tell("", { type: "start", children: [{ name: "a/late", spec: "keeper" }] });
      const still = [world.status("a"), world.seen("a/x"), world.starts("a/late")];
      await world.resume("a");
      return { end: [still, world.seen("a/x"), world.status("a/late"), world.status("a")] };
    });
    expect(end).toEqual([["parked", [], 0], ["waits"], "live", "live"]);
    expect(different).toEqual([]);
  });

  it("survive being stressed: a tree in which everybody crashes, ends and is stopped at random is whole when it is quiet again", async () => {
    let seed = 20261201;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return Math.floor(seed / 65536) % below;
    };
    const strategies = ["one_for_one", "one_for_all", "rest_for_one"] as const;
    for (let round = 0; round < 30; round += 1) {
      const branch = { children: ["x", "y", "z"].map((name) => ({ name, spec: "leaf" })) } as never;
      const inner = { strategy: strategies[(round + 1) % 3] as (typeof strategies)[number], intensity: 99 };
      const world = await Otp.open({
        sup: { strategy: strategies[round % 3] as (typeof strategies)[number], intensity: 99 },
        children: { a: inner, b: inner, c: inner },
        input: { a: branch, b: branch, c: branch },
        specs: { leaf: { intensity: 5, past: "climb", ...(round % 2 === 0 ? { backoffMs } : {}) } },
        dieAt: 5 + round,
      });
      for (let n = 0; n < 120; n += 1) {
        const who = ["a", "b", "c"][random(3)] + (random(3) === 0 ? "" : `/${["x", "y", "z"][random(3)]}`);
        if (random(4) === 0) world.failStarts(who, random(3));
        const type = ["crash", "crash", "finish", "work", "pass"][random(5)] as string;
        world.kernel.tell(at(who), { type, to: "/sup", text: "m" });
        if (random(5) === 0) await world.advance(random(400));
        if (random(40) === 0) await world.replace();
        if (random(12) === 0 && world.has(who)) void world.kernel.stop(at(who), { by: "user" });
        if (random(30) === 0) world.kernel.park(at(who), "by hand");
      }
      // A person resumes what is parked, then what comes back with it.
      for (let times = 0; times < 2; times += 1) {
        for (const who of world.kernel.addresses(at(""))) world.kernel.resume(who);
        for (let n = 0; n < 10; n += 1) await world.advance(1000);
      }
      expect(wrongRows(world.journal.rows)).toEqual([]);
      expect(world.names()).toEqual(["a", "b", "c"]);
      for (const name of world.names()) {
        expect(world.names(name)).toEqual(["x", "y", "z"]);
        for (const who of [name, ...world.names(name).map((leaf) => `${name}/${leaf}`)])
          expect(`${who} ${world.status(who)}`).toBe(`${who} live`);
      }
    }
  });
});
