/**
 * The journal misbehaves once at each append of the scenario: the answer gets lost although the batch was written, or nothing was
 * written and it says so. And a journal that never answers. Would catch: a batch tried again out of order, doubled or dropped,
 * an answer or a frame that went out before its commit, a stop that waits for the disk.
 */
import { describe, expect, it } from "vitest";
import { openRuntimeWorld, Outside, reopenRuntime, type RuntimeWorld } from "../../support/runtime-world.ts";
import { broken, play, playDelete, scenarioModel } from "../../support/scenario.ts";
import type { MemoryFault } from "../../../src/store/index.ts";

async function run(failAt: number, fault: MemoryFault): Promise<{ wrong: string[]; appends: number; texts: string[] }> {
  const limits = { until: 0 };
  let appends = 0;
  const journal = {
    onAppend: (): MemoryFault => {
      appends += 1;
      return appends === failAt ? fault : "ok";
    },
  };
  let world: RuntimeWorld = await openRuntimeWorld({ model: scenarioModel(limits), outside: new Outside(), journal, moving: true });
  const stage = {
    get world(): RuntimeWorld {
      return world;
    },
    restart: async () => {
      world = await reopenRuntime(world, { journal });
    },
  };
  const client = await play(stage, limits);
  const wrong = await broken(client);
  const rows = await world.history();
  await playDelete(client);
  return { wrong, appends, texts: rows.map((row) => `${row.kind} ${"text" in row.data ? row.data.text : ""}`) };
}

const clean = await run(0, "ok");

describe("a journal that fails once", () => {
  const places = Array.from({ length: clean.appends }, (_, index) => index + 1);
  it.each(places)("by losing its answer to append %i: nothing is lost or doubled", async (failAt) => {
    const { wrong, texts } = await run(failAt, "lost");
    expect(wrong).toEqual([]);
    expect(texts).toEqual(clean.texts);
  });
  it.each(places)("with an I/O error at append %i: nothing is lost or doubled", async (failAt) => {
    const { wrong, texts } = await run(failAt, new Error("EIO: i/o error, write"));
    expect(wrong).toEqual([]);
    expect(texts).toEqual(clean.texts);
  });
});

describe("a journal that never answers", () => {
  it("leaves who is in a batch waiting, refuses who comes later with STORE_STALLED, tells watchers nothing uncommitted, and stop works", async () => {
    let stands = false;
    const world = await openRuntimeWorld({
      model: () => ({ say: "streaming", hang: "stream" }),
      journal: { onAppend: () => (stands ? "hang" : "ok") },
    });
    const { turnId } = await world.send("long");
    await world.until("it streams", () => world.outside.isWaiting("stream"));
    await world.time.advance(1500);
    stands = true;
    const told = world.frames.length;
    let answered: unknown = null;
    const inBatch = world.runtime.chat.send({ agent: "ada", text: "in the batch" });
    inBatch.then(
      (value) => {
        answered = value;
      },
      (error: unknown) => {
        answered = error;
      },
    );
    await world.time.advance(2500);
    await expect(world.runtime.chat.send({ agent: "ada", text: "later" })).rejects.toMatchObject({ code: "STORE_STALLED", status: 503 });
    const pressed = world.time.now();
    let stop: unknown = null;
    void world.runtime.chat.abort({ agent: "ada", session: "main", turnId: turnId as string }).then((value) => {
      stop = value;
    });
    await world.time.settle();
    expect(world.outside.isWaiting("stream")).toBe(false);
    expect(world.time.now()).toBe(pressed);
    await world.time.advance(12_000);
    // In memory the turn is over by now; on disk it is not, and that is what is told.
    const asked = world.runtime.chat.turn(turnId as string, 0);
    await world.time.settle();
    expect(await asked).toMatchObject({ state: "pending" });
    expect(stop).toEqual({ aborted: false, stalled: true });
    expect(answered).toBeNull();
    expect(world.frames.slice(told).filter(({ type }) => !type.startsWith("text."))).toEqual([]);
    expect(world.runtime.actors.list().some((actor) => actor.status === "stopping")).toBe(false);
  });

  it("finds everything as it was at its last commit when the process is ended", async () => {
    let stands = false;
    const world = await openRuntimeWorld({ journal: { onAppend: () => (stands ? "hang" : "ok") } });
    await world.send("first");
    await world.idle();
    stands = true;
    void world.runtime.chat.send({ agent: "ada", text: "never on disk" }).catch(() => {});
    await world.time.advance(3000);
    const after = await reopenRuntime(world);
    expect((await after.history()).map((row) => row.kind)).toEqual(["user_message", "assistant_message", "turn_end"]);
  });
});
