/**
 * `npm run proof [-- --kills N --seed S --report FILE]`: the long proofs, which CI repeats in small. Kills a real server N times
 * (200) and prints how often each phase was hit; the report has one JSON line per kill: phase, time to serving, verdict. Before
 * that the store: damaged at 200 places of each kind, 20 races of two servers for one home, a million rows and what pruning
 * leaves of them; the numbers are printed. Then supervision: 1,000 against 100,000 children, and every planted fault of the
 * kernel against its suite.
 */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { root } from "./lib/files.mjs";
import { runNode, seconds } from "./lib/run.mjs";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    report: { type: "string", default: join(root, "node_modules", ".somora-proof", "kills.jsonl") },
  },
});
for (const name of ["kills", "seed"]) {
  if (/^[1-9]\d{0,5}$/.test(values[name])) continue;
  console.log(`--${name} ${values[name]} is no number from 1 to 999999.`);
  process.exit(2);
}
const report = resolve(values.report);
mkdirSync(dirname(report), { recursive: true });
rmSync(report, { force: true });

const began = Date.now();
if (!(await build())) process.exit(1);
const store = { ...process.env, HOSTILE_PLACES: "200", HOSTILE_RACES: "20", HOSTILE_ROWS: "1000000" };
const storeCode = await runNode("node_modules/vitest/vitest.mjs", ["run", "test/hostile/damaged-store", "test/hostile/store-"], {
  env: store,
});
console.log(`proof: the store, ${seconds(began)}`);
const env = { ...process.env, HOSTILE_KILLS: values.kills, HOSTILE_SEED: values.seed, HOSTILE_REPORT: report };
const vitest = "node_modules/vitest/vitest.mjs";
const killCode = await runNode(vitest, ["run", "test/hostile/kill.test.ts"], { env });
console.log(`proof: ${values.kills} kills in ${seconds(began)}, report in ${report}`);
const many = { env: { ...process.env, SUPERVISION_CHILDREN: "100000" } };
const scaled = await runNode(vitest, ["run", "test/suites/supervision/j-robustness.test.ts", "-t", "scale_start_stop_many_children"], many);
const mutated = await runNode("scripts/mutate-kernel.mjs", ["--check"]);
process.exitCode = [storeCode, killCode, scaled, mutated].every((code) => code === 0) ? 0 : 1;
console.log(`proof: all in ${seconds(began)}`);
