/**
 * Makes `dist/` from the sources: the server with tsc (`dist/src/main/server.js`), the page with Vite (`dist/ui/`). Each is
 * skipped while its sources have the hash of the last good build. `--force` builds all the same.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { filesUnder, hashOf, readJson, root } from "./lib/files.mjs";
import { runNode, seconds } from "./lib/run.mjs";

const dist = join(root, "dist");
const stampFile = join(dist, ".build.json");

const SHARED = ["package.json", "package-lock.json", "tsconfig.json"];
const parts = [
  {
    name: "server",
    sources: () => filesUnder(["src", "tsconfig.build.json", ...SHARED], (path) => !/\.test\.tsx?$/.test(path)),
    output: join(dist, "src"),
    async build() {
      removeStale(join(dist, "src"));
      return runNode("node_modules/typescript/bin/tsc", ["-p", "tsconfig.build.json"]);
    },
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

/** tsc leaves the output of deleted sources behind; a server would go on importing it. */
function removeStale(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const source = join(root, relative(dist, path));
    if (statSync(path).isDirectory()) {
      if (existsSync(source)) removeStale(path);
      else rmSync(path, { recursive: true });
    } else if (path.endsWith(".js") && !existsSync(source.replace(/js$/, "ts")) && !existsSync(source.replace(/js$/, "tsx"))) rmSync(path);
  }
  // With files missing that it believes written, an incremental build would not write them again.
  if (!existsSync(join(dist, "src"))) rmSync(join(dist, ".tsbuildinfo"), { force: true });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = (await build({ force: process.argv.includes("--force") })) ? 0 : 1;
}
