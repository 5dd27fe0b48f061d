import { describe, expect, it } from "vitest";
import type { Clock } from "../../ports/clock.port.ts";
import { createIdleWatch } from "./idle-watch.ts";

/** A clock that is advanced by hand. */
function handClock() {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    setTimer(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return () => (timers = timers.filter((other) => other !== timer));
    },
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const due = timers.filter((timer) => timer.at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (!due) break;
      now = due.at;
      timers = timers.filter((timer) => timer !== due);
      due.callback();
    }
    now = end;
  };
  return { clock, advance, armed: () => timers.length };
}

describe("an idle watch", () => {
  it("calls back once nothing was heard for its limit, counted from the last time", () => {
    const { clock, advance } = handClock();
    let silent = 0;
    const watch = createIdleWatch(clock, 100, () => (silent += 1));
    advance(90);
    watch.heard();
    advance(99);
    expect(silent).toBe(0);
    advance(1);
    expect(silent).toBe(1);
  });

  it("asks for no timer over an hour, and none after it was stopped", () => {
    const { clock, advance, armed } = handClock();
    let silent = 0;
    const watch = createIdleWatch(clock, 5_000_000, () => (silent += 1));
    advance(4_999_999);
    expect([silent, armed()]).toEqual([0, 1]);
    watch.stop();
    expect(armed()).toBe(0);
    advance(10_000_000);
    expect(silent).toBe(0);
  });

  it("counts anew when its limit changes", () => {
    const { clock, advance } = handClock();
    let silent = 0;
    const watch = createIdleWatch(clock, 10_000, () => (silent += 1));
    advance(5_000);
    watch.limit(250);
    advance(249);
    expect(silent).toBe(0);
    advance(1);
    expect(silent).toBe(1);
  });
});
