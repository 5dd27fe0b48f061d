/** `node scripts/simulation-coverage.mjs [--seeds N]`: plays N seeds (1,000) and writes down which chart heard what in which state. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/files.mjs";
import { bundleSimulation } from "./lib/simulation-bundle.mjs";
import { coverageTable, writeTable } from "./lib/simulation-pages.mjs";
import { numbers } from "./lib/simulation-proof.mjs";
import { playSeeds } from "./lib/simulation-runs.mjs";

/** A cell that few seeds reach would come and go with every change of the sources. */
const OFTEN = 5;

const { values } = parseArgs({ options: { seeds: { type: "string", default: "1000" } } });
const times = new Map();
const wrong = [];
await playSeeds(await bundleSimulation("coverage"), numbers(1, Number(values.seeds)), {
  told: ({ seed, coverage, verdict }) => {
    if (verdict !== null) wrong.push(`seed ${seed}: ${verdict}`);
    for (const cell of coverage) times.set(cell, (times.get(cell) ?? 0) + 1);
    return true;
  },
});
for (const line of wrong) console.log(line);
const cells = [...times.keys()].filter((cell) => !cell.startsWith("crash "));
const kept = [...times].filter(([, count]) => count >= OFTEN).map(([cell]) => cell);
writeFileSync(join(root, "test/suites/simulation/coverage.json"), `${JSON.stringify(kept.sort(), null, 0).replaceAll('","', '",\n"')}\n`);
writeTable("coverage", coverageTable(cells));
console.log(`${cells.length} cells, ${kept.length} of them (crash moments too) reached by at least ${OFTEN} seeds`);
process.exitCode = wrong.length === 0 ? 0 : 1;
