/**
 * Random lives of a small tree: commands, work outside that ends late or twice, stops, poison, time, and crashes before, at and
 * after commits. Afterwards a reader of rows that knows nothing of the kernel says whether its invariants held.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HandDriver, openWorld, reopen, type World } from "../../support/kernel-world.ts";
import { wrongRows } from "../../support/row-oracle.ts";
import type { MemoryFault } from "../../../src/store/index.ts";

const addresses = ["/", "/a", "/b", "/a/c", "/a/c/d", "/b/c"];
const address = fc.constantFrom(...addresses);
const spec = fc.constantFrom(
  ...["keeper", "transient", "temporary", "fresh", "line", "line"],
  ...["forAll", "rest", "slow", "slowKeeper", "climber", "main"],
);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("child" as const), at: address, name: fc.constantFrom("a", "b", "c", "d"), spec }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("note" as const), at: address }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("forward" as const), at: address, to: address }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("farewell" as const), at: fc.constantFrom(...addresses.slice(1)) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("hiccup" as const), lost: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("work" as const), at: address, repeatable: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("end" as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), at: address }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("sleep" as const), at: address, ms: fc.constantFrom(0, 10, 500) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("put" as const), at: address, key: fc.constantFrom("x", "y") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("poison" as const), at: address }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("stop" as const), at: address }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("ask" as const), at: address, to: address, on: fc.constantFrom(undefined, null, "/a", "/b") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), at: address, on: address }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("answer" as const, "deny" as const), at: address }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unwait" as const), at: address, nth: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("finish" as const), at: fc.constantFrom(...addresses.slice(1)) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("time" as const), ms: fc.constantFrom(0, 10, 1000, 3000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("crash" as const), commit: fc.constantFrom("before", "at", "after"), later: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("resume" as const), at: address }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Plays the steps; commands are only begun, so that they meet in one round. Everything is let go and settled at the end. */
async function live(steps: readonly Step[], stubborn: boolean): Promise<World> {
  let journalFault = (): MemoryFault => "ok";
  const journal = { onAppend: (): MemoryFault => journalFault() };
  let asked = 0;
  let world = await openWorld({ journal });
  world.hand.stubborn = stubborn;
  // Two lines with somebody below from the start: waits want an audience.
  for (const [at, name, of] of [
    ["/", "a", "line"],
    ["/", "b", "line"],
    ["/a", "c", "keeper"],
    ["/b", "c", "transient"],
  ] as const)
    await world.ask(at, { type: "child", name, spec: of });
  const tell = (to: string, event: { type: string; [field: string]: unknown }): void =>
    void world.kernel.command(to as never, event).catch(() => {});
  for (const each of steps) {
    switch (each.do) {
      case "child":
        // A name in use is a crash: now and then is enough.
        if (steps.length % 3 > 0 && world.kernel.has(`${each.at === "/" ? "" : each.at}/${each.name}` as never)) break;
        tell(each.at, { type: "child", name: each.name, spec: each.spec });
        break;
      case "forward":
        tell(each.at, { type: "forward", to: each.to, event: { type: "mail", text: "m" } });
        break;
      // A last word to its parent, then its end, in one round.
      case "farewell":
        tell(each.at, { type: "forward", to: each.at.slice(0, each.at.lastIndexOf("/")) || "/", event: { type: "mail", text: "m" } });
        tell(each.at, { type: "finish" });
        break;
      case "hiccup": {
        await world.time.settle();
        let left = 1;
        journalFault = () => (left-- > 0 ? (each.lost ? "lost" : new Error("EIO")) : "ok");
        tell("/", { type: "note", text: "n" });
        await world.time.advance(500);
        journalFault = () => "ok";
        break;
      }
      case "ask":
        tell(each.at, { type: "ask", name: `q${(asked += 1)}`, to: each.to, ...(each.on === undefined ? {} : { on: each.on }) });
        break;
      case "wait":
        tell(each.at, { type: "wait", name: `q${(asked += 1)}`, on: each.on });
        break;
      case "unwait":
        tell(each.at, { type: "unwait", name: `q${asked - each.nth}` });
        break;
      case "answer":
      case "deny":
      case "note":
      case "poison":
      case "cancel":
      case "finish":
        tell(each.at, { type: each.do, text: "n" });
        break;
      case "work":
        tell(each.at, { type: "work", repeatable: each.repeatable });
        break;
      case "sleep":
        tell(each.at, { type: "sleep", ms: each.ms });
        break;
      case "put":
        tell(each.at, { type: "put", key: each.key, value: 1 });
        break;
      case "end":
        world.hand.started[each.nth]?.end({ status: "done", value: 1 });
        break;
      case "stop":
        void world.kernel.stop(each.at as never, { by: "user" }).catch(() => {});
        break;
      case "resume":
        if (world.kernel.has(each.at as never)) world.kernel.resume(each.at as never);
        break;
      case "time":
        await world.time.advance(each.ms);
        break;
      case "crash": {
        if (each.commit !== "after") journalFault = () => (each.commit === "at" ? "lost" : new Error("EIO"));
        await world.time.settle();
        journalFault = () => "ok";
        world = await reopen(world, { hand: new HandDriver(), journal });
        world.hand.stubborn = stubborn;
        break;
      }
    }
    if (each.do !== "crash" && each.do !== "time" && steps.indexOf(each) % 3 === 0) await world.time.settle();
  }
  for (let rounds = 0; rounds < 3; rounds += 1) {
    for (const work of world.hand.started) work.end({ status: work.context.signal.aborted ? "aborted" : "done" });
    await world.time.advance(2000);
  }
  return world;
}

/** `SOMORA_PROPERTY_RUNS=20000` looks longer, with another seed each time. */
function runs(usual: number): { numRuns: number; seed?: number } {
  const wanted = process.env["SOMORA_PROPERTY_RUNS"];
  return wanted === undefined ? { numRuns: usual, seed: 20261201 } : { numRuns: Number(wanted) };
}

describe("any life of a tree", { timeout: 600_000 }, () => {
  it("keeps the kernel's invariants, as its rows tell", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.boolean(), async (steps, stubborn) => {
        const world = await live(steps, stubborn);
        expect(wrongRows(world.journal.rows)).toEqual([]);
        // Nothing is left hanging but what is parked.
        const { kernel } = world;
        for (const each of kernel.addresses()) {
          const view = kernel.committed(each);
          const parkedAbove = addresses.some(
            (above) =>
              (each === above || each.startsWith(above === "/" ? "/" : `${above}/`)) && kernel.parkedReason(above as never) !== null,
          );
          // A normal end waits for its transient children (K6).
          const waits = view?.status === "stopping" && [...kernel.addresses(each)].length > 1;
          if (!parkedAbove && view && !waits)
            expect({ each, status: view.status, pending: view.pending.length, mailbox: view.mailbox }).toEqual({
              each,
              status: "live",
              pending: 0,
              mailbox: 0,
            });
        }
      }),
      runs(500),
    );
  });
  it("comes back from its rows as it stood", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const world = await live(steps, false);
        const picture = (each: World): unknown[] =>
          [...each.kernel.addresses()].sort().map((at) => {
            const { items, ...context } = (each.kernel.context(at) ?? {}) as { items?: { entries(): Iterable<unknown> } };
            const { state, status, restarts, parkedReason, mailbox } = each.kernel.committed(at) ?? {};
            return {
              at,
              context,
              items: items ? [...items.entries()].sort() : null,
              state,
              status,
              restarts,
              parkedReason,
              mailbox,
              waits: each.kernel
                .waits()
                .filter(({ from }) => from === at)
                .map(({ name, line, onLine }) => `${name} ${line} ${onLine}`)
                .sort(),
              relations: { ...each.kernel.relations(at), watchers: [...(each.kernel.relations(at)?.watchers ?? [])].sort() },
            };
          });
        const before = picture(world);
        expect(picture(await reopen(world))).toEqual(before);
      }),
      runs(150),
    );
  });
});
