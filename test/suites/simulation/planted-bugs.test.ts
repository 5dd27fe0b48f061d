/**
 * Bugs planted in a copy of the sources: each must be found by the seed that found it, or by one of a few others when the sources have
 * moved on. `node scripts/planted-bugs.mjs` looks wide, and writes down which seeds find them.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findPlanted } from "../../../scripts/lib/simulation.mjs";

interface Planted {
  name: string;
  patches: { file: string; find: string; put: string }[];
  found: { seed: string } | null;
}

const bugs = JSON.parse(readFileSync(new URL("./planted-bugs.json", import.meta.url), "utf8")) as Planted[];
const ALSO = 60;

describe("planted bugs", { timeout: 120_000, concurrent: false }, () => {
  it("are all that the issue names", () => {
    expect(bugs).toHaveLength(29);
  });
  it.each(bugs.map((bug, number) => ({ ...bug, number })))("$name is found", async ({ name, patches, found, number }) => {
    const seeds = [found?.seed ?? "1", ...Array.from({ length: ALSO }, (_, index) => String(index + 1))];
    const seen = await findPlanted(`planted-${number}`, patches, seeds);
    expect(seen, `${name} is not found any more: node scripts/planted-bugs.mjs --only "${name}"`).not.toBeNull();
    console.log(`${name}: seed ${seen?.seed} after ${seen?.after}: ${seen?.verdict}`);
  });
});
