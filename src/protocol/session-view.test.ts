import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionFrame } from "./frames.ts";
import { emptySessionView, foldSession } from "./session-view.ts";

const frame = (type: string, data: object): SessionFrame => ({ type, data }) as unknown as SessionFrame;
const queueOf = (count: number) =>
  Array.from({ length: count }, (_, at) => frame("turn.queued", { turnId: `t${at}`, position: at, text: "x", origin: { kind: "human" } }));

describe("a queue that moves", () => {
  it("is in the order of its positions after any moves", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(6), fc.nat(8)), { maxLength: 12 }), (moves) => {
        let view = queueOf(7).reduce((held, next) => foldSession(held, next, 0), emptySessionView("a", "s"));
        let plain = view.queue;
        for (const [at, position] of moves) {
          view = foldSession(view, frame("turn.moved", { turnId: `t${at}`, position }), 0);
          plain = plain
            .map((entry) => (entry.turnId === `t${at}` ? { ...entry, position } : entry))
            .sort((a, b) => a.position - b.position);
        }
        expect(view.queue).toEqual(plain);
      }),
    );
  });
  it("moves up by one message without sorting a thousand others a thousand times", () => {
    let view = queueOf(1_000).reduce((held, next) => foldSession(held, next, 0), emptySessionView("a", "s"));
    const sorts: number[] = [];
    const sort = Array.prototype.sort;
    Array.prototype.sort = function (this: unknown[], ...rest) {
      sorts.push(this.length);
      return sort.apply(this, rest);
    } as typeof sort;
    try {
      view = foldSession(view, frame("turn.started", { turnId: "t0", origin: { kind: "human" }, model: "m", attempt: 1 }), 0);
      for (let at = 1; at < 1_000; at += 1) view = foldSession(view, frame("turn.moved", { turnId: `t${at}`, position: at - 1 }), 0);
    } finally {
      Array.prototype.sort = sort;
    }
    expect(sorts).toEqual([]);
    expect(view.queue.map((entry) => entry.position)).toEqual(Array.from({ length: 999 }, (_, at) => at));
  });
});
