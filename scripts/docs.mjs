// Makes docs/reference from the code; with --check only says which pages differ (exit 1).
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");
const { module } = await runnerImport(fileURLToPath(new URL("docs/make.ts", import.meta.url)), {
  root,
  configFile: false,
  logLevel: "error",
});
const differing = await module.makeDocs(root, check ? "check" : "write");
for (const path of differing) process.stdout.write(check ? `${path} differs; run: npm run docs\n` : `wrote ${path}\n`);
if (check && differing.length > 0) process.exitCode = 1;
