/** `npm run check`: types, lint, format, unused code. Runs all of them, then says which failed. */
import { runNode, seconds } from "./lib/run.mjs";

const checks = [
  ["types", "node_modules/typescript/bin/tsc", ["--noEmit"]],
  // Typed rules ask the types: a promise nobody awaits is an error.
  ["lint", "node_modules/oxlint/bin/oxlint", ["--type-aware", "--deny-warnings"]],
  ["format", "node_modules/oxfmt/bin/oxfmt", ["--check"]],
  ["unused", "node_modules/knip/bin/knip.js", ["--no-progress"]],
];

const only = process.argv.slice(2);
const failed = [];
for (const [name, script, args] of checks) {
  if (only.length > 0 && !only.includes(name)) continue;
  const began = Date.now();
  const code = await runNode(script, args);
  console.log(`check: ${name} ${code === 0 ? "good" : "FAILED"} (${seconds(began)})`);
  if (code !== 0) failed.push(name);
}
if (failed.length > 0) console.log(`check: failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
