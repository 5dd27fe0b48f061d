/** Group G: a child that crashes, by its restart kind. */
import { describe, expect, it } from "vitest";
import { Otp } from "../../support/otp-world.ts";

describe("group G, abnormal end", () => {
  // A permanent child that crashes is restarted. `fresh`: as in Erlang, anew. `keep`: in place, with what it had.
  it("permanent_abnormal: a permanent child that crashes comes back, fresh with a new birth, keep as it was", async () => {
    const world = await Otp.open({ children: { a: {}, k: { identity: "keep" } } });
    for (const name of ["a", "k"]) {
      await world.ask(name, { type: "say", text: "before" });
      await world.crash(name);
    }
    expect([world.names(), world.lives("a"), world.lives("k")]).toEqual([["a", "k"], 2, 1]);
    expect([world.seen("a"), world.seen("k")]).toEqual([[], ["before", "resumed:crash"]]);
    expect(world.downs()).toMatchObject([{ name: "a", kind: "crash", message: "planted" }]);
  });

  // So is a transient one.
  it("transient_abnormal: so does a transient one", async () => {
    const world = await Otp.open({
      children: { a: { restart: "transient", past: "fail" }, k: { restart: "transient", identity: "keep", past: "fail" } },
    });
    await world.crash("a");
    await world.crash("k");
    expect([world.names(), world.lives("a"), world.lives("k"), world.seen("k")]).toEqual([["a", "k"], 2, 1, ["resumed:crash"]]);
    for (let n = 0; n < 3; n += 1) await world.crash("k");
    expect([world.names(), world.downsOf("k")]).toEqual([["a"], ["crash"]]);
  });

  // A temporary one never.
  it("temporary_abnormal: a temporary one does not", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    await world.crash("a");
    expect([world.names(), world.lives("a"), world.downs()]).toMatchObject([[], 1, [{ name: "a", kind: "crash", message: "planted" }]]);
    await world.replace();
    expect(world.names()).toEqual([]);
  });
});
