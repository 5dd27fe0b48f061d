/**
 * Makes `dist/` from the sources with Vite: the server and the command line (`dist/main/`), the page (`dist/ui/`). Each is
 * skipped while its sources have the hash of the last good build. `--force` builds all the same.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { filesUnder, hashOf, readJson, root } from "./lib/files.mjs";
import { runNode, seconds } from "./lib/run.mjs";

const dist = join(root, "dist");
const stampFile = join(dist, ".build.json");

const SHARED = ["package.json", "package-lock.json", "tsconfig.json"];
const parts = [
  {
    name: "server",
    sources: () => filesUnder(["src", "scripts/server.vite.config.mjs", ...SHARED], (path) => !/\.test\.tsx?$/.test(path)),
    output: join(dist, "main"),
    build: () => runNode("node_modules/vite/bin/vite.js", ["build", "--config", "scripts/server.vite.config.mjs", "--logLevel", "warn"]),
  },
  {
    name: "page",
    sources: () => (existsSync(join(root, "ui", "vite.config.ts")) ? filesUnder(["ui", "src/client", "src/protocol", ...SHARED]) : []),
    output: join(dist, "ui"),
    // Whatever asks for the build (a test run says NODE_ENV=test): without this React's slow half would be in the page.
    build: () =>
      runNode("node_modules/vite/bin/vite.js", ["build", "--config", "ui/vite.config.ts", "--logLevel", "warn"], {
        env: { ...process.env, NODE_ENV: "production" },
      }),
  },
];

/** The name of what the sources would build now. A server tells it to who asks whether it is older. */
export function buildName() {
  return hashOf(parts[0].sources());
}

/** Builds what changed; false when something failed. Says what it does through `say`. */
export async function build({ force = false, say = console.log } = {}) {
  const stamps = readJson(stampFile) ?? {};
  for (const part of parts) {
    const sources = part.sources();
    if (sources.length === 0) continue;
    const hash = hashOf(sources);
    if (!force && stamps[part.name] === hash && existsSync(part.output)) {
      say(`build: ${part.name} unchanged`);
      continue;
    }
    const began = Date.now();
    say(`build: ${part.name} …`);
    delete stamps[part.name];
    save(stamps);
    if ((await part.build()) !== 0) {
      say(`build: ${part.name} failed`);
      return false;
    }
    stamps[part.name] = hash;
    save(stamps);
    say(`build: ${part.name} done in ${seconds(began)}`);
  }
  return true;
}

function save(stamps) {
  mkdirSync(dist, { recursive: true });
  writeFileSync(stampFile, JSON.stringify(stamps));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = (await build({ force: process.argv.includes("--force") })) ? 0 : 1;
}
