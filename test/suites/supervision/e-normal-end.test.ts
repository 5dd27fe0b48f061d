/** Group E: a child that ends normally, by its restart kind. */
import { describe, expect, it } from "vitest";
import { Otp } from "../../support/otp-world.ts";

describe("group E, normal end", () => {
  // A permanent child is always restarted. Here that needs one that can start anew: `fresh`. Of a `keep` one nothing is left to go
  // on with when its chart came to its end, so it is down like a transient one.
  it("permanent_normal: a fresh permanent child that ends is born again; its watcher hears how the old life ended", async () => {
    const world = await Otp.open({ children: { a: {}, k: { identity: "keep" } } });
    await world.ask("a", { type: "say", text: "x" });
    await world.finish("a");
    await world.finish("k");
    expect([world.names(), world.lives("a"), world.status("a"), world.seen("a")]).toEqual([["a"], 2, "live", []]);
    expect(world.downs()).toMatchObject([
      { name: "a", kind: "normal", output: { heard: 1 } },
      { name: "k", kind: "normal" },
    ]);
    for (let n = 0; n < 3; n += 1) await world.finish("a");
    expect([world.status("a"), world.kernel.parkedReason("/sup/a" as never)]).toEqual(["parked", "ended 4 times within 60 s"]);
    await world.resume("a");
    expect([world.status("a"), world.lives("a")]).toEqual(["live", 5]);
  });

  // A transient child that ends normally is not restarted.
  it("transient_normal: a transient child that ends is down and not born again", async () => {
    const world = await Otp.open({ children: { a: { restart: "transient", past: "fail" } } });
    await world.finish("a");
    expect([world.names(), world.lives("a"), world.downsOf("a")]).toEqual([[], 1, ["normal"]]);
    await world.replace();
    expect([world.names(), world.lives("a")]).toEqual([[], 1]);
  });

  // A temporary child is never restarted.
  it("temporary_normal: nor is a temporary one", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    await world.finish("a");
    expect([world.names(), world.lives("a"), world.downsOf("a")]).toEqual([[], 1, ["normal"]]);
  });
});
