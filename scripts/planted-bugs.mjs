/**
 * `node scripts/planted-bugs.mjs [--seeds N] [--only TEXT]`: plants each bug in a copy of the sources and looks for it, from seed 1 on
 * and at most N seeds; what it found is written into test/suites/simulation/planted-bugs.json and docs/design/simulation.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/files.mjs";
import { bundleSimulation } from "./lib/simulation-bundle.mjs";
import { plantedTable, writeTable } from "./lib/simulation-pages.mjs";
import { playSeeds } from "./lib/simulation-runs.mjs";

const { values } = parseArgs({ options: { seeds: { type: "string", default: "1000" }, only: { type: "string", default: "" } } });
const file = join(root, "test/suites/simulation/planted-bugs.json");
const bugs = JSON.parse(readFileSync(file, "utf8"));
let missed = 0;
for (const [number, bug] of bugs.entries()) {
  if (!bug.name.includes(values.only)) continue;
  const url = await bundleSimulation(`planted-${number}`, bug.patches);
  let played = 0;
  let found = null;
  const budget = Number(values.seeds);
  await playSeeds(
    url,
    (function* () {
      for (let seed = 1; seed <= budget; seed += 1) yield seed;
    })(),
    {
      hungMs: 15_000,
      told: (result) => {
        played += 1;
        if (result.verdict === null) return true;
        found = { seed: result.seed, after: Number(result.seed), verdict: result.verdict.slice(0, 200) };
        return false;
      },
    },
  );
  if (!found) missed += 1;
  bug.found = found;
  console.log(found ? `found   ${bug.name}: seed ${found.seed}: ${found.verdict}` : `MISSED  ${bug.name} in ${played} seeds`);
}
writeFileSync(file, `${JSON.stringify(bugs, null, 2)}\n`);
writeTable("planted bugs", plantedTable(bugs));
process.exitCode = missed === 0 ? 0 : 1;
