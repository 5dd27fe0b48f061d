/** Group A of Erlang's supervisor cases: how a supervisor starts, and how that fails. */
import { describe, expect, it } from "vitest";
import { atEveryCommit, Otp } from "../../support/otp-world.ts";

describe("group A, starting", () => {
  // A supervisor without children starts, and ends when it is told to shut down.
  it("sup_start_normal: a supervisor without children starts, and ends when it is told to", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" } });
    expect(world.status("")).toBe("live");
    await world.stop("");
    expect(world.has("")).toBe(false);
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "stopped", by: "shutdown" }]);
  });

  // Its init says `ignore`: the supervisor ends with reason normal. Here: its chart is final in its first step.
  it("sup_start_ignore_init: a supervisor whose first step is its end goes down as normal", async () => {
    const world = await Otp.open();
    await world.tell("/", { type: "start", children: [{ name: "brief", spec: "transient", input: { end: true } }] });
    expect(world.kernel.has("/brief" as never)).toBe(false);
    expect(world.downsOf("brief", "/")).toEqual(["normal"]);
  });

  // A child's init says `ignore`: the supervisor goes on, the next child starts. Erlang keeps the spec of the first without a
  // process; here a spec is only kept by who lives, so it is down and its address is free.
  it("sup_start_ignore_child: a child that ends in its first step hinders nobody", async () => {
    const world = await Otp.open();
    await world.start({ name: "one", spec: "transient", input: { end: true } }, { name: "two" });
    expect(world.names()).toEqual(["two"]);
    expect(world.downs()).toMatchObject([{ name: "one", kind: "normal" }]);
  });

  // The same for a temporary child among those the supervisor starts with: no trace of it stays.
  it("sup_start_ignore_temporary_child: a temporary child that ends in its first step is no child any more", async () => {
    const world = await Otp.open({
      children: { one: { restart: "temporary", past: "fail" }, two: { restart: "temporary", past: "fail" } },
      input: { one: { end: true } },
    });
    expect(world.names()).toEqual(["two"]);
    expect(world.status("")).toBe("live");
  });

  // The same for one that is started later.
  it("sup_start_ignore_temporary_child_start_child: nor is one that was started later", async () => {
    const world = await Otp.open();
    await world.start({ name: "one", spec: "temporary", input: { end: true } });
    await world.start({ name: "two", spec: "temporary" });
    expect(world.names()).toEqual(["two"]);
  });

  // The same under simple_one_for_one, whose children are all of one spec and have no ids of their own.
  it("sup_start_ignore_temporary_child_start_child_simple: of many of one kind only those that go on are children", async () => {
    const world = await Otp.open();
    for (let n = 0; n < 6; n += 1) await world.start({ name: `c${n}`, spec: "temporary", input: { end: n % 2 === 0 } });
    expect(world.names()).toEqual(["c1", "c3", "c5"]);
  });

  // The same for permanent ones; and the supervisor still ends without an error. A `keep` one that ended has nothing to go on with,
  // so it is down, as here; a `fresh` one is restarted (see permanent_normal).
  it("sup_start_ignore_permanent_child_start_child_simple: a permanent one that ended is gone, and its supervisor can end", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" } });
    await world.start({ name: "one", spec: "keeper", input: { end: true } }, { name: "two", spec: "keeper" });
    expect(world.names()).toEqual(["two"]);
    await world.stop("");
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "stopped" }]);
  });

  // Its init gives something that is no answer: the start fails and says why. Here: it asks for a child of an unknown chart.
  it("sup_start_error_return: a supervisor that asks for what does not exist fails to start, and the reason names it", async () => {
    const world = await Otp.open();
    const input = { children: [{ name: "x", chart: "no-such-chart" }] } as never;
    await world.tell("/", { type: "start", children: [{ name: "bad", spec: "temporary", input }] });
    expect(world.downs("/")).toMatchObject([{ name: "bad", kind: "crash", message: expect.stringContaining("no-such-chart") }]);
  });

  // Its init throws: the start fails, nothing of it is left.
  it("sup_start_fail: a supervisor whose first step throws starts no child and is down", async () => {
    const world = await Otp.open({}, { "/bad": 1 });
    const input = { children: [{ name: "x" }] } as never;
    await world.tell("/", { type: "start", children: [{ name: "bad", spec: "temporary", input }] });
    expect(world.downs("/")).toMatchObject([{ name: "bad", kind: "crash", message: "bad does not start" }]);
    expect(world.births()).not.toContain("x");
  });

  // One of the children it starts with fails: the supervisor fails as a whole, who had started is stopped in reverse order.
  it("sup_start_child_returns_error: one failing child takes the first start with it, those before it go in reverse", async () => {
    const world = await Otp.open({ sup: { wholeStart: true }, children: { a: {}, b: {}, c: {} }, input: { c: {} } }, { "/sup/c": 1 });
    expect(world.has("")).toBe(false);
    expect(world.buried()).toEqual(["c", "b", "a", "sup"]);
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "crash", message: "its child /sup/c did not start: c does not start" }]);
    // Also when the server dies on the way; who comes after the failing one never had its first step.
    const children = ["a", "b", "c", "d"].map((name) => ({ name })) as never;
    const { end, different } = await atEveryCommit({ specs: { whole: { wholeStart: true } } }, async (other) => {
      other.failStarts("two/c", 99);
      await other.start({ name: "two", spec: "whole", input: { children } });
      return { end: [other.names(), other.downsOf("two"), other.buried(), other.status("")], exact: other.starts("two/d") };
    });
    expect(end).toEqual([[], ["crash"], ["c", "d", "b", "a", "two"], "live"]);
    expect(different).toEqual([]);
  });

  // A child that fails when it is started again is tried again, and each try counts as one more restart.
  it("sup_start_restart_child_returns_error: a start that fails at a restart counts as one more restart", async () => {
    const world = await Otp.open({ children: { a: {} } });
    world.failStarts("a", 2);
    await world.crash("a");
    expect(world.status("a")).toBe("live");
    expect(world.kernel.committed("/sup/a" as never)?.restarts).toBe(3);
    await world.crash("a");
    expect(world.status("a")).toBe("parked");
    // The same of a whole supervisor: a child that fails at its restart is one more crash of the supervisor.
    const whole = await Otp.open({ sup: { wholeStart: true, intensity: 2 }, children: { a: {}, b: {} } });
    whole.failStarts("b", 1);
    await whole.crash("");
    expect([whole.names(), whole.status(""), whole.starts(""), whole.kernel.committed("/sup" as never)?.restarts]).toEqual([
      ["a", "b"],
      "live",
      3,
      2,
    ]);
    await whole.crash("");
    expect(whole.status("")).toBe("parked");
  });

  // A dynamic child fails to start: who asked is told, the supervisor and its other children do not notice.
  it("sup_start_child_returns_error_simple: a dynamic child that does not start is told as down, others do not notice", async () => {
    const world = await Otp.open({ sup: { wholeStart: true }, children: { a: {} } }, { "/sup/bad": 1 });
    await world.start({ name: "bad", spec: "temporary" });
    expect(world.downs()).toMatchObject([{ name: "bad", kind: "crash", message: "bad does not start" }]);
    expect(world.names()).toEqual(["a"]);
    expect(world.lives("a")).toBe(1);
  });
});
