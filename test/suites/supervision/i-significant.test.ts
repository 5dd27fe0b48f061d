/** Group I: children whose own end is the end of their supervisor. */
import { describe, expect, it } from "vitest";
import type { AutoShutdown, ChildSpec } from "../../../src/protocol/effects.ts";
import { atEveryCommit, Otp } from "../../support/otp-world.ts";

const transient: Partial<ChildSpec> = { restart: "transient", past: "fail" };
const temporary: Partial<ChildSpec> = { restart: "temporary", past: "fail" };
const significant = (spec: Partial<ChildSpec>): Partial<ChildSpec> => ({ ...spec, significant: true });
/** A supervisor that goes for good with its significant children. */
const sup = (autoShutdown: AutoShutdown): Partial<ChildSpec> => ({ ...transient, autoShutdown });
const shutDown = [{ name: "sup", kind: "stopped", by: "shutdown" }];

/** Changes what the supervisor does with its significant children in a new build of the server, on the same rows. */
async function upgraded(from: AutoShutdown, to: AutoShutdown): Promise<Otp> {
  const spec = from === "never" && to === "never" ? transient : significant(transient);
  const world = await Otp.open({
    sup: sup(from),
    children: { a: from === "never" ? transient : spec, b: from === "never" ? transient : spec },
  });
  await world.replace({ specs: { sup: { autoShutdown: to }, "child a": { significant: true }, "child b": { significant: true } } });
  expect(world.names()).toEqual(["a", "b"]);
  return world;
}

describe("group I, significant children", () => {
  // A temporary child that is not significant ends, normally or not: its supervisor stays, whatever it does with significant ones.
  it("nonsignificant_temporary: a temporary child that is not significant takes nobody with it", async () => {
    for (const mode of ["never", "any_significant", "all_significant"] as const)
      for (const how of ["finish", "crash"] as const) {
        const world = await Otp.open({ sup: sup(mode), children: { a: temporary } });
        await world[how]("a");
        expect([world.has("a"), world.status("")]).toEqual([false, "live"]);
      }
  });

  // The same for a transient one, which is restarted when it crashes.
  it("nonsignificant_transient: nor does a transient one, which comes back after a crash", async () => {
    for (const mode of ["never", "any_significant", "all_significant"] as const) {
      const world = await Otp.open({ sup: sup(mode), children: { a: transient } });
      await world.crash("a");
      expect(world.status("a")).toBe("live");
      await world.finish("a");
      expect([world.has("a"), world.status("")]).toEqual([false, "live"]);
    }
  });

  // A significant temporary one ends by itself, normally or not: with `any` the supervisor ends, with `all` when it was the last.
  it("significant_temporary: any end of a significant temporary child ends its supervisor, with all only the last one's", async () => {
    for (const how of ["finish", "crash"] as const) {
      const any = await Otp.open({
        sup: sup("any_significant"),
        children: { a: significant(temporary), b: significant(temporary), c: {} },
      });
      await any[how]("a");
      expect([any.has(""), any.has("c")]).toEqual([false, false]);
      expect(any.downs("/")).toMatchObject(shutDown);
      const all = await Otp.open({
        sup: sup("all_significant"),
        children: { a: significant(temporary), b: significant(temporary), c: {} },
      });
      await all[how]("a");
      expect([all.status(""), all.names()]).toEqual(["live", ["b", "c"]]);
      await all[how]("b");
      expect(all.downs("/")).toMatchObject(shutDown);
    }
  });

  // A significant transient one: only its normal end counts, a crash restarts it. Told at every commit.
  it("significant_transient: a crash of a significant transient child restarts it, its normal end ends the supervisor", async () => {
    for (const mode of ["any_significant", "all_significant"] as const) {
      const { end, different } = await atEveryCommit(
        { sup: sup(mode), children: { a: significant(transient), b: significant(transient) } },
        async (world) => {
          await world.crash("a");
          const crashed = [world.kernel.children("/sup" as never)[0]?.restarts, world.status("a"), world.status("")];
          await world.finish("a");
          const one = world.has("");
          await world.finish("b");
          return { end: [crashed, one, world.has(""), world.downs("/").map(({ kind }) => kind)] };
        },
      );
      expect(end).toEqual([[1, "live", "live"], mode === "all_significant", false, ["stopped"]]);
      expect(different).toEqual([]);
    }
  });

  // The same with dynamic children of one kind.
  it("significant_simple: of many significant ones of one kind the first or the last to end ends the supervisor", async () => {
    for (const mode of ["any_significant", "all_significant"] as const) {
      const world = await Otp.open({ sup: sup(mode), specs: { one: significant(temporary) } });
      for (const name of "abc") await world.start({ name, spec: "one" });
      await world.finish("b");
      expect(world.has("")).toBe(mode === "all_significant");
      await world.finish("a");
      await world.crash("c");
      expect(world.downs("/")).toMatchObject(shutDown);
    }
  });

  // A significant child that the supervisor stops, because of a sibling or by hand, ends nobody.
  it("significant_bystander: one that is stopped with a sibling's restart, or by somebody, takes nobody with it", async () => {
    for (const strategy of ["one_for_all", "rest_for_one"] as const) {
      const { end, different } = await atEveryCommit(
        { sup: { ...sup("any_significant"), strategy }, children: { a: {}, b: significant(temporary), c: significant(transient) } },
        async (world) => {
          const before = world.birth("c");
          await world.crash("a");
          const group = [world.status(""), world.names(), world.birth("c") !== before];
          await world.stop("c");
          return { end: [group, world.status(""), world.names()] };
        },
      );
      expect(end).toEqual([["live", ["a", "c"], true], "live", ["a"]]);
      expect(different).toEqual([]);
    }
  });

  // A supervisor that ends with its significant child is itself a significant child: the end climbs.
  it("significant_escalation: the end climbs through supervisors that are significant themselves, and stops at one that is not", async () => {
    const inner = { children: [{ name: "main", spec: "main" }] } as never;
    for (const climbs of [true, false]) {
      const middle: Partial<ChildSpec> = { ...transient, autoShutdown: "any_significant" };
      const world = await Otp.open({
        sup: sup("any_significant"),
        children: { middle: climbs ? significant(middle) : middle, other: {} },
        input: { middle: inner },
        specs: { main: significant(transient) },
      });
      await world.finish("middle/main");
      expect([world.has("middle"), world.has("")]).toEqual([false, !climbs]);
      if (climbs) expect(world.downs("/")).toMatchObject(shutDown);
      else expect(world.downs()).toMatchObject([{ name: "middle", kind: "stopped", by: "shutdown" }]);
    }
    // A permanent supervisor is started anew by its own.
    const lasting = await Otp.open({ sup: { autoShutdown: "any_significant" }, children: { a: significant(transient), b: {} } });
    await lasting.finish("a");
    expect([lasting.lives(""), lasting.names(), lasting.lives("b")]).toEqual([2, ["a", "b"], 2]);
  });

  // Flags of a running supervisor are changed; from then on the new ones hold. Here: a new build on the same rows.
  it("significant_upgrade_never_any: changed from never to any, the next end of a significant child ends the supervisor", async () => {
    const world = await upgraded("never", "any_significant");
    await world.finish("a");
    expect(world.downs("/")).toMatchObject(shutDown);
  });
  it("significant_upgrade_any_never: changed from any to never, no end of a child does", async () => {
    const world = await upgraded("any_significant", "never");
    await world.finish("a");
    await world.finish("b");
    expect([world.status(""), world.names()]).toEqual(["live", []]);
  });
  it("significant_upgrade_never_all: changed from never to all, the end of the last one does", async () => {
    const world = await upgraded("never", "all_significant");
    await world.finish("a");
    expect(world.status("")).toBe("live");
    await world.finish("b");
    expect(world.downs("/")).toMatchObject(shutDown);
  });
  it("significant_upgrade_all_never: changed from all to never, not even the last one's does", async () => {
    const world = await upgraded("all_significant", "never");
    await world.finish("a");
    await world.finish("b");
    expect([world.status(""), world.names()]).toEqual(["live", []]);
  });
  it("significant_upgrade_any_all: changed from any to all, the first end does not and the last does", async () => {
    const world = await upgraded("any_significant", "all_significant");
    await world.finish("a");
    expect(world.status("")).toBe("live");
    await world.finish("b");
    expect(world.downs("/")).toMatchObject(shutDown);
  });
  it("significant_upgrade_all_any: changed from all to any, the first end does", async () => {
    const world = await upgraded("all_significant", "any_significant");
    await world.finish("b");
    expect(world.downs("/")).toMatchObject(shutDown);
  });

  // A running child becomes significant, and another ceases to be.
  it("significant_upgrade_child: a child that became significant ends the supervisor, one that is no more does not", async () => {
    const world = await Otp.open({ sup: sup("any_significant"), children: { a: transient, b: significant(transient) } });
    await world.replace({ specs: { "child a": { significant: true }, "child b": { significant: false } } });
    await world.finish("b");
    expect(world.status("")).toBe("live");
    await world.finish("a");
    expect(world.downs("/")).toMatchObject(shutDown);
  });
});
