import { describe, expect, it } from "vitest";
import { type Activity, activityWords, barsOf, BUCKET_MS, FINE_MS, hourBefore, spanOf, stepFrom } from "./activity.ts";

const HOUR = 3_600_000;
const bucket = (at: number, more: Partial<Activity> = {}): Activity => ({
  at,
  commits: 1,
  questions: 0,
  failures: 0,
  restarts: 0,
  ...more,
});

describe("the span of the strip", () => {
  it("ends with the half minute that runs, so buckets keep their place from second to second", () => {
    expect(hourBefore(HOUR + 1)).toEqual({ from: BUCKET_MS, to: HOUR + BUCKET_MS });
    expect(hourBefore(HOUR + BUCKET_MS - 1)).toEqual(hourBefore(HOUR));
    expect(hourBefore(HOUR + BUCKET_MS)).not.toEqual(hourBefore(HOUR));
  });

  it.each([
    ["ten minutes on a server that has just begun", [bucket(9 * HOUR - 60_000)], 9 * HOUR - 600_000],
    ["since the first thing that happened in the hour", [bucket(9 * HOUR - 1_800_000)], 9 * HOUR - 1_800_000],
    ["one hour at most", [bucket(7 * HOUR)], 8 * HOUR],
    ["ten minutes when nothing happened", [], 9 * HOUR - 600_000],
  ])("is %s", (_, buckets, from) => {
    expect(spanOf(buckets, 9 * HOUR)).toEqual({ from, to: 9 * HOUR });
  });
});

describe("the bars", () => {
  it("show one commit beside a hundred, and none where nothing was committed", () => {
    const bars = barsOf([bucket(0, { commits: 100 }), bucket(1), bucket(2, { commits: 0, restarts: 1 })]);
    expect(bars).toEqual([
      { at: 0, height: 1 },
      { at: 1, height: 0.1 },
    ]);
  });

  it("are said in words with what else happened", () => {
    expect(activityWords(bucket(0, { commits: 1200, questions: 1, failures: 2, restarts: 2 }))).toBe(
      "1,200 commits, 1 question, 2 failed turns, 2 starts of the server",
    );
    expect(activityWords(bucket(0, { restarts: 1 }))).toBe("1 commit, 1 start of the server");
    expect(activityWords(undefined)).toBe("");
  });
});

describe("stepping", () => {
  const moments = [100, 4_000, BUCKET_MS + 700, 5 * BUCKET_MS];
  const fine = (from: number, to: number): Promise<Activity[]> =>
    Promise.resolve(moments.filter((at) => at >= from && at < to).map((at) => bucket(at)));
  const buckets = [...new Set(moments.map((at) => Math.floor(at / BUCKET_MS) * BUCKET_MS))].map((at) => bucket(at));
  const seen = moments.map((at) => at + FINE_MS - 1);

  it("goes through every moment, forwards and backwards, and says when there is none", async () => {
    const walk = async (start: number, by: 1 | -1): Promise<number[]> => {
      const steps: number[] = [];
      for (let at: number | null = start; ;) {
        at = await stepFrom(at, by, buckets, fine);
        if (at === null) return steps;
        steps.push(at);
      }
    };
    expect(await walk(-1, 1)).toEqual(seen);
    expect(await walk(HOUR, -1)).toEqual(seen.toReversed());
  });

  it("looks closely only at half minutes that can hold the next moment", async () => {
    const asked: number[] = [];
    const counting = (from: number, to: number): Promise<Activity[]> => {
      asked.push(from);
      return fine(from, to);
    };
    await stepFrom(2 * BUCKET_MS, 1, buckets, counting);
    expect(asked).toEqual([5 * BUCKET_MS]);
  });
});
