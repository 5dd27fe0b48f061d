/**
 * `npm run proof [-- --only store|kills|supervision|simulation|planted --kills N --seed S --report FILE --worlds N]`: the long proofs,
 * which CI repeats in small; without `--only` all of them.
 *
 * - `store`: damaged at 200 places of each kind, 20 races of two servers for one home, a million rows and what pruning leaves.
 * - `kills`: a real server killed N times (200), with a histogram of phases; the report has one JSON line per kill.
 * - `supervision`: 1,000 against 100,000 children, and every planted fault of the kernel against its suite.
 * - `simulation`: N simulated worlds (100,000), each twice; writes test/suites/simulation/report.json.
 * - `planted`: looks wide for the planted bugs and writes down what finds them.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { root } from "./lib/files.mjs";
import { runNode, seconds } from "./lib/run.mjs";
import { playBlocks, sourceHash } from "./lib/simulation-proof.mjs";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    worlds: { type: "string", default: "100000" },
    only: { type: "string", default: "all" },
    seed: { type: "string", default: "1" },
    report: { type: "string", default: join(root, "node_modules", ".somora-proof", "kills.jsonl") },
  },
});
for (const name of ["kills", "seed", "worlds"]) {
  if (/^[1-9]\d{0,5}$/.test(values[name])) continue;
  console.log(`--${name} ${values[name]} is no number from 1 to 999999.`);
  process.exit(2);
}
const report = resolve(values.report);

const wanted = (name) => values.only === "all" || values.only === name;
const vitest = "node_modules/vitest/vitest.mjs";
const began = Date.now();
let failed = 0;
if (wanted("store")) failed += await store();
if (wanted("kills")) failed += await kills();
if (wanted("supervision")) failed += await supervision();
if (wanted("simulation")) failed += await worlds();
if (wanted("planted")) failed += await runNode("scripts/planted-bugs.mjs", []);
console.log(`proof: all in ${seconds(began)}, ${failed === 0 ? "nothing wrong" : "not all of it held"}`);
process.exitCode = failed === 0 ? 0 : 1;

async function store() {
  if (!(await build())) return 1;
  const env = { ...process.env, HOSTILE_PLACES: "200", HOSTILE_RACES: "20", HOSTILE_ROWS: "1000000" };
  return runNode(vitest, ["run", "test/hostile/damaged-store", "test/hostile/store-"], { env });
}

async function kills() {
  if (!(await build())) return 1;
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const env = { ...process.env, HOSTILE_KILLS: values.kills, HOSTILE_SEED: values.seed, HOSTILE_REPORT: report };
  const code = await runNode(vitest, ["run", "test/hostile/kill.test.ts"], { env });
  console.log(`proof: ${values.kills} kills, report in ${report}`);
  return code;
}

async function supervision() {
  const env = { ...process.env, SUPERVISION_CHILDREN: "100000" };
  const scale = ["run", "test/suites/supervision/j-robustness.test.ts", "-t", "scale_start_stop_many_children"];
  return (await runNode(vitest, scale, { env })) + (await runNode("scripts/mutate-kernel.mjs", ["--check"]));
}

async function worlds() {
  const started = Date.now();
  const blocks = await playBlocks(1, Number(values.worlds), { say: console.log });
  const wrong = blocks.reduce((sum, block) => sum + block.wrong.length, 0);
  writeFileSync(join(root, "test/suites/simulation/report.json"), `${JSON.stringify({ sources: sourceHash(), blocks }, null, 1)}\n`);
  console.log(`proof: ${values.worlds} worlds, each twice, in ${seconds(started)}, ${wrong} wrong`);
  return wrong;
}
