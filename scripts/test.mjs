/**
 * `npm test`: builds what changed, runs vitest, and ends with exactly one line `tests: N passed, N failed, N skipped`.
 * Skips are listed with their reasons. With `--ci` or CI=true every skip must stand in `test/skips.json` and every entry
 * there (but those with `"maybe": true`) must still be skipped. Other arguments go to vitest.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { readJson, root } from "./lib/files.mjs";
import { runNode } from "./lib/run.mjs";

const args = process.argv.slice(2).filter((arg) => arg !== "--ci");
const strict = process.argv.includes("--ci") || process.env.CI === "true";
const scratch = mkdtempSync(join(tmpdir(), "somora-test-"));
const summaryFile = join(scratch, "summary.json");

process.exitCode = await main();
rmSync(scratch, { recursive: true });

async function main() {
  if (!(await build())) return end({ passed: 0, failed: 1, skipped: [] });
  const vitest = ["run", "--reporter=default", "--reporter=./scripts/lib/summary-reporter.mjs", ...args];
  const code = await runNode("node_modules/vitest/vitest.mjs", vitest, { env: { ...process.env, TEST_SUMMARY_FILE: summaryFile } });
  const summary = readJson(summaryFile);
  if (summary === null) {
    console.log(`vitest ended with ${code} before it counted.`);
    return end({ passed: 0, failed: 1, skipped: [] });
  }
  if (code !== 0 && summary.failed === 0) {
    console.log(`vitest ended with ${code}, though no test failed: a threshold, or no test was found.`);
    summary.failed++;
  }
  for (const { test, why } of summary.skipped) console.log(`skipped: ${test}: ${why ?? "no reason given"}`);
  if (strict && args.length === 0) summary.failed += compareSkips(summary.skipped);
  return end(summary);
}

/** How many things are wrong with the skips. */
function compareSkips(skipped) {
  const listed = readJson(join(root, "test", "skips.json"))?.skips ?? [];
  const names = new Set(skipped.map(({ test }) => test));
  const unknown = skipped.filter(({ test }) => !listed.some((entry) => entry.test === test));
  const stale = listed.filter((entry) => entry.maybe !== true && !names.has(entry.test));
  for (const { test, why } of unknown) console.log(`not in test/skips.json: ${test}: ${why ?? "no reason given"}`);
  for (const { test } of stale) console.log(`in test/skips.json, but not skipped any more: ${test}`);
  return unknown.length + stale.length;
}

function end({ passed, failed, skipped }) {
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}
