#!/usr/bin/env node
// The `somora` command. An unbuilt checkout cannot serve it: it says so instead of failing in the middle of an import.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/main/cli.js", import.meta.url);
if (existsSync(fileURLToPath(main))) {
  await import(main.href);
} else {
  process.stderr.write("somora is not built in this checkout. Run `npm start` once: it installs, builds and starts the server.\n");
  process.exitCode = 1;
}
