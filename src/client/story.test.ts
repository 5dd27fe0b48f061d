import { describe, expect, it } from "vitest";
import type { StoryStep } from "../protocol/actor-view.ts";
import { causeWords, storyText } from "./story.ts";

const SESSION = "/agents/marlow/sessions/main";

describe("a story", () => {
  it.each([
    ["door", "a request"],
    ["kernel", "the runtime"],
    [SESSION, "itself"],
    [`${SESSION}/turns/turn_1`, "turns/turn_1"],
    ["/agents/quill/sessions/main", "/agents/quill/sessions/main"],
    [`${SESSION}-2`, `${SESSION}-2`],
  ])("says that what came from %s came from %s", (from, words) => {
    expect(causeWords(from, SESSION)).toBe(words);
  });

  it("is copied as one line per event, with everything that is known of it", () => {
    const at = new Date(2026, 10, 3, 14, 4, 7, 250).getTime();
    const step: StoryStep = {
      at,
      epoch: 2,
      commit: 9,
      eventId: "2.9.1",
      type: "send",
      from: "door",
      state: "running",
      effects: ["reply", "record"],
    };
    expect(storyText(SESSION, [step, { ...step, type: "down", from: `${SESSION}/turns/t`, state: "idle", effects: [] }])).toBe(
      `Story of ${SESSION}, 2 steps\n` +
        `2026-11-03 14:04:07.2  send from a request -> running; asks for reply, record  (event 2.9.1, commit 2.9)\n` +
        `2026-11-03 14:04:07.2  down from turns/t -> idle  (event 2.9.1, commit 2.9)\n`,
    );
  });
});
