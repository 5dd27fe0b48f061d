/**
 * `npm run proof [-- --kills N --seed S --report FILE --worlds N --only kills|simulation|planted]`: the long proofs, which CI repeats in
 * small. Kills a real server N times (200) and prints how often each phase was hit; the report has one JSON line per kill: phase, time
 * to serving, verdict. Plays N simulated worlds (100,000), each twice, and writes test/suites/simulation/report.json; looks wide for
 * the planted bugs and writes down what finds them.
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
mkdirSync(dirname(report), { recursive: true });
rmSync(report, { force: true });

const wanted = (name) => values.only === "all" || values.only === name;
let failed = 0;
if (wanted("kills")) failed += (await kills()) === 0 ? 0 : 1;
if (wanted("simulation")) failed += await worlds();
if (wanted("planted")) failed += (await runNode("scripts/planted-bugs.mjs", [])) === 0 ? 0 : 1;
process.exitCode = failed === 0 ? 0 : 1;

async function kills() {
  const began = Date.now();
  if (!(await build())) return 1;
  const env = { ...process.env, HOSTILE_KILLS: values.kills, HOSTILE_SEED: values.seed, HOSTILE_REPORT: report };
  const code = await runNode("node_modules/vitest/vitest.mjs", ["run", "test/hostile/kill.test.ts"], { env });
  console.log(`proof: ${values.kills} kills in ${seconds(began)}, report in ${report}`);
  return code;
}

async function worlds() {
  const began = Date.now();
  const blocks = await playBlocks(1, Number(values.worlds), { say: console.log });
  const wrong = blocks.reduce((sum, block) => sum + block.wrong.length, 0);
  writeFileSync(join(root, "test/suites/simulation/report.json"), `${JSON.stringify({ sources: sourceHash(), blocks }, null, 1)}\n`);
  console.log(`proof: ${values.worlds} worlds, each twice, in ${seconds(began)}, ${wrong} wrong`);
  return wrong;
}
