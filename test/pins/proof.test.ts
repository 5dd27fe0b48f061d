/** The report of the last long proof that is kept in the repository is whole and says what the docs say of it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Kill {
  phase: string;
  turnRunning: boolean;
  heavy: boolean;
  servingMs: number;
  verdict: string;
}

const kills = readFileSync("docs/design/proof/kills.jsonl", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Kill);
const share = (some: number, of: number): number => some / of;

describe("the report of real kills", () => {
  it("has at least 200 of them, all with a good verdict", () => {
    expect(kills.length).toBeGreaterThanOrEqual(200);
    expect(kills.filter(({ verdict }) => verdict !== "good")).toEqual([]);
  });
  it("hits each phase with a tenth of them, three quarters with a turn running, half of those full", () => {
    const phases = new Map<string, number>();
    for (const { phase } of kills) phases.set(phase, (phases.get(phase) ?? 0) + 1);
    expect([...phases.keys()].sort()).toEqual(["accepted", "settling", "started", "streaming", "tool done", "tool running"]);
    for (const [phase, count] of phases) expect([phase, share(count, kills.length) >= 0.1]).toEqual([phase, true]);
    const running = kills.filter(({ turnRunning }) => turnRunning);
    expect(share(running.length, kills.length)).toBeGreaterThanOrEqual(0.75);
    expect(share(running.filter(({ heavy }) => heavy).length, running.length)).toBeGreaterThanOrEqual(0.5);
  });
});
