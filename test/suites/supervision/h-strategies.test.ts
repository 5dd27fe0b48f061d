/**
 * Group H: who starts anew with a child, what happens past the budget, and what when a start fails in between. Erlang counts restarts
 * of all children against their supervisor; here each child has its own budget (K8), so it takes one child to use it up.
 */
import { describe, expect, it } from "vitest";
import type { ChildSpec } from "../../../src/protocol/effects.ts";
import { atEveryCommit, Otp } from "../../support/otp-world.ts";

const climbing: Partial<ChildSpec> = { intensity: 1, past: "climb" };
const starts = (world: Otp, names: string): number[] => [...names].map((name) => world.starts(name));
const states = (world: Otp, names: string): string[] => [...names].map((name) => world.status(name));
/** Which of them got a new birth meanwhile. */
function noteBirths(world: Otp, names: string): () => string {
  const before = [...names].map((name) => world.birth(name));
  return () => [...names].filter((name, index) => world.birth(name) !== before[index]).join("");
}

describe("group H, strategies", () => {
  // Only who crashed is restarted; one crash too many ends the supervisor (here of one child that climbs).
  it("one_for_one: only the child that crashed starts anew; past its budget it takes its supervisor with it", async () => {
    const { end, exact, different } = await atEveryCommit({ children: { a: climbing, b: {} } }, async (world) => {
      const [anew, climbed] = [noteBirths(world, "ab"), world.birth("")];
      await world.crash("a");
      const once = anew();
      await world.crash("a");
      return {
        end: [once, anew(), world.birth("") !== climbed, states(world, "ab"), world.downsOf("sup", "/")],
        exact: starts(world, "ab"),
      };
    });
    expect(end).toEqual(["a", "ab", true, ["live", "live"], ["crash"]]);
    expect(exact).toEqual([3, 2]);
    expect(different).toEqual([]);
  });

  // A child that cannot be started again uses up the intensity: the supervisor and the other children go. The supervisor's own
  // supervisor decides what then: here it has a budget of nothing and is down for good.
  it("one_for_one_escalation: a child that cannot start any more ends its supervisor and all beside it", async () => {
    const world = await Otp.open({
      sup: { restart: "transient", intensity: 0, past: "fail" },
      children: { a: { intensity: 4, past: "climb" }, b: {} },
    });
    world.failStarts("a", 99);
    await world.crash("a");
    expect([world.has(""), world.has("a"), world.has("b"), world.starts("a")]).toEqual([false, false, false, 5]);
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "crash", message: "/sup/a crashed too often: a does not start" }]);
    // A supervisor that is kept restarts in place (K8): the child is down for good, the others do not notice, it is told.
    const kept = await atEveryCommit({ sup: { identity: "keep" }, children: { a: climbing, b: {} } }, async (other) => {
      const anew = noteBirths(other, "b");
      await other.crash("a");
      await other.crash("a");
      return { end: [other.names(), anew(), other.seen(""), other.status("")] };
    });
    expect(kept.end).toEqual([["b"], "", ["resumed:crash"], "live"]);
    expect(kept.different).toEqual([]);
  });

  // All others are stopped, then all start again; nobody of the old ones lives. Past the budget the supervisor ends.
  it("one_for_all: all start anew with one that crashed, each with a new birth; keep ones in place, told of it", async () => {
    const children = { a: climbing, b: {}, k: { identity: "keep" as const }, t: { restart: "temporary" as const, past: "fail" as const } };
    const { end, exact, different } = await atEveryCommit({ sup: { strategy: "one_for_all" }, children }, async (world) => {
      const [anew, climbed] = [noteBirths(world, "abk"), world.birth("")];
      await world.ask("k", { type: "say", text: "kept" });
      await world.crash("a");
      const once = [anew(), world.names(), world.seen("k")];
      await world.crash("a");
      return { end: [once, anew(), world.birth("") !== climbed, states(world, "abkt")], exact: starts(world, "abkt") };
    });
    expect(end).toEqual([["ab", ["a", "b", "k"], ["kept", "resumed:sibling"]], "abk", true, ["live", "live", "live", "live"]]);
    expect(exact).toEqual([3, 3, 2, 2]);
    expect(different).toEqual([]);
  });

  // As above, with a sibling whose start fails for ever: its own restarts are used up, the supervisor ends.
  it("one_for_all_escalation: a sibling that cannot start again ends the supervisor and all", async () => {
    const world = await Otp.open({
      sup: { strategy: "one_for_all", restart: "transient", intensity: 0, past: "fail" },
      children: { a: {}, b: { intensity: 4, past: "climb" } },
    });
    world.failStarts("b", 99);
    await world.crash("a");
    expect([world.has(""), world.has("a"), world.has("b")]).toEqual([false, false, false]);
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "crash", message: expect.stringContaining("b does not start") }]);
  });

  // While the group starts again its second child fails: the first, already there, is stopped and both start once more.
  it("one_for_all_other_child_fails_restart: one that fails while all start again makes all start once more; no hole, no hang", async () => {
    const { end, exact, different } = await atEveryCommit(
      { sup: { strategy: "one_for_all" }, children: { a: {}, b: {}, c: {} } },
      async (world) => {
        const anew = noteBirths(world, "abc");
        world.failStarts("b", 1);
        await world.crash("a");
        return { end: [states(world, "abc"), anew(), world.births().slice(-3)], exact: starts(world, "abc") };
      },
    );
    expect(end).toEqual([["live", "live", "live"], "abc", ["a", "b", "c"]]);
    // The failing one stands between the other two: the third has its turn only when the group starts once more.
    expect(exact).toEqual([3, 3, 2]);
    expect(different).toEqual([]);
  });

  // Those started after the failed one are stopped, then it and they start again; those before it do not notice.
  it("rest_for_one: who was started after the one that crashed starts anew with it, who was before does not notice", async () => {
    const { end, exact, different } = await atEveryCommit(
      { sup: { strategy: "rest_for_one" }, children: { a: {}, b: climbing, c: {} } },
      async (world) => {
        let anew = noteBirths(world, "abc");
        await world.crash("b");
        const first = anew();
        anew = noteBirths(world, "abc");
        await world.crash("c");
        const second = anew();
        // The order they started in outlives the server, whoever was born anew meanwhile.
        await world.replace();
        anew = noteBirths(world, "abc");
        const climbed = world.birth("");
        await world.crash("b");
        return { end: [first, second, anew(), world.birth("") !== climbed, world.names()], exact: starts(world, "abc") };
      },
    );
    expect(end).toEqual(["bc", "c", "abc", true, ["a", "b", "c"]]);
    expect(exact).toEqual([2, 3, 4]);
    expect(different).toEqual([]);
  });

  // One of the rest cannot start again: the supervisor ends.
  it("rest_for_one_escalation: one of the rest that cannot start again ends the supervisor and all", async () => {
    const world = await Otp.open({
      sup: { strategy: "rest_for_one", restart: "transient", intensity: 0, past: "fail" },
      children: { a: {}, b: { intensity: 4, past: "climb" } },
    });
    world.failStarts("b", 99);
    await world.crash("a");
    expect([world.has(""), world.has("a"), world.has("b")]).toEqual([false, false, false]);
  });

  // A later one fails while the rest starts again: only it and those after it start once more, not the first.
  it("rest_for_one_other_child_fails_restart: a later one that fails meanwhile does not start the first once more", async () => {
    const { end, exact, different } = await atEveryCommit(
      { sup: { strategy: "rest_for_one" }, children: { a: {}, b: {}, c: {} } },
      async (world) => {
        const anew = noteBirths(world, "abc");
        world.failStarts("b", 1);
        await world.crash("a");
        return { end: [states(world, "abc"), anew()], exact: starts(world, "abc") };
      },
    );
    expect(end).toEqual([["live", "live", "live"], "abc"]);
    expect(exact).toEqual([2, 3, 2]);
    expect(different).toEqual([]);
  });

  // Dynamic children of one kind: as one_for_one.
  it("simple_one_for_one: of many of one kind only the one that crashed starts anew", async () => {
    const world = await Otp.open();
    for (const name of "abc") await world.start({ name });
    await world.crash("b");
    expect([starts(world, "abc"), world.names()]).toEqual([
      [1, 2, 1],
      ["a", "b", "c"],
    ]);
  });

  // Some end within their limit, one does not: the stop takes as long as the limit, not as the sum and not as the slowest wants.
  it("simple_one_for_one_shutdown: many are shut down side by side, each with its own limit", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" }, specs: { slow: { shutdown: 2000 } } });
    world.hand.stubborn = true;
    for (const name of "abc") {
      await world.start({ name, spec: "slow" });
      await world.tell(name, { type: "work" });
    }
    await world.stop("");
    await world.advance(1000);
    for (const name of "ab") world.jobs(name)[0]?.end({ status: "aborted" });
    await world.advance(999);
    expect(world.names()).toEqual(["c"]);
    await world.advance(1);
    expect(world.has("")).toBe(false);
  });

  // A dynamic child that cannot start again ends the supervisor with all others.
  it("simple_one_for_one_escalation: one of many that cannot start again ends its supervisor with the rest", async () => {
    const world = await Otp.open({ sup: { restart: "transient", intensity: 0, past: "fail" }, specs: { one: { past: "climb" } } });
    for (const name of "abc") await world.start({ name, spec: "one" });
    world.failStarts("a", 99);
    await world.crash("a");
    expect([world.has(""), [..."abc"].some((name) => world.has(name))]).toEqual([false, false]);
  });

  // Starts that fail in a restart do not confuse the supervisor's own account of its children.
  it("simple_one_for_one_corruption: restarts that fail leave the supervisor's account of its children whole", async () => {
    const world = await Otp.open({ specs: { one: { restart: "transient", past: "fail", intensity: 2 } } });
    for (const name of "abc") await world.start({ name, spec: "one" });
    world.failStarts("b", 2);
    await world.crash("b");
    expect([world.names(), world.downsOf("b")]).toEqual([["a", "c"], ["crash"]]);
    await world.start({ name: "b", spec: "one" });
    await world.crash("a");
    expect([world.names(), world.status("")]).toEqual([["a", "c", "b"], "live"]);
    await world.replace();
    expect(world.names()).toEqual(["a", "c", "b"]);
  });

  // A dynamic child whose init says `ignore` at a restart is no child any more, and that is no failure. Here: it ends in its first
  // step; as a transient one it is down as normal.
  it("simple_one_for_one_restart_ignore: one that ends in the first step of its restart is no child any more, without a failure", async () => {
    const world = await Otp.open();
    await world.start({ name: "a", spec: "transient" }, { name: "b", spec: "transient" });
    world.endAtStart("a");
    await world.crash("a");
    expect([world.names(), world.kernel.tombstone("/sup/a" as never)?.reason, world.starts("")]).toEqual([["b"], { kind: "normal" }, 1]);
  });
});
