/** K13, and what else only shows in numbers: work per spawn and stop does not grow with the siblings; busy is not runaway. */
import { describe, expect, it } from "vitest";
import { openWorld, type World } from "../../support/kernel-world.ts";

async function spawnAndStop(children: number): Promise<{ spawn: number; stop: number }> {
  const world = await openWorld();
  await world.ask("/", { type: "child", name: "a", spec: "transient" });
  const began = performance.now();
  for (let n = 0; n < children; n += 1)
    world.kernel.command("/a" as never, { type: "child", name: `c${n}`, spec: "transient", watch: false }).catch(() => {});
  await world.time.settle();
  expect([...world.kernel.addresses()]).toHaveLength(children + 2);
  const spawned = performance.now();
  const stopping = world.kernel.stop("/a" as never, { by: "user" });
  await world.time.settle();
  await stopping;
  expect([...world.kernel.addresses()]).toEqual(["/"]);
  return { spawn: spawned - began, stop: performance.now() - spawned };
}

describe("20,000 children under one parent", () => {
  it("cost about ten times 2,000, to spawn and to stop", async () => {
    await spawnAndStop(500);
    const few = await spawnAndStop(2_000);
    const many = await spawnAndStop(20_000);
    expect(many.spawn / few.spawn).toBeLessThan(30);
    expect(many.stop / few.stop).toBeLessThan(30);
  });
});

async function withPair(): Promise<World> {
  const world = await openWorld();
  for (const name of ["a", "b"]) await world.ask("/", { type: "child", name, spec: "keeper" });
  return world;
}

describe("a runaway", () => {
  it("of two actors that answer each other for ever is crashed, and others go on", async () => {
    const world = await withPair();
    world.kernel.tell("/a" as never, { type: "volley", to: "/b", back: "/a" });
    await world.time.settle();
    expect(world.kernel.stats().crashes).toBeGreaterThan(0);
    expect(await world.ask("/", { type: "note", text: "here" })).toBe("here");
  });
  it("is not what 12,000 commands at once to one actor are", async () => {
    const world = await withPair();
    const answers = Array.from({ length: 12_000 }, () => world.kernel.command("/a" as never, { type: "put", key: "x", value: 1 }));
    await world.time.settle();
    await Promise.all(answers);
    expect(world.kernel.stats().crashes).toBe(0);
  });
});

describe("watching, spawning", () => {
  it("an address where nobody is answers `down` with reason gone", async () => {
    const world = await withPair();
    world.kernel.tell("/a" as never, { type: "look", target: "/nobody" });
    await world.time.settle();
    expect((await world.state("/a")).downs).toEqual([{ address: "/nobody", reason: "gone", output: null }]);
  });
  it("one that ended answers from its tombstone, also over a restart, and one that waits unread is not doubled", async () => {
    const world = await withPair();
    await world.ask("/a", { type: "child", name: "c", spec: "transient", watch: false });
    world.kernel.tell("/a/c" as never, { type: "finish" });
    await world.time.settle();
    world.kernel.tell("/b" as never, { type: "look", target: "/a/c" });
    world.kernel.tell("/b" as never, { type: "look", target: "/a/c" });
    await world.time.settle();
    // The second look came after the first was answered.
    expect((await world.state("/b")).downs.every(({ address, reason }) => address === "/a/c" && reason === "normal")).toBe(true);
  });
  it("a spawn below a fence starts nothing and answers `down` with reason gone", async () => {
    const world = await withPair();
    await world.ask("/a", { type: "child", name: "c", spec: "transient" });
    await world.ask("/a/c", { type: "work" });
    world.hand.stubborn = true;
    void world.kernel.stop("/a" as never, { by: "user" });
    world.kernel.tell("/b" as never, { type: "spawnUnder", under: "/a/c", name: "d" });
    await world.time.settle();
    expect(world.kernel.has("/a/c/d" as never)).toBe(false);
    expect((await world.state("/b")).downs).toEqual([{ address: "/a/c/d", reason: "gone", output: null }]);
  });
});

describe("a parked actor", () => {
  it("keeps what is below it still until it is resumed: mail waits, doors are refused with its reason", async () => {
    const world = await withPair();
    await world.ask("/a", { type: "child", name: "c", spec: "keeper" });
    world.kernel.park("/a" as never, "folder gone");
    await world.time.settle();
    world.kernel.tell("/b" as never, { type: "forward", to: "/a/c", event: { type: "mail", text: "waits" } });
    await expect(world.ask("/a/c", { type: "note", text: "x" })).rejects.toMatchObject({
      code: "PARKED",
      message: expect.stringContaining("folder gone"),
    });
    expect(world.kernel.context("/a/c" as never)?.["seen"]).toEqual([]);
    world.kernel.resume("/a" as never);
    await world.time.settle();
    expect((await world.state("/a/c")).seen).toEqual(["waits"]);
  });
});
