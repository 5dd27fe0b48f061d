/** Installs the packages when the lock file changed since the last time. No dependency. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashOf, readJson, root } from "./files.mjs";
import { run, seconds } from "./run.mjs";

const lockFile = join(root, "package-lock.json");
const stampFile = join(root, "node_modules", ".somora-lock");

/** False when the install failed. */
export async function install(say = console.log) {
  const stamp = { lock: hashOf([lockFile]), node: process.versions.modules, platform: `${process.platform}-${process.arch}` };
  const last = readJson(stampFile);
  if (last !== null && Object.keys(stamp).every((key) => last[key] === stamp[key])) return true;
  if (last === null && isInstalled()) return saved(stamp);
  const began = Date.now();
  say("install: packages (the first time takes a minute or two) …");
  // No package needs an install script; none is run.
  const args = ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env.npm_execpath;
  const code = npm?.endsWith(".js") ? await run(process.execPath, [npm, ...args]) : await run("npm", args);
  if (code !== 0) {
    say("install: npm failed; its words are above. Check the connection to the registry and try again.");
    return false;
  }
  say(`install: done in ${seconds(began)}`);
  return saved(stamp);
}

function saved(stamp) {
  writeFileSync(stampFile, JSON.stringify(stamp));
  return true;
}

/** Somebody ran npm by hand: what it noted of node_modules agrees with the lock file. */
function isInstalled() {
  if (!existsSync(join(root, "node_modules"))) return false;
  const wanted = readJson(lockFile)?.packages;
  const found = readJson(join(root, "node_modules", ".package-lock.json"))?.packages;
  if (!wanted || !found) return false;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === "" || optional === true || found[path]?.version === version,
  );
}
