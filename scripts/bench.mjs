/** `node scripts/bench.mjs <name> [arguments]`: makes `bench/<name>.bench.ts` one file and runs it with plain Node. JSON on stdout. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { root } from "./lib/files.mjs";
import { run } from "./lib/run.mjs";

const [name = "", ...args] = process.argv.slice(2);
const entry = join(root, "bench", `${name}.bench.ts`);
if (!existsSync(entry)) {
  const known = readdirSync(join(root, "bench")).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
  console.error(`There is no bench "${name}". Known: ${known.join(", ")}.`);
  process.exit(1);
}
// Below node_modules, so that packages are found.
const cache = join(root, "node_modules", ".somora-test");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "bench-"));
try {
  await build({
    root,
    configFile: false,
    logLevel: "error",
    build: { ssr: entry, outDir: folder, target: "node20", rolldownOptions: { output: { entryFileNames: "bench.mjs", format: "esm" } } },
  });
  process.exitCode = await run(process.execPath, ["--expose-gc", join(folder, "bench.mjs"), ...args]);
} finally {
  rmSync(folder, { recursive: true });
}
