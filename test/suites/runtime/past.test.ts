/** The tree as it was and what happened when, read from rows (`GET /actors?at=`, `GET /activity`). */
import { describe, expect, it } from "vitest";
import type { ActorView } from "../../../src/protocol/actor-view.ts";
import { type Model, openRuntimeWorld, reopenRuntime } from "../../support/runtime-world.ts";

const model: Model = (said, round) => {
  if (said === "fail") return { fail: { code: "PROVIDER_FAILED" } };
  if (round === 0) return { say: "looking", calls: [["hang", { name: "held" }]], ...(said === "hold" ? { hang: "held" } : {}) };
  return { say: "done" };
};
const facts = (views: readonly ActorView[]): string[] => views.map(({ address, state, status }) => `${address} ${state} ${status}`).sort();

describe("the tree as it was", () => {
  it("is the tree that was seen then, also after a restart", async () => {
    const world = await openRuntimeWorld({ model });
    const { actors } = world.runtime;
    await world.send("hold");
    await world.time.settle();
    const then = world.time.now();
    const seen = facts(actors.list());
    expect(seen.some((line) => line.includes("/turns/"))).toBe(true);
    await world.time.advance(60_000);
    world.outside.release("held");
    await world.idle();
    const later = facts(actors.list());
    expect(later.some((line) => line.includes("/turns/"))).toBe(false);
    expect(facts(await actors.past(then))).toEqual(seen);
    expect(facts(await actors.past(world.time.now()))).toEqual(later);
    const after = await reopenRuntime(world);
    expect(facts(await after.runtime.actors.past(then))).toEqual(seen);
    expect(facts(await after.runtime.actors.past(then, "/slots"))).toEqual(seen.filter((line) => line.startsWith("/slots")));
    expect(await after.runtime.actors.past(0)).toEqual([]);
  });
  it("counts commits and failed turns where they happened", async () => {
    const world = await openRuntimeWorld({ model });
    const from = world.time.now();
    await world.send("one");
    await world.idle();
    await world.time.advance(10_000);
    await world.send("fail");
    await world.idle();
    const buckets = await world.runtime.actors.activity({ from, to: world.time.now() + 1, bucketMs: 5_000 });
    expect(buckets.map(({ failures }) => failures).reduce((sum, each) => sum + each, 0)).toBe(1);
    expect(buckets.at(-1)?.failures).toBe(1);
    expect(buckets.every(({ commits }) => commits > 0)).toBe(true);
  });
});
