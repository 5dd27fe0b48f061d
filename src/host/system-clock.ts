/** The real clock and the real scheduler. */
import type { Clock, Scheduler } from "../ports/clock.port.ts";

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};

export const systemScheduler: Scheduler = {
  soon(work) {
    setImmediate(work);
  },
  sliceOver: (beganAt, sliceMs) => performance.now() - beganAt >= sliceMs,
};
