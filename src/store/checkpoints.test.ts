/** When the store checkpoints by itself. Would catch: a log that grows without end, a checkpoint in the middle of a burst. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Checkpoints, WAL_LIMIT } from "./checkpoints.ts";

let asked: number;
let checkpoints: Checkpoints;

beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  checkpoints = new Checkpoints(() => {
    asked++;
    checkpoints.done();
  });
});
afterEach(() => vi.useRealTimers());

describe("the store's own checkpoint", () => {
  it("comes a second after the last write, not between writes", () => {
    for (let write = 0; write < 10; write++) {
      checkpoints.wrote(100_000);
      vi.advanceTimersByTime(900);
    }
    expect(asked).toBe(0);
    vi.advanceTimersByTime(100);
    expect(asked).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(asked).toBe(1);
  });
  it("comes at 8 MB without waiting for quiet", () => {
    checkpoints.wrote(WAL_LIMIT - 1);
    expect(checkpoints.due).toBe(false);
    checkpoints.wrote(1);
    expect(checkpoints.due).toBe(true);
    vi.advanceTimersByTime(0);
    expect(asked).toBe(1);
    expect(checkpoints.due).toBe(false);
  });
  it("is not worth it for a few rows", () => {
    checkpoints.wrote(60_000);
    vi.advanceTimersByTime(60_000);
    expect(asked).toBe(0);
  });
  it("does not come after a stop", () => {
    checkpoints.wrote(1_000_000);
    checkpoints.stop();
    vi.advanceTimersByTime(60_000);
    expect(asked).toBe(0);
  });
});
