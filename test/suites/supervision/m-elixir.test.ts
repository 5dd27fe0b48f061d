/** Cases of Elixir's DynamicSupervisor, Task.Supervisor and Registry tests. */
import { describe, expect, it } from "vitest";
import { at, atEveryCommit, Otp } from "../../support/otp-world.ts";

describe("Elixir", () => {
  // DynamicSupervisor: at max_children the next start is refused; it works again when one has gone.
  it("max_children: one child more than allowed is refused, and allowed again when one has gone", async () => {
    const world = await Otp.open({ sup: { maxChildren: 2 } });
    for (const name of "abc") await world.start({ name, spec: "transient" });
    expect([world.names(), world.downsOf("c")]).toEqual([["a", "b"], ["gone"]]);
    await world.finish("a");
    await world.start({ name: "d", spec: "transient" });
    expect(world.names()).toEqual(["b", "d"]);
  });

  // A restarting child still counts against it.
  it("max_children_restarting: a child that waits for its restart takes its place", async () => {
    const world = await Otp.open({ sup: { maxChildren: 1 }, children: { a: { backoffMs: { first: 1000, most: 1000 } } } });
    await world.crash("a");
    await world.start({ name: "b" });
    expect([world.names(), world.downsOf("b"), world.status("a")]).toEqual([["a"], ["gone"], "restarting"]);
  });

  // A child that fails again while it is restarted uses up the intensity.
  it("restart_fails_intensity: a child that fails in its restarts uses up its own budget", async () => {
    const { end, different } = await atEveryCommit({ children: { a: { intensity: 3 }, b: {} } }, async (world) => {
      world.failStarts("a", 3);
      await world.crash("a");
      return { end: [world.status("a"), world.status("b")] };
    });
    expect(end).toEqual(["parked", "live"]);
    expect(different).toEqual([]);
  });

  // Terminating children with brutal kill, infinity, a number, an expired number, and a mix of them.
  it("terminate_mix: of children with all kinds of limits each ends by its own", async () => {
    const world = await Otp.open({
      sup: { restart: "transient", past: "fail" },
      children: { brutal: { shutdown: "brutal" }, endless: { shutdown: "infinity" }, quick: { shutdown: 100 }, slow: { shutdown: 5000 } },
    });
    world.hand.stubborn = true;
    for (const name of world.names()) await world.tell(name, { type: "work" });
    await world.stop("");
    await world.advance(0);
    expect(world.names()).toEqual(["endless", "quick", "slow"]);
    await world.advance(100);
    expect(world.names()).toEqual(["endless", "slow"]);
    world.jobs("slow")[0]?.end({ status: "aborted" });
    await world.advance(60_000);
    expect(world.names()).toEqual(["endless"]);
    world.jobs("endless")[0]?.end({ status: "aborted" });
    await world.settle();
    expect([world.has(""), world.kernel.lost().map(({ address }) => address)]).toEqual([false, ["/sup/brutal", "/sup/quick"]]);
  });

  // A restarting child can be terminated.
  it("terminate_restarting: a child that waits for its restart can be stopped, and does not come back", async () => {
    const { end, different } = await atEveryCommit({ children: { a: { backoffMs: { first: 1000, most: 1000 } } } }, async (world) => {
      await world.crash("a");
      await world.stop("a", "user", true);
      const names = world.names();
      await world.advance(10_000);
      return { end: [names, world.names()] };
    });
    expect(end).toEqual([[], []]);
    expect(different).toEqual([]);
  });

  // Task.Supervisor.async_nolink: a task survives its caller, and its caller survives it.
  it("async_nolink: a child under somebody else survives who asked for it, and its crash reaches only who watches", async () => {
    const world = await Otp.open();
    await world.start({ name: "caller", spec: "temporary" });
    await world.tell("/", { type: "start", children: [{ name: "sup/task", spec: "temporary" }] });
    await world.tell("caller", { type: "look", who: "/sup/task" });
    await world.crash("caller");
    expect(world.status("task")).toBe("live");
    await world.crash("task");
    expect([world.downsOf("task", "/"), world.status("")]).toEqual([["crash"], "live"]);
  });

  // Task.await on a time-out takes its monitor away: no late message comes.
  it("await_demonitor: who takes its watch away hears nothing more, also when the end was on its way", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    // Its down goes behind its own last message, which is handled while the down already waits.
    world.kernel.tell(at("a"), { type: "pass", to: "/sup", event: { type: "forget", who: "/sup/a" } });
    world.kernel.tell(at("a"), { type: "finish" });
    await world.settle();
    expect([world.downs(), world.has("a")]).toEqual([[], false]);
  });

  // Task.async with its own shutdown: each task has its own limit.
  it("async_shutdown: each child has its own limit, whatever its siblings have", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail", shutdown: 50 }, b: { shutdown: 9000 } } });
    world.hand.stubborn = true;
    for (const name of "ab") await world.tell(name, { type: "work" });
    await world.stop("a");
    await world.advance(50);
    expect(world.names()).toEqual(["b"]);
  });

  // Registry: an entry is gone when its owner crashed, and its name can be taken at once.
  it("registry_unregisters_on_crash: an address is free as soon as its owner is gone, and its mail reaches nobody", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" }, b: {} } });
    await world.crash("a");
    await world.tell("b", { type: "pass", to: "/sup/a", text: "late" });
    expect(world.kernel.stats().deadLetters).toBe(1);
    await world.start({ name: "a", spec: "temporary" });
    expect([world.seen("a"), world.status("b")]).toEqual([[], "live"]);
  });
});
