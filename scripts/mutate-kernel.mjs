/**
 * `node scripts/mutate-kernel.mjs`: plants each fault of `test/suites/supervision/mutations.ts` in a copy of the source (never in
 * the working tree), runs the supervision suite on it, prints which groups turned red, and writes the results and
 * `docs/design/conformance.md`. `--check` writes nothing; `--only E,H` runs those and keeps the results of the others. Ends with 1 when a fault does not turn its own group red, or leaves fewer
 * than half of the others green.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";
import { readJson, root } from "./lib/files.mjs";
import { runNode, seconds } from "./lib/run.mjs";

const { values } = parseArgs({ options: { check: { type: "boolean", default: false }, only: { type: "string" } } });
const only = values.only?.split(",") ?? null;
/** A fault can make the kernel loop for ever: then what has not ended by now is red. */
const LIMIT_MS = 180_000;

async function data(name) {
  const { module } = await runnerImport(join(root, "test/suites/supervision", name), { root, configFile: false, logLevel: "error" });
  return module;
}

const { groups } = await data("cases.ts");
const { mutations } = await data("mutations.ts");
const { conformancePage, pagePath, resultsPath } = await data("page.ts");

const copy = mkdtempSync(join(tmpdir(), "somora-mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const path of ["src", "test/support", "test/suites/supervision", "package.json", "tsconfig.json", "vitest.config.ts"])
  cpSync(join(root, path), join(copy, path), { recursive: true });
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

/** Groups with a failed case, by the suite run in the copy. */
async function redGroups() {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const args = ["node_modules/vitest/vitest.mjs", "run", ...groups.map(({ file }) => `test/suites/supervision/${file}`)];
  args.push("--reporter=json", `--outputFile=${report}`, "--project=side by side", "--testTimeout=20000");
  await new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: copy,
      env: { ...process.env, SUPERVISION_CHILDREN: "2000" },
      stdio: "ignore",
      detached: true,
    });
    const limit = setTimeout(() => process.kill(-Number(child.pid), "SIGKILL"), LIMIT_MS);
    child.once("exit", () => {
      clearTimeout(limit);
      resolve();
    });
  });
  const files = readJson(report)?.testResults ?? [];
  return groups.filter(({ file }) => files.find(({ name }) => basename(name) === file)?.status !== "passed").map(({ id }) => id);
}

const began = Date.now();
let bad = 0;
const red = await redGroups();
console.log(`without a fault: ${red.length === 0 ? "all green" : `RED ${red.join(", ")}`} (${seconds(began)})`);
if (red.length > 0) process.exit(1);

const results = [];
for (const { group, fault, file, text, replacement } of mutations) {
  const kept = only && !only.includes(group) && readJson(join(root, resultsPath))?.find((each) => each.group === group);
  if (kept) {
    results.push({ ...kept, fault });
    continue;
  }
  const started = Date.now();
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  if (source.split(text).length !== 2) {
    console.log(`${group}: its text does not stand exactly once in ${file}`);
    process.exit(1);
  }
  writeFileSync(
    path,
    source.replace(text, () => replacement),
  );
  const turned = await redGroups();
  writeFileSync(path, source);
  const green = groups.map(({ id }) => id).filter((id) => !turned.includes(id));
  const good = turned.includes(group) && green.length >= (groups.length - 1) / 2;
  if (!good) bad += 1;
  results.push({ group, fault, red: turned, green });
  console.log(
    `${good ? "good" : "BAD "} ${group}: ${fault}\n     red ${turned.join(", ")} · green ${green.join(", ")} (${seconds(started)})`,
  );
}

if (!values.check) {
  mkdirSync(join(root, "docs/design"), { recursive: true });
  writeFileSync(join(root, resultsPath), JSON.stringify(results));
  await runNode("node_modules/oxfmt/bin/oxfmt", [resultsPath], { stdio: "ignore" });
  writeFileSync(join(root, pagePath), conformancePage(results));
}
console.log(
  `mutations: ${mutations.length - bad} of ${mutations.length}${only ? ` (run: ${values.only})` : ""} as they should be (${seconds(began)})`,
);
process.exitCode = bad === 0 ? 0 : 1;
