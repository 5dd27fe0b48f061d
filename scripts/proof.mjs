/**
 * `npm run proof [-- --kills N --seed S --report FILE]`: the long proofs, which CI repeats in small. Kills a real server N times
 * (200) and prints how often each phase was hit; the report has one JSON line per kill: phase, time to serving, verdict.
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
const env = { ...process.env, HOSTILE_KILLS: values.kills, HOSTILE_SEED: values.seed, HOSTILE_REPORT: report };
process.exitCode = await runNode("node_modules/vitest/vitest.mjs", ["run", "test/hostile/kill.test.ts"], { env });
console.log(`proof: ${values.kills} kills in ${seconds(began)}, report in ${report}`);
