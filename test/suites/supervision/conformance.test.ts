/** The list of cases, the suite, the mutations and the page say the same. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { groups } from "./cases.ts";
import { mutations } from "./mutations.ts";
import { conformancePage, type MutationResults, pagePath, resultsPath } from "./page.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Names of the cases a file holds. */
function casesIn(file: string): string[] {
  const source = read(`test/suites/supervision/${file}`);
  const titles = [...source.matchAll(/^\s*it\(\s*"([^"]+)"/gmu)].map(([, title]) => title as string);
  for (const title of titles) expect(title).toMatch(/^[^:]+: \S/u);
  return titles.map((title) => title.slice(0, title.indexOf(":")));
}

describe("the list of cases", () => {
  it.each(groups.map((group) => [group.id, group] as const))("names exactly what group %s holds", (_, group) => {
    expect(casesIn(group.file).sort()).toEqual([...group.here].sort());
    expect(Object.keys(group.leftOut).filter((name) => group.here.includes(name))).toEqual([]);
    for (const reason of Object.values(group.leftOut)) expect(reason.length).toBeGreaterThan(20);
  });
  it("knows every file of the suite, and at least 70 cases are here", () => {
    const files = readdirSync(join(root, "test/suites/supervision")).filter((file) => /^[a-z]-.*\.test\.ts$/u.test(file));
    expect(files.sort()).toEqual(groups.map(({ file }) => file).sort());
    expect(groups.flatMap(({ here }) => here).length).toBeGreaterThanOrEqual(70);
  });
});

describe("the mutations", () => {
  it("have one for each group, and each text stands exactly once in its file", () => {
    expect(mutations.map(({ group }) => group)).toEqual(groups.map(({ id }) => id));
    const counts = mutations.map(({ group, file, text }) => [group, read(file).split(text).length - 1]);
    expect(counts).toEqual(mutations.map(({ group }) => [group, 1]));
  });
  it("were run as they stand here: each turned its own group red and left at least half of the others green", () => {
    const results = JSON.parse(read(resultsPath)) as MutationResults;
    expect(results.map(({ group, fault }) => [group, fault])).toEqual(mutations.map(({ group, fault }) => [group, fault]));
    for (const { group, red, green } of results) {
      expect(red).toContain(group);
      expect(green.length).toBeGreaterThanOrEqual((groups.length - 1) / 2);
    }
  });
  it("stand on the page with the cases, as they are here", () => {
    expect(read(pagePath)).toBe(conformancePage(JSON.parse(read(resultsPath)) as MutationResults));
  });
});
