/**
 * Questions between actors and the graph of who waits for whom (design §5, K14, K15).
 *
 * Defects it would catch: a question without an end or with two, an edge that outlives its wait or falls too early, a circle let
 * through, a wait refused that could end, an answer to somebody who has gone, an edge forgotten over a restart.
 */
import { assign, setup } from "xstate";
import { describe, expect, it } from "vitest";
import type { ChartDefinition } from "../../../src/actors/kernel/chart.ts";
import { effects } from "../../../src/protocol/effects.ts";
import type { Refusal } from "../../../src/protocol/waits.ts";
import { openWorld, reopen, type World } from "../../support/kernel-world.ts";

/** Lines `/a`, `/b`, … and below each what the test spawns. */
async function withLines(names: string): Promise<World> {
  const world = await openWorld();
  for (const name of names) await world.ask("/", { type: "child", name, spec: "line" });
  return world;
}
const ask = (world: World, from: string, to: string, more: { [field: string]: unknown } = {}): Promise<unknown> =>
  world.ask(from, { type: "ask", name: `of ${to}`, to, ...more });
const ends = async (world: World, address: string): Promise<string[]> =>
  (await world.state(address)).ends.map(({ end, name }) => `${end} ${name}`);
/** Of the only end of its only wait. */
async function refusalOf(world: World, address: string): Promise<Refusal> {
  const [end, ...more] = (await world.state(address)).ends;
  if (end?.end !== "refused" || more.length > 0) throw new Error(`not refused: ${JSON.stringify([end, ...more])}`);
  return end.value as Refusal;
}
const lines = (world: World): string[] => world.kernel.waits().map(({ line, onLine }) => `${line} ${onLine ?? "-"}`);

describe("a question", () => {
  it("is answered once, and its edge is gone with the answer", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    expect(lines(world)).toEqual(["/a /b"]);
    await world.ask("/b", { type: "answer", text: "forty-two" });
    expect((await world.state("/a")).ends).toEqual([{ end: "answered", name: "of /b", value: "forty-two" }]);
    expect(lines(world)).toEqual([]);
  });
  it("stands over a restart and is answered by the next run", async () => {
    const after = await reopen(
      await (async () => {
        const world = await withLines("ab");
        await ask(world, "/a", "/b");
        return world;
      })(),
    );
    expect(lines(after)).toEqual(["/a /b"]);
    await after.ask("/b", { type: "answer" });
    expect(await ends(after, "/a")).toEqual(["answered of /b"]);
    expect(await ends(await reopen(after), "/a")).toEqual(["answered of /b"]);
  });
  it("that is denied is refused with the words of the one asked", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    await world.ask("/b", { type: "deny" });
    const [end] = (await world.state("/a")).ends;
    expect(end).toMatchObject({ end: "refused", value: { why: "answer", error: { code: "REQUEST_INVALID", message: "no" } } });
  });
  it("to nobody is refused as gone, and counted as a dead letter", async () => {
    const world = await withLines("a");
    await ask(world, "/a", "/nobody");
    expect((await world.state("/a")).ends).toMatchObject([{ end: "refused", value: { why: "gone" } }]);
    expect(world.kernel.stats().deadLetters).toBe(1);
  });
  it("ends unanswered when the one asked ends, crashes on it, is stopped, is parked or does not take it", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "child", name: "a", spec: "line" });
    for (const name of ["ends", "stops"]) await world.ask("/", { type: "child", name, spec: "transient" });
    for (const name of ["crashes", "parks", "deaf"]) await world.ask("/", { type: "child", name, spec: "keeper" });
    for (const name of ["ends", "stops", "parks"]) await ask(world, "/a", `/${name}`);
    await ask(world, "/a", "/crashes", { question: "poison" });
    await ask(world, "/a", "/deaf", { question: "nonsense" });
    world.kernel.tell("/ends" as never, { type: "finish" });
    void world.kernel.stop("/stops" as never, { by: "user" });
    world.kernel.park("/parks" as never, "the folder is gone");
    await world.time.settle();
    const reasons = (await world.state("/a")).ends.map(({ end, name, value }) => `${end} ${name}: ${(value as { kind: string }).kind}`);
    expect(reasons.sort()).toEqual([
      "unanswered of /crashes: crash",
      "unanswered of /deaf: deaf",
      "unanswered of /ends: gone",
      "unanswered of /parks: parked",
      "unanswered of /stops: stopped",
    ]);
    expect(world.kernel.waits()).toEqual([]);
  });
  it("to somebody parked, or below somebody parked, ends at once", async () => {
    const world = await withLines("ab");
    await world.ask("/b", { type: "child", name: "c", spec: "keeper" });
    world.kernel.park("/b" as never, "asleep");
    await world.time.settle();
    await ask(world, "/a", "/b");
    await ask(world, "/a", "/b/c");
    expect(await ends(world, "/a")).toEqual(["unanswered of /b", "unanswered of /b/c"]);
  });
  it("is heard before the down of the one that answered and ended", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "child", name: "a", spec: "line" });
    await world.ask("/", { type: "child", name: "b", spec: "transient" });
    await ask(world, "/a", "/b");
    world.kernel.tell("/a" as never, { type: "look", target: "/b" });
    world.kernel.tell("/b" as never, { type: "answer" });
    world.kernel.tell("/b" as never, { type: "finish" });
    await world.time.settle();
    const state = await world.state("/a");
    expect(state.ends).toMatchObject([{ end: "answered" }]);
    expect(state.downs).toMatchObject([{ address: "/b", reason: "normal" }]);
  });
  it("whose asker has gone is withdrawn, and a late answer is dropped and counted", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "child", name: "a", spec: "transient" });
    await world.ask("/", { type: "child", name: "b", spec: "line" });
    await ask(world, "/a", "/b");
    const [token] = (await world.state("/b")).asked;
    world.kernel.tell("/a" as never, { type: "finish" });
    await world.time.settle();
    expect((await world.state("/b")).asked).toEqual([]);
    await world.ask("/b", { type: "answer", of: token });
    expect(world.kernel.stats().lateAnswers).toBe(1);
    expect(world.kernel.waits()).toEqual([]);
  });
  it("of a stopped asker that nobody has heard yet is never heard", async () => {
    const world = await withLines("ab");
    await world.ask("/", { type: "child", name: "t", spec: "temporary" });
    world.kernel.tell("/t" as never, { type: "ask", name: "q", to: "/b" });
    void world.kernel.stop("/t" as never, { by: "user" });
    await world.time.settle();
    expect((await world.state("/b")).asked).toEqual([]);
    expect(world.kernel.waits()).toEqual([]);
  });
  it("that is taken back by its asker comes to nothing", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    await world.ask("/a", { type: "unwait", name: "of /b" });
    await world.ask("/b", { type: "answer" });
    expect(await ends(world, "/a")).toEqual([]);
  });
  it("of one name while one of that name stands is a crash", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    await expect(ask(world, "/a", "/b")).rejects.toMatchObject({ code: "CRASHED" });
    await world.ask("/b", { type: "answer" });
    expect(await ends(world, "/a")).toEqual(["answered of /b"]);
  });
  it("to a fresh actor that begins anew ends as crashed when it was heard, and is heard by the new one when it was not", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "child", name: "a", spec: "line" });
    await world.ask("/", { type: "child", name: "f", spec: "fresh" });
    await ask(world, "/a", "/f");
    world.kernel.tell("/f" as never, { type: "poison" });
    world.kernel.tell("/a" as never, { type: "ask", name: "second", to: "/f" });
    await world.time.settle();
    expect(await ends(world, "/a")).toEqual(["unanswered of /f"]);
    await world.ask("/f", { type: "answer" });
    expect(await ends(world, "/a")).toEqual(["unanswered of /f", "answered second"]);
  });
});

describe("the rsactor cases", () => {
  it("self-ask: a line that asks itself is refused", async () => {
    const world = await withLines("a");
    await ask(world, "/a", "/a");
    expect((await world.state("/a")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
  });
  it("2-cycle: of two that ask each other in one round exactly one is refused, with the chain", async () => {
    const world = await withLines("ab");
    world.kernel.tell("/a" as never, { type: "ask", name: "q", to: "/b", why: "the first" });
    world.kernel.tell("/b" as never, { type: "ask", name: "q", to: "/a", why: "the second" });
    await world.time.settle();
    expect(await ends(world, "/a")).toEqual([]);
    const refusal = await refusalOf(world, "/b");
    expect(refusal.why).toBe("circle");
    expect(refusal.chain.map(({ from, to, why }) => `${from} ${to} ${why}`)).toEqual(["/b /a the second", "/a /b the first"]);
    await world.ask("/b", { type: "answer" });
    expect(await ends(world, "/a")).toEqual(["answered q"]);
  });
  it("3-chain: the third that would close it is refused, from whatever depth it waits", async () => {
    const world = await withLines("abc");
    for (const name of "abc") await world.ask(`/${name}`, { type: "child", name: "turn", spec: "transient" });
    await ask(world, "/a/turn", "/b");
    await ask(world, "/b/turn", "/c");
    await ask(world, "/c/turn", "/a");
    const refusal = await refusalOf(world, "/c/turn");
    expect(refusal.chain.map(({ from, by, to }) => `${from} ${by} ${to}`)).toEqual(["/c /c/turn /a", "/a /a/turn /b", "/b /b/turn /c"]);
    expect(refusal.message).toContain("/c waits for /a");
  });
  it("no cycle: many may wait for one, and one for many", async () => {
    const world = await withLines("abcd");
    for (const from of ["/a", "/b"]) for (const to of ["/c", "/d"]) await ask(world, from, to);
    expect(lines(world)).toEqual(["/a /c", "/a /d", "/b /c", "/b /d"]);
    expect(await ends(world, "/a")).toEqual([]);
  });
  it("sequential asks: after the answer the other way round is free", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    await world.ask("/b", { type: "answer" });
    await ask(world, "/b", "/a");
    await world.ask("/a", { type: "answer" });
    expect(await ends(world, "/b")).toEqual(["answered of /a"]);
  });
  it("reply-send window: an edge falls in the step that answers, so the one who answered may ask back at once", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    world.kernel.tell("/b" as never, { type: "answer" });
    world.kernel.tell("/b" as never, { type: "ask", name: "back", to: "/a" });
    await world.time.settle();
    expect(await ends(world, "/b")).toEqual([]);
    expect(lines(world)).toEqual(["/b /a"]);
  });
  it("parallel asks: two questions to one line are two edges, and one answer takes one away", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b", { name: "one" });
    await ask(world, "/a", "/b", { name: "two" });
    await world.ask("/b", { type: "answer" });
    expect(lines(world)).toEqual(["/a /b"]);
    await ask(world, "/b", "/a");
    expect((await world.state("/b")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
  });
  it("blocking self cycle: a call below a session that waits for its own session is refused", async () => {
    const world = await withLines("a");
    await world.ask("/a", { type: "child", name: "call", spec: "temporary" });
    await ask(world, "/a/call", "/a");
    expect((await world.state("/a/call")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
    expect((await world.state("/a")).asked).toEqual([]);
  });
  it("a question nobody blocks on makes no edge and closes no circle", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b");
    await ask(world, "/b", "/a", { on: null });
    expect(lines(world)).toEqual(["/a /b", "/b -"]);
    await world.ask("/a", { type: "answer" });
    expect(await ends(world, "/b")).toEqual(["answered of /a"]);
  });
});

describe("lines", () => {
  it("work inside one line is waited for without an edge", async () => {
    const world = await withLines("a");
    for (const name of ["turn", "slot"]) await world.ask("/a", { type: "child", name, spec: "keeper" });
    await ask(world, "/a/turn", "/a/slot");
    expect(lines(world)).toEqual(["/a -"]);
    await world.ask("/a/slot", { type: "answer" });
    expect(await ends(world, "/a/turn")).toEqual(["answered of /a/slot"]);
  });
  it("what has no line above it belongs to the line that spawned it, over a restart too", async () => {
    const world = await withLines("ab");
    await world.ask("/", { type: "child", name: "jobs", spec: "fixed" });
    world.kernel.tell("/a" as never, { type: "spawnUnder", under: "/jobs", name: "one" });
    await world.time.settle();
    await ask(world, "/jobs/one", "/b");
    expect(lines(world)).toEqual(["/a /b"]);
    const after = await reopen(world);
    expect(lines(after)).toEqual(["/a /b"]);
    await ask(after, "/b", "/a");
    expect((await after.state("/b")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
  });
  it("the message may go to one actor and the wait be on another", async () => {
    const world = await withLines("abc");
    await ask(world, "/a", "/b", { on: "/c" });
    expect(lines(world)).toEqual(["/a /c"]);
    await ask(world, "/b", "/a");
    expect(await ends(world, "/b")).toEqual([]);
    await ask(world, "/c", "/a");
    expect((await world.state("/c")).ends).toMatchObject([{ end: "refused" }]);
  });
  it("the question stands without an edge when the one waited for goes, and the one asked does not", async () => {
    const world = await withLines("ab");
    await world.ask("/", { type: "child", name: "c", spec: "transient" });
    await ask(world, "/a", "/b", { on: "/c" });
    world.kernel.tell("/c" as never, { type: "finish" });
    await world.time.settle();
    expect(lines(world)).toEqual(["/a -"]);
    expect(lines(await reopen(world))).toEqual(["/a -"]);
  });
  it("a wait without a message ends with its unwait, or with the end of what it waits for", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "child", name: "a", spec: "line" });
    for (const name of ["b", "c"]) await world.ask("/", { type: "child", name, spec: "transient" });
    await world.ask("/a", { type: "wait", name: "b", on: "/b" });
    await world.ask("/a", { type: "wait", name: "c", on: "/c" });
    await world.ask("/a", { type: "wait", name: "d", on: "/d" });
    await world.ask("/a", { type: "unwait", name: "b" });
    world.kernel.tell("/c" as never, { type: "finish" });
    await world.time.settle();
    expect(await ends(world, "/a")).toEqual(["refused d", "unanswered c"]);
    expect(world.kernel.waits()).toEqual([]);
  });
});

describe("a wait for something counted", () => {
  const pool: ChartDefinition = {
    name: "pool",
    version: 1,
    machine: setup({
      types: {} as { context: { holders: string[] }; events: { type: "hold"; holders: string[]; token?: never } },
      actions: effects,
    }).createMachine({
      context: { holders: [] },
      on: {
        hold: {
          actions: [
            assign({ holders: ({ event }) => event.holders }),
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
      },
    }),
    holders: (context) => context["holders"] as never,
  };
  async function withPool(holders: string[]): Promise<World> {
    const world = await openWorld({ charts: [pool] });
    for (const name of "abc") await world.ask("/", { type: "child", name, spec: "line" });
    await world.ask("/", { type: "child", name: "pool", spec: "keeper", chart: "pool" });
    await world.ask("/pool", { type: "hold", holders });
    return world;
  }
  it("is refused only when every holder leads back", async () => {
    const one = await withPool(["/b"]);
    await ask(one, "/b", "/a");
    await one.ask("/a", { type: "wait", name: "slot", on: "/pool" });
    expect((await one.state("/a")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
    const two = await withPool(["/b", "/c"]);
    await ask(two, "/b", "/a");
    await two.ask("/a", { type: "wait", name: "slot", on: "/pool" });
    expect(await ends(two, "/a")).toEqual([]);
    await ask(two, "/c", "/a");
    expect((await two.state("/c")).ends).toMatchObject([{ end: "refused", value: { why: "circle" } }]);
  });
  it("stands when a holder is gone: what it held comes back", async () => {
    const world = await withPool(["/gone", "/b"]);
    await ask(world, "/b", "/a");
    await world.ask("/a", { type: "wait", name: "slot", on: "/pool" });
    expect(await ends(world, "/a")).toEqual([]);
  });
});

describe("K14: nothing can move and somebody waits", () => {
  it("names who waits for whom and why, and says nothing while something can move", async () => {
    const world = await withLines("ab");
    await ask(world, "/a", "/b", { why: "the number" });
    expect(world.kernel.stuck("/a" as never)).toBe("/a waits for /b (the number), where nothing can move by itself");
    expect(world.kernel.waits()[0]?.stuck).not.toBeNull();
    await world.ask("/b", { type: "work", what: "counting" });
    expect(world.kernel.stuck("/a" as never)).toBeNull();
  });
});

describe("a circle check over 1,000 waits", () => {
  it("finds the chain of a thousand lines, and lets the next one wait when one of them was answered", async () => {
    const world = await openWorld();
    const count = 1_000;
    for (let n = 0; n < count; n += 1) world.kernel.tell("/" as never, { type: "child", name: `l${n}`, spec: "line" });
    await world.time.settle();
    for (let n = 0; n < count - 1; n += 1) world.kernel.tell(`/l${n}` as never, { type: "ask", name: "next", to: `/l${n + 1}` });
    await world.time.settle();
    await ask(world, `/l${count - 1}`, "/l0", { name: "first" });
    expect((await refusalOf(world, `/l${count - 1}`)).chain).toHaveLength(count);
    await world.ask("/l500", { type: "answer" });
    await ask(world, `/l${count - 1}`, "/l0", { name: "again" });
    expect(await ends(world, `/l${count - 1}`)).toEqual(["refused first"]);
  });
});
