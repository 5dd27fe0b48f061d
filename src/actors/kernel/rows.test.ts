import { describe, expect, it } from "vitest";
import { readHead } from "./rows.ts";

describe("heads of two actors at rest", () => {
  it("share no list, so that what one lost does not show on the other", () => {
    const text = JSON.stringify({
      address: "/agents/a",
      birth: "1.1.1",
      kind: "agent",
      spec: "agent",
      status: "live",
      at: 1,
      since: 1,
      state: "serving",
      n: 0,
    });
    const [one, other] = [readHead(text), readHead(text)];
    one.lost.push({ pid: 1, command: "sleep" });
    one.crashes.push(1);
    expect([other.lost, other.crashes, readHead(text).lost]).toEqual([[], [], []]);
  });
});
