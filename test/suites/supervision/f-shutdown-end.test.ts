/** Group F: a child that is shut down, by its restart kind. */
import { describe, expect, it } from "vitest";
import { Otp } from "../../support/otp-world.ts";

describe("group F, shutdown end", () => {
  // A permanent child that exits with `shutdown` is restarted. Here a stop of a permanent one suspends it: what it holds stays,
  // what is below it goes, it hears `stopped` and goes on with the same birth.
  it("permanent_shutdown: a permanent child that is stopped goes on, told that it was stopped, with nothing below it", async () => {
    const world = await Otp.open({ children: { a: {} }, input: { a: { children: [{ name: "t", spec: "transient" }] as never } } });
    await world.stop("a");
    expect([world.names(), world.status("a"), world.lives("a"), world.seen("a")]).toEqual([["a"], "live", 1, ["stopped"]]);
    expect(world.names("a")).toEqual([]);
    await world.stop("a", "user");
    expect([world.status("a"), world.seen("a")]).toEqual(["live", ["stopped", "stopped"]]);
  });

  // A transient one is not restarted after `shutdown`, whatever is said with it.
  it("transient_shutdown: a transient child that is stopped is down with the reason of the stop, and can be started again", async () => {
    const world = await Otp.open({ children: { a: { restart: "transient", past: "fail" } } });
    await world.stop("a");
    expect([world.names(), world.downs()]).toMatchObject([[], [{ name: "a", kind: "stopped", by: "shutdown" }]]);
    await world.start({ name: "a", spec: "transient" });
    await world.stop("a", "timeout");
    expect([world.names(), world.downs()[1], world.lives("a")]).toMatchObject([[], { kind: "stopped", by: "timeout" }, 2]);
  });

  // A temporary one neither.
  it("temporary_shutdown: a temporary child that is stopped is down, and no trace of it hinders a new one", async () => {
    const world = await Otp.open({ children: { a: { restart: "temporary", past: "fail" } } });
    await world.stop("a");
    expect([world.names(), world.downsOf("a")]).toEqual([[], ["stopped"]]);
    await world.start({ name: "a", spec: "temporary" });
    await world.stop("a", "user");
    expect([world.names(), world.downsOf("a"), world.lives("a")]).toEqual([[], ["stopped", "stopped"], 2]);
  });

  // An application whose only worker cannot start is shut down, and the error of the worker is what its starter gets.
  it("faulty_application_shutdown: a tree whose lowest worker does not start hands the error up to who started it", async () => {
    const worker = { children: [{ name: "worker" }] } as never;
    const world = await Otp.open({ specs: { app: { wholeStart: true } } }, { "/sup/app/worker": 1 });
    await world.start({ name: "app", spec: "app", input: worker });
    expect(world.names()).toEqual([]);
    expect(world.downs()).toMatchObject([
      { name: "app", kind: "crash", message: "its child /sup/app/worker did not start: worker does not start" },
    ]);
    expect([world.status(""), world.lives("")]).toEqual(["live", 1]);
  });
});
