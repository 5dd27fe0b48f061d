/** Would catch: an older answer shown over a newer one, a tree that comes after "back to live", a request per pixel of a drag. */
import { describe, expect, it } from "vitest";
import type { ActorView } from "../protocol/actor-view.ts";
import { PastTree } from "./past-tree.ts";
import { Notifier } from "./store.ts";

interface Asked {
  at: number;
  answer: (actors: ActorView[]) => void;
  refuse: (error: Error) => void;
}

function room(): { past: PastTree; asked: Asked[]; rest: () => Promise<void> } {
  const asked: Asked[] = [];
  const actorsAt = (at: number): Promise<ActorView[]> =>
    new Promise((answer, refuse) => {
      asked.push({ at, answer, refuse });
    });
  const past = new PastTree({ actorsAt }, new Notifier((flush) => flush()));
  return { past, asked, rest: () => new Promise((resolve) => setImmediate(resolve)) };
}

describe("the tree as it was", () => {
  it("asks one at a time and skips the moments that were passed over meanwhile", async () => {
    const { past, asked, rest } = room();
    past.to(10);
    past.to(20);
    past.to(30);
    expect(asked.map((one) => one.at)).toEqual([10]);
    asked[0]?.answer([]);
    await rest();
    expect(past.state.getSnapshot()).toMatchObject({ at: 30, shown: { at: 10 } });
    expect(asked.map((one) => one.at)).toEqual([10, 30]);
    asked[1]?.answer([]);
    await rest();
    expect(past.state.getSnapshot()).toMatchObject({ at: 30, shown: { at: 30 }, refused: null });
    expect(asked).toHaveLength(2);
  });

  it("shows nothing of an answer that comes after the return to now", async () => {
    const { past, asked, rest } = room();
    past.to(10);
    past.live();
    asked[0]?.answer([]);
    await rest();
    expect(past.state.getSnapshot()).toEqual({ at: null, shown: null, refused: null });
  });

  it("says why a moment is not shown, and asks again for another one", async () => {
    const { past, asked, rest } = room();
    past.to(10);
    asked[0]?.refuse(new Error("The store is closed."));
    await rest();
    expect(past.state.getSnapshot()).toEqual({ at: 10, shown: null, refused: "The store is closed." });
    past.to(11);
    expect(asked.map((one) => one.at)).toEqual([10, 11]);
    expect(past.state.getSnapshot().refused).toBeNull();
  });
});
