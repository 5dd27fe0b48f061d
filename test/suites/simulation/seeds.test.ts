/**
 * A thousand worlds, each twice. `docs/design/simulation.md` says what a world is; `somora simulate --seed N` tells one as a story.
 * The long run's report is compared with a hundred seeds of it, chosen by the commit.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleSimulation, numbers, PART, partHash, playSeeds, root, sourceHash } from "../../../scripts/lib/simulation.mjs";

const SEEDS = Number(process.env["SOMORA_SEEDS"] ?? 1000);
const here = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");
const wrong: string[] = [];
const reached = new Set<string>();
let commits = 0;
let crashes = 0;

describe("a thousand simulated worlds", { timeout: 400_000 }, () => {
  beforeAll(async () => {
    const began = performance.now();
    const url = await bundleSimulation("seeds");
    await playSeeds(url, numbers(1, SEEDS), {
      twice: true,
      told: (result) => {
        commits += result.commits;
        crashes += result.crashes;
        for (const cell of result.coverage) reached.add(cell);
        if (result.verdict !== null) wrong.push(`seed ${result.seed}: ${result.verdict}`);
        return wrong.length < 10;
      },
    });
    const seconds = (performance.now() - began) / 1000;
    console.log(
      `${SEEDS} seeds, each twice, in ${seconds.toFixed(1)} s: ${(SEEDS / seconds).toFixed(1)} seeds/s, ${commits} commits, ${crashes} crashes`,
    );
  }, 400_000);
  it("break no promise and no invariant, and give the same journal a second time", () => {
    expect(wrong).toEqual([]);
    // A world without crashes would prove nothing.
    expect(crashes).toBeGreaterThan(SEEDS);
    expect(commits).toBeGreaterThan(SEEDS * 20);
  });
  it("reach every cell of chart, state and event that they once reached", () => {
    const known = JSON.parse(here("./coverage.json")) as string[];
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter((cell) => !reached.has(cell))).toEqual([]);
  });
});

describe("the report of the long run", () => {
  it("is what these sources give, or says that it is old", { timeout: 200_000 }, async () => {
    const report = JSON.parse(here("./report.json")) as { sources: string; blocks: { from: number; to: number; parts: string[] }[] };
    const parts = report.blocks.flatMap(({ from, parts: hashes }) => hashes.map((hash, index) => ({ first: from + index * PART, hash })));
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
    const { first, hash } = parts[Number.parseInt(commit.slice(0, 8), 16) % parts.length] as { first: number; hash: string };
    const now = await partHash(first);
    if (report.sources === sourceHash()) {
      expect({ first, hash: now }).toEqual({ first, hash });
      return;
    }
    console.log(
      `the report is old: it is of the sources ${report.sources}, these are ${sourceHash()}. Seeds from ${first} on are played twice.`,
    );
    expect(await partHash(first)).toBe(now);
  });
});
