/** What a simulated world found in the kernel, each as its shortest story. */
import { describe, expect, it } from "vitest";
import type { Driver, Outcome } from "../../../src/ports/driver.port.ts";
import { HandDriver, openWorld, reopen } from "../../support/kernel-world.ts";

describe("found by the simulation", () => {
  it("performs again what a stop ended when the server died before the stop was on disk", async () => {
    let disk: "ok" | "hang" = "ok";
    const world = await openWorld({ journal: { onAppend: () => disk } });
    await world.ask("/", { type: "child", name: "a", spec: "transient" });
    await world.ask("/a", { type: "work", repeatable: true });
    disk = "hang";
    // The driver is told at once, and ends; the fence never gets to the disk.
    void world.kernel.stop("/a" as never, { by: "user" }).catch(() => {});
    await world.time.settle();
    expect(world.hand.started[0]?.context.signal.aborted).toBe(true);
    const hand = new HandDriver();
    hand.recovery = { kind: "done", outcome: { status: "aborted" } };
    const next = await reopen(world, { hand });
    // Nobody is being stopped now: an outcome `aborted` would be one that nobody waits for.
    expect(hand.started.map(({ attempt }) => attempt)).toEqual([2]);
    hand.started[0]?.end({ status: "done", value: 7 });
    await next.time.settle();
    expect(await next.state("/a")).toMatchObject({ result: 7 });
  });

  it("tells who must not repeat it that it was interrupted, with what is known", async () => {
    let disk: "ok" | "hang" = "ok";
    const world = await openWorld({ journal: { onAppend: () => disk } });
    await world.ask("/", { type: "child", name: "a", spec: "transient" });
    await world.ask("/a", { type: "work" });
    disk = "hang";
    void world.kernel.stop("/a" as never, { by: "user" }).catch(() => {});
    await world.time.settle();
    const hand = new HandDriver();
    hand.recovery = { kind: "done", outcome: { status: "aborted", value: "half" } };
    const next = await reopen(world, { hand });
    expect(hand.started).toEqual([]);
    expect(await next.state("/a")).toMatchObject({ result: { interrupted: "half" } });
  });

  it("books once what a driver says twice", async () => {
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    const outcome: Outcome = { status: "done", value: 1, booking: { usage, costUsd: 0.5, model: "m", provider: "p" } };
    const twice = new HandDriver();
    // No promise does so; a driver that makes its own may.
    const perform: Driver["perform"] = () => ({ then: (done: (given: Outcome) => void) => [done(outcome), done(outcome)] }) as never;
    twice.perform = perform;
    const world = await openWorld({ hand: twice });
    await world.ask("/", { type: "child", name: "a", spec: "transient" });
    await world.ask("/a", { type: "work" });
    await world.time.settle();
    expect(world.journal.rows.filter(({ kind }) => kind === "ledger")).toHaveLength(1);
    expect(await world.state("/a")).toMatchObject({ result: 1 });
    expect(world.kernel.stats().staleOutcomes).toBe(1);
  });
});
