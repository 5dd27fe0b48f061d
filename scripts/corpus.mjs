// `node scripts/corpus.mjs NAME`: writes test/corpus/NAME.jsonl, rows as the charts of this build store them. A corpus is never
// changed later: when a chart's version goes up, a new one is made, and the older ones must still be read.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const name = process.argv[2] ?? "";
const file = join(root, "test", "corpus", `${name}.jsonl`);
if (!/^[\w.-]+$/.test(name) || existsSync(file)) {
  console.log(name === "" ? "Give the corpus a name." : `${file} is there already, or the name is none.`);
  process.exit(1);
}
const { module } = await runnerImport(join(root, "test", "support", "make-corpus.ts"), { root, configFile: false, logLevel: "error" });
const rows = await module.makeCorpus();
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, rows);
console.log(`${file}: ${rows.split("\n").length - 1} rows`);
process.exit(0);
