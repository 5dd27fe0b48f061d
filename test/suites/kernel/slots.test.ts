/**
 * The pool of slots in a real kernel: who gets one, who waits, and that none leaks (design §6, P5).
 *
 * Defects it would catch: more holders than slots, a slot that stays taken after its holder went or crashed, a waiter passed over
 * for ever, a line forgotten over a restart, a waiter served after it took its question back.
 */
import { describe, expect, it } from "vitest";
import { charts, specs } from "../../../src/actors/tree.ts";
import type { PoolContext } from "../../../src/machines/index.ts";
import { openWorld, reopen, type World } from "../../support/kernel-world.ts";

const pool = charts.filter(({ name }) => name === "pool");
const options = { charts: pool, specs: { pool: specs["pool"] as never } };

/** Workers are lines of their own below the root; `/pool` gives out slots. */
async function withPool(cap: number, workers: string): Promise<World> {
  const world = await openWorld(options);
  await world.ask("/", { type: "child", name: "pool", spec: "pool", chart: "pool", input: { cap } });
  for (const name of workers) await world.ask("/", { type: "child", name, spec: "transient" });
  return world;
}
const take = (world: World, worker: string, more: { session?: string; returning?: boolean; top?: boolean } = {}): Promise<unknown> =>
  world.ask(`/${worker}`, {
    type: "ask",
    name: "slot",
    to: "/pool",
    question: "slot.take",
    with: { session: more.session ?? worker, returning: more.returning ?? false, top: more.top ?? true },
    why: "a slot",
  });
const give = (world: World, worker: string): Promise<unknown> =>
  world.ask(`/${worker}`, { type: "forward", to: "/pool", event: { type: "slot.give" } });
const state = (world: World): { holders: string[]; waiting: string[]; cap: number } => {
  const { holders, waiters, cap } = world.kernel.context("/pool" as never) as unknown as PoolContext;
  return {
    cap,
    holders: [...holders.entries()].map(([address]) => address).sort(),
    waiting: [...waiters.entries()].sort(([, a], [, b]) => a.n - b.n).map(([, { address }]) => address),
  };
};

describe("a pool of two", () => {
  it("gives out two, lets the third wait, and hands on what comes back", async () => {
    const world = await withPool(2, "abc");
    for (const worker of "abc") await take(world, worker);
    expect(state(world)).toEqual({ cap: 2, holders: ["/a", "/b"], waiting: ["/c"] });
    await give(world, "a");
    expect(state(world)).toEqual({ cap: 2, holders: ["/b", "/c"], waiting: [] });
    expect((await world.state("/c")).ends).toEqual([{ end: "answered", name: "slot", value: { slot: true } }]);
  });
  it.each(["finish", "poisoned", "stopped"])("takes back the slot of a holder that is gone: %s", async (how) => {
    const world = await withPool(1, "ab");
    await take(world, "a");
    await take(world, "b");
    if (how === "finish") world.kernel.tell("/a" as never, { type: "finish" });
    else if (how === "stopped") void world.kernel.stop("/a" as never, { by: "user" });
    else for (let n = 0; n < 4; n += 1) world.kernel.tell("/a" as never, { type: "poison" });
    await world.time.settle();
    expect(state(world)).toEqual({ cap: 1, holders: ["/b"], waiting: [] });
  });
  it("takes who waits out of the line when it goes or takes its question back", async () => {
    const world = await withPool(1, "abc");
    for (const worker of "abc") await take(world, worker);
    await world.ask("/b", { type: "unwait", name: "slot" });
    world.kernel.tell("/c" as never, { type: "finish" });
    await world.time.settle();
    expect(state(world)).toEqual({ cap: 1, holders: ["/a"], waiting: [] });
  });
  it("stands with holders and line after a restart", async () => {
    const world = await withPool(1, "abc");
    for (const worker of "abc") await take(world, worker);
    const after = await reopen(world, options);
    expect(state(after)).toEqual({ cap: 1, holders: ["/a"], waiting: ["/b", "/c"] });
    await give(after, "a");
    expect(state(after).holders).toEqual(["/b"]);
  });
  it("keeps its last free slot for the top level", async () => {
    const world = await withPool(2, "abc");
    await take(world, "a", { top: false });
    await take(world, "b", { top: false });
    expect(state(world)).toMatchObject({ holders: ["/a"], waiting: ["/b"] });
    await take(world, "c", { top: true });
    expect(state(world)).toMatchObject({ holders: ["/a", "/c"], waiting: ["/b"] });
  });
  it("of one has no slot to keep", async () => {
    const world = await withPool(1, "a");
    await take(world, "a", { top: false });
    expect(state(world).holders).toEqual(["/a"]);
  });
  it("takes sessions in turn, and each in its own order", async () => {
    const world = await withPool(1, "xabcd");
    await take(world, "x");
    for (const [worker, session] of [
      ["a", "one"],
      ["b", "one"],
      ["c", "one"],
      ["d", "two"],
    ] as const)
      await take(world, worker, { session });
    const order: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      await give(world, state(world).holders[0]?.slice(1) ?? "");
      order.push(state(world).holders[0] ?? "");
    }
    expect(order).toEqual(["/a", "/d", "/b", "/c"]);
  });
  it("alternates between those that come back and new ones", async () => {
    const world = await withPool(1, "xabcd");
    await take(world, "x");
    for (const [worker, returning] of [
      ["a", false],
      ["b", false],
      ["c", true],
      ["d", true],
    ] as const)
      await take(world, worker, { returning });
    const order: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      await give(world, state(world).holders[0]?.slice(1) ?? "");
      order.push(state(world).holders[0] ?? "");
    }
    expect(order).toEqual(["/c", "/a", "/d", "/b"]);
  });
  it("gives out more at once when its cap is raised, and takes none away when it is lowered", async () => {
    const world = await withPool(1, "abc");
    for (const worker of "abc") await take(world, worker);
    await world.ask("/pool", { type: "slot.cap", cap: 3 });
    expect(state(world).holders).toEqual(["/a", "/b", "/c"]);
    await world.ask("/pool", { type: "slot.cap", cap: 1 });
    await give(world, "a");
    expect(state(world).holders).toEqual(["/b", "/c"]);
    await take(world, "a");
    await give(world, "b");
    expect(state(world)).toEqual({ cap: 1, holders: ["/c"], waiting: ["/a"] });
  });
  it("lets nobody wait for a slot whose holders all wait for the one who asks", async () => {
    const world = await openWorld(options);
    await world.ask("/", { type: "child", name: "pool", spec: "pool", chart: "pool", input: { cap: 1 } });
    for (const name of "ab") await world.ask("/", { type: "child", name, spec: "line" });
    await take(world, "a");
    await world.ask("/a", { type: "ask", name: "q", to: "/b" });
    await take(world, "b");
    expect((await world.state("/b")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
  });
  it("gives nothing to a door, which could not give it back", async () => {
    const world = await withPool(1, "a");
    await expect(world.ask("/pool", { type: "slot.take", session: "s", returning: false, top: true })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
    });
    expect(state(world)).toEqual({ cap: 1, holders: [], waiting: [] });
  });
});

describe("any run on a pool", () => {
  it("never holds more than its cap and serves everybody in the end", async () => {
    const names = "abcdefghij";
    const world = await withPool(3, names);
    const served = new Set<string>();
    for (const worker of names) await take(world, worker, { session: worker < "f" ? "one" : worker, returning: worker > "h" });
    for (let n = 0; n < names.length; n += 1) {
      const { holders, cap } = state(world);
      expect(holders.length).toBeLessThanOrEqual(cap);
      for (const holder of holders) served.add(holder);
      await give(world, holders[0]?.slice(1) ?? "");
    }
    expect(served.size).toBe(names.length);
    expect(state(world)).toEqual({ cap: 3, holders: [], waiting: [] });
  });
});
