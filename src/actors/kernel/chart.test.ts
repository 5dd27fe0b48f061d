import { assign, enqueueActions, raise, setup } from "xstate";
import { describe, expect, it } from "vitest";
import { effects } from "../../protocol/effects.ts";
import { Parts } from "../../protocol/parts.ts";
import { Chart } from "./chart.ts";

const types = {} as { context: { n: number; queue: Parts<number>; odd: unknown }; events: { type: string; value?: unknown } };
const counting = setup({ types, actions: effects, guards: { waiting: ({ context }) => context.queue.size > 0 } }).createMachine({
  context: { n: 0, queue: Parts.empty<number>(), odd: null },
  initial: "idle",
  states: {
    idle: {
      always: { guard: "waiting", target: "busy" },
      after: { 1000: "late" },
      on: {
        add: {
          actions: [assign({ n: ({ context }) => context.n + 1 }), { type: "publish", params: { topic: "t", type: "added", data: {} } }],
        },
        put: { actions: assign({ queue: ({ context }) => context.queue.put("a", 1) }) },
        spoil: { actions: assign({ odd: ({ event }) => event.value }) },
        throws: {
          actions: assign({
            n: () => {
              throw new Error("planted");
            },
          }),
        },
        twice: {
          actions: enqueueActions(({ enqueue }) => {
            enqueue.raise({ type: "add" });
            enqueue.raise({ type: "add" });
          }),
        },
      },
    },
    busy: {},
    late: { type: "final" },
  },
});
const chart = new Chart({ name: "counting", version: 1, machine: counting });

describe("a chart", () => {
  it("gives effects as data, the delayed transition as a timer", () => {
    const start = chart.init({});
    expect(start.effects).toEqual([
      {
        type: "timer.set",
        params: { id: "xstate.after.1000.(machine).idle", event: { type: "xstate.after.1000.(machine).idle" }, after: 1000 },
      },
    ]);
    const next = chart.step(start.snapshot, { type: "add" });
    expect(next.snapshot.context).toMatchObject({ n: 1 });
    expect(next.effects).toEqual([{ type: "publish", params: { topic: "t", type: "added", data: {} } }]);
  });
  it("cancels the timer when the state is left, and guards see what was put in the same step", () => {
    const next = chart.step(chart.init({}).snapshot, { type: "put" });
    expect(next.snapshot.value).toBe("busy");
    expect(next.effects).toEqual([{ type: "timer.cancel", params: { id: "xstate.after.1000.(machine).idle" } }]);
  });
  it("skips undelayed raises, which were taken within the step", () => {
    const next = chart.step(chart.init({}).snapshot, { type: "twice" });
    expect(next.snapshot.context).toMatchObject({ n: 2 });
    expect(next.effects.map((effect) => effect.type)).toEqual(["publish", "publish"]);
  });
  it("says when no transition took an event", () => {
    expect(chart.step(chart.init({}).snapshot, { type: "nobody" }).taken).toBe(false);
    expect(chart.step(chart.init({}).snapshot, { type: "add" }).taken).toBe(true);
  });
  it.each([[undefined], [Number.NaN], [new Date(0)], [() => 1], [{ deep: [undefined] }]])(
    "crashes on a context that JSON cannot hold: %s",
    (value) => {
      expect(() => chart.step(chart.init({}).snapshot, { type: "spoil", value })).toThrow(/JSON cannot hold/);
    },
  );
  it("throws what an assign throws and leaves the snapshot as it was", () => {
    const { snapshot } = chart.init({});
    expect(() => chart.step(snapshot, { type: "throws" })).toThrow("planted");
    expect(snapshot.context).toMatchObject({ n: 0 });
  });
  it("comes back from its stored form with its parts", () => {
    const { snapshot } = chart.step(chart.init({}).snapshot, { type: "put" });
    const stored = JSON.parse(JSON.stringify(chart.freeze(snapshot)));
    const again = chart.thaw(stored, 1, () => [["a", 1]]);
    expect(again.value).toBe("busy");
    expect((again.context as { queue: Parts<number> }).queue.get("a")).toBe(1);
  });
});

describe("registration", () => {
  it("refuses inline functions, unknown actions and invoked actors", () => {
    expect(() => new Chart({ name: "x", version: 1, machine: setup({}).createMachine({ entry: () => {} }) })).toThrow(/inline/);
    expect(
      () => new Chart({ name: "x", version: 1, machine: setup({ actions: { other: () => {} } }).createMachine({ entry: "other" }) }),
    ).toThrow(/"other"/);
    expect(() => new Chart({ name: "x", version: 1, machine: setup({}).createMachine({ entry: raise({ type: "a" }) }) })).not.toThrow();
  });
});
