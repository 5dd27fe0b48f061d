/** The runtime's everyday life in process. A red test here says that the world below all other runtime tests is broken. */
import { describe, expect, it } from "vitest";
import { type Model, openRuntimeWorld, reopenRuntime } from "../../support/runtime-world.ts";

const tools: Model = (said, round) =>
  round === 0
    ? {
        say: "looking",
        calls: [
          ["echo", { n: 1 }],
          ["act", { n: 2 }],
        ],
      }
    : { say: `done with ${said}` };

describe("a message", () => {
  it("is answered, with its tools run once, and stands in the history over a restart", async () => {
    const world = await openRuntimeWorld({ model: tools });
    await world.send("hello");
    await world.idle();
    const rows = await world.history();
    expect(rows.map((row) => row.kind)).toEqual([
      "user_message",
      "assistant_message",
      "tool_call",
      "tool_call",
      "tool_result",
      "tool_result",
      "assistant_message",
      "turn_end",
    ]);
    expect(world.outside.ran).toEqual(['echo {"n":1}', 'act {"n":2}']);
    const after = await reopenRuntime(world);
    expect(await after.history()).toEqual(rows);
  });
});
