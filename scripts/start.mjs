/**
 * `npm start`: installs when the lock changed, builds when sources changed, then serves in the foreground. Ctrl-C drains, a
 * second one ends at once. If a server of this home already serves, says where and ends. No dependency.
 */
import { existsSync } from "node:fs";
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { root } from "./lib/files.mjs";
import { findHolder } from "./lib/holder.mjs";
import { install } from "./lib/install.mjs";

const NODE_WANTED = [20, 19];
const home = resolve(process.env.SOMORA_HOME || join(homedir(), ".somora"));
const server = join(root, "dist", "main", "server.js");

process.exitCode = await start();

async function start() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < NODE_WANTED[0] || (major === NODE_WANTED[0] && minor < NODE_WANTED[1])) {
    console.error(
      `somora needs Node ${NODE_WANTED.join(".")} or newer; this is ${process.versions.node}. Install it from https://nodejs.org and try again.`,
    );
    return 1;
  }
  const { build, buildName } = await import("./build.mjs");
  const holder = await findHolder(home);
  if (holder !== null) return alreadyServes(holder, buildName());
  if (!(await install(console.error))) return 1;
  if (!(await build({ say: console.error }))) return 1;
  if (!existsSync(server)) {
    console.error(`The build has no ${server}: this checkout has no server yet.`);
    return 1;
  }
  return serve();
}

function alreadyServes({ pid, address, build }, current) {
  console.log(address === null ? `somora is starting already (pid ${pid}).` : `somora already serves at ${address} (pid ${pid}).`);
  if (build !== null && build !== current) {
    console.log("It runs an older build. To restart it: node bin/somora.mjs server stop && npm start");
  }
  return 0;
}

/**
 * The server runs in a process group of its own, so that Ctrl-C in a terminal reaches it once, through us: npm and the
 * terminal both signal us, which within half a second counts as one.
 */
function serve() {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [server, ...process.argv.slice(2)], { stdio: "inherit", detached: true });
    let last = 0;
    const pass = () => {
      if (Date.now() - last < 500) return;
      last = Date.now();
      child.kill("SIGTERM");
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, pass);
    child.once("error", failed);
    child.once("exit", (code, signal) => {
      if (signal !== null) console.error(`The server was ended by ${signal}.`);
      done(code ?? 1);
    });
  });
}
