/** Calls back when nothing was heard for a time. One timer, armed anew only when it fires: hearing costs nothing. */
import type { Clock } from "../../ports/clock.port.ts";

const LONGEST_TIMER = 3_600_000;

export interface IdleWatch {
  heard(): void;
  /** From now on another limit. */
  limit(ms: number): void;
  stop(): void;
}

export function createIdleWatch(clock: Clock, ms: number, silent: () => void): IdleWatch {
  let limitMs = ms;
  let last = clock.monotonic();
  let cancel: () => void = () => undefined;
  let stopped = false;

  function arm(): void {
    cancel();
    if (stopped) return;
    const left = limitMs - (clock.monotonic() - last);
    cancel = clock.setTimer(Math.min(Math.max(left, 1), LONGEST_TIMER), () => {
      if (stopped) return;
      if (clock.monotonic() - last >= limitMs) silent();
      else arm();
    });
  }

  arm();
  return {
    heard: () => (last = clock.monotonic()),
    limit(next) {
      limitMs = next;
      last = clock.monotonic();
      arm();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
