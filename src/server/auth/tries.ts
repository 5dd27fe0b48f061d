/** Counts wrong keys and codes: after ten within a minute the door stays shut until the first of them is a minute old. */
const LIMIT = 10;
const WINDOW_MS = 60_000;

export interface Tries {
  wrong(): void;
  /** Milliseconds until the next try is heard; 0 when it is heard now. */
  waitMs(): number;
}

export function createTries(now: () => number): Tries {
  let times: number[] = [];
  const recent = (): number[] => (times = times.filter((time) => now() - time < WINDOW_MS));
  return {
    wrong() {
      recent().push(now());
    },
    waitMs() {
      const seen = recent();
      return seen.length < LIMIT ? 0 : Math.max(1, (seen[0] as number) + WINDOW_MS - now());
    },
  };
}
