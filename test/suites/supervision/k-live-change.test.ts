/**
 * Group K: specs and charts that change while the tree lives. Erlang changes them in the running process; here a new build of the
 * server opens the same rows: specs are looked up by name, charts migrate their state by version.
 */
import { assign, setup } from "xstate";
import { describe, expect, it } from "vitest";
import type { ChartDefinition } from "../../../src/actors/kernel/chart.ts";
import { effects } from "../../../src/protocol/effects.ts";
import { member, Otp } from "../../support/otp-world.ts";

const counter = (version: number): ChartDefinition => ({
  name: "counter",
  version,
  machine: setup({
    types: {} as { context: { count?: number; counts?: number[] }; events: { type: "add" } },
    actions: effects,
  }).createMachine({
    context: version === 1 ? { count: 0 } : { counts: [] },
    on: {
      add: {
        actions: assign(({ context }) =>
          version === 1 ? { count: (context.count ?? 0) + 1 } : { counts: [...(context.counts ?? []), context.counts?.length ?? 0] },
        ),
      },
    },
  }),
  ...(version === 1
    ? {}
    : {
        migrate: (stored) => ({
          ...stored,
          context: { counts: Array.from({ length: Number(stored.context["count"]) }, (_, n) => n) },
        }),
      }),
});

describe("group K, live change", () => {
  // Flags change and hold from then on; child specs are added, changed and taken away, running children stay; faulty ones are refused
  // and the old ones hold.
  it("code_change: changed flags hold for the children that live, and faulty ones are refused before a row is touched", async () => {
    const world = await Otp.open({ children: { a: { intensity: 0 }, b: {} } });
    const births = ["a", "b"].map((name) => world.birth(name));
    await world.replace({ specs: { sup: { strategy: "one_for_all" }, "child a": { intensity: 1 } } });
    expect(["a", "b"].map((name) => world.birth(name))).toEqual(births);
    await world.crash("a");
    expect([world.status("a"), world.birth("b") !== births[1]]).toEqual(["live", true]);
    const rows = world.journal.rows.length;
    await expect(world.replace({ specs: { "child a": { intensity: Number.NaN } } })).rejects.toThrow(
      /^spec "child a" is refused: intensity/,
    );
    expect(world.journal.rows).toHaveLength(rows);
    await world.replace({ specs: { "child a": { intensity: 1 } } });
    expect(world.names()).toEqual(["a", "b"]);
  });

  // The same as maps, where what is not said is the default.
  it("code_change_map: a flag that is no longer said is the default again, and a changed limit holds for a running child", async () => {
    const world = await Otp.open({
      sup: { strategy: "one_for_all", restart: "transient", past: "fail" },
      children: { a: { shutdown: 2000 }, b: {} },
    });
    await world.replace({ specs: { sup: { strategy: "one_for_one" }, "child a": { shutdown: 1000 } } });
    const birth = world.birth("b");
    await world.crash("a");
    expect(world.birth("b")).toBe(birth);
    world.hand.stubborn = true;
    await world.tell("a", { type: "work" });
    await world.stop("");
    await world.advance(999);
    expect(world.has("")).toBe(true);
    await world.advance(1);
    expect(world.has("")).toBe(false);
  });

  // Of simple_one_for_one the one spec can change. Here also the chart itself: state written by an older version is brought up.
  it("code_change_simple: children of one kind go on under a newer chart with their state brought up to it", async () => {
    const world = await Otp.open({ charts: [counter(1)] });
    await world.start({ name: "a", chart: "counter" }, { name: "b", chart: "counter" });
    for (let n = 0; n < 3; n += 1) await world.tell("a", { type: "add" });
    await world.replace({ charts: [member, counter(2)] });
    expect(world.kernel.context("/sup/a" as never)).toEqual({ counts: [0, 1, 2] });
    await world.tell("a", { type: "add" });
    await world.crash("");
    await world.replace();
    expect(world.status("")).toBe("live");
  });

  // Adding or removing children of a simple_one_for_one supervisor by a change is refused. Here: a chart whose rows nobody can bring
  // up, or whose spec is gone, is refused with its name, and the older build still opens the rows.
  it("code_change_simple_map: rows of a chart without a migration, or of a spec that is gone, are refused by name and stay", async () => {
    const world = await Otp.open({ charts: [counter(1)] });
    await world.start({ name: "a", chart: "counter" });
    await world.tell("a", { type: "add" });
    const { migrate: _, ...without } = counter(2);
    await expect(world.replace({ charts: [member, without] })).rejects.toThrow(/chart "counter" is refused: rows of version 1/);
    await expect(world.replace({ charts: [member] })).rejects.toThrow(/holds \/sup\/a of kind "counter"/);
    await world.replace({ charts: [member, counter(1)] });
    expect(world.kernel.context("/sup/a" as never)).toEqual({ count: 1 });
  });
});
