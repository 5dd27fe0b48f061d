/**
 * `node scripts/planted-bugs.mjs [--seeds N] [--only TEXT]`: plants each bug in a copy of the sources and looks for it, from seed 1 on
 * and at most N seeds. What was found is written into test/suites/simulation/planted-bugs.json and docs/design/simulation.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/files.mjs";
import { findPlanted } from "./lib/planted-search.mjs";
import { plantedTable, writeTable } from "./lib/simulation-pages.mjs";
import { numbers } from "./lib/simulation-proof.mjs";

const { values } = parseArgs({ options: { seeds: { type: "string", default: "1000" }, only: { type: "string", default: "" } } });
const file = join(root, "test/suites/simulation/planted-bugs.json");
const bugs = JSON.parse(readFileSync(file, "utf8"));
let missed = 0;
for (const [number, bug] of bugs.entries()) {
  if (!bug.name.includes(values.only)) continue;
  bug.found = await findPlanted(`planted-${number}`, bug.patches, numbers(1, Number(values.seeds)));
  if (!bug.found) missed += 1;
  console.log(
    bug.found ? `found   ${bug.name}: seed ${bug.found.seed}: ${bug.found.verdict}` : `MISSED  ${bug.name} in ${values.seeds} seeds`,
  );
}
writeFileSync(file, `${JSON.stringify(bugs, null, 2)}\n`);
writeTable("planted bugs", plantedTable(bugs));
process.exitCode = missed === 0 ? 0 : 1;
