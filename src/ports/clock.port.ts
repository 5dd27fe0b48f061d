/** Time. Charts and kernel have no other. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds, from an arbitrary beginning. */
  monotonic(): number;
  /** Calls back once after `ms` (at most an hour is asked for). Returns how to take it back. Never calls back synchronously. */
  setTimer(ms: number, callback: () => void): () => void;
}

/** Where the kernel asks when it may go on computing: the seam for the simulation. */
export interface Scheduler {
  /** Runs `work` soon, never synchronously, in the order asked. */
  soon(work: () => void): void;
  /** True when the round that began at `beganAt` (monotonic) has used its slice of `sliceMs`. */
  sliceOver(beganAt: number, sliceMs: number): boolean;
  /** It is asked when the steps of a round come to a multiple of this; 16 when absent. A simulation asks after each turn of an actor. */
  readonly askEvery?: number;
}

/** Days, in the server's own time zone. */
export interface Calendar {
  /** `YYYY-MM-DD` of a wall time: the day a cost is booked to. */
  day(at: number): string;
}
