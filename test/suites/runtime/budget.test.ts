/** Budgets: a limit that is used up stops the next request, by the sum of all kinds of tokens (bugs G40). */
import { describe, expect, it } from "vitest";
import { type Model, openRuntimeWorld } from "../../support/runtime-world.ts";

const loops: Model = (said, round) => (round < 5 ? { say: `round ${round}`, calls: [["echo", { round }]] } : { say: `done with ${said}` });

describe("a budget of a turn", () => {
  it("stops the request after the one that used it up", async () => {
    const world = await openRuntimeWorld({ model: loops, budget: { perTurnUsd: 0.000_001 } });
    await world.send("go on and on");
    await world.idle();
    expect(world.outside.asked).toHaveLength(1);
    const end = (await world.history()).at(-1);
    expect(end).toMatchObject({
      kind: "turn_end",
      data: {
        outcome: "failed",
        error: { code: "BUDGET_SPENT", message: expect.stringContaining("the server's budget allows") as string },
      },
    });
  });
});

describe("a budget of a day", () => {
  it("lets the turn that reaches it end in its next request, and refuses later turns before any", async () => {
    const world = await openRuntimeWorld({ model: (said) => ({ say: said }), budget: { perDayUsd: 0.000_001 } });
    await world.send("first");
    await world.idle();
    await world.send("second");
    await world.idle();
    expect(world.outside.asked.map(({ said }) => said)).toEqual(["first"]);
    expect((await world.history()).at(-1)).toMatchObject({
      kind: "turn_end",
      data: { outcome: "failed", error: { code: "BUDGET_SPENT" } },
    });
  });
});
