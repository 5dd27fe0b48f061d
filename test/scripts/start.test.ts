/**
 * `npm start` in a small checkout of its own: the real scripts, a compiler and a server that are a few lines. Would catch: an
 * install or a build at every start, a stale build served, two servers, a Ctrl-C that kills instead of draining.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireHomeLock } from "../../src/host/home-lock.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Says what happens to it; holds the home the way `src/host/home-lock.ts` does, as far as a reader can tell. */
const SERVER = `
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
const run = join(process.env.SOMORA_HOME, "run");
mkdirSync(run, { recursive: true });
const socket = join(run, "lock.sock");
const server = createServer((connection) => connection.destroy()).listen(socket, () => {
  writeFileSync(join(run, "lock.1.json"), JSON.stringify({ pid: process.pid, socket, address: "http://127.0.0.1:1", build: process.env.TEST_BUILD ?? null, released: false }));
  console.log("ready", process.argv.slice(2).join(" "));
});
let stops = 0;
process.on("SIGTERM", () => {
  console.log("stop", ++stops);
  if (stops === 2) process.exit(1);
  setTimeout(() => { server.close(); process.exitCode = 0; }, Number(process.env.TEST_DRAIN_MS ?? 700));
});
`;
/** "Compiles" by copying, and notes that it ran. */
const COMPILER = `
import { appendFileSync, copyFileSync, existsSync, mkdirSync } from "node:fs";
mkdirSync("dist/main", { recursive: true });
appendFileSync("compiled", "x");
if (existsSync("src/main/server.ts")) copyFileSync("src/main/server.ts", "dist/main/server.js");
if (existsSync("src/broken.ts")) process.exitCode = 2;
`;

let checkout: string;
let home: string;
const running: Start[] = [];

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), "somora-start-"));
  home = join(checkout, "home");
  await cp(join(repository, "scripts"), join(checkout, "scripts"), { recursive: true });
  const files: Record<string, string> = {
    "package.json": JSON.stringify({ type: "module" }),
    "package-lock.json": JSON.stringify({ packages: { "": {}, "node_modules/a": { version: "1.0.0" } } }),
    "node_modules/.package-lock.json": JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0" } } }),
    "node_modules/vite/bin/vite.js": COMPILER,
    "node_modules/vite/package.json": JSON.stringify({ type: "module" }),
    "src/main/server.ts": SERVER,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(checkout, name, ".."), { recursive: true });
    await writeFile(join(checkout, name), text);
  }
});
afterEach(async () => {
  for (const start of running.splice(0)) await start.kill();
  await rm(checkout, { recursive: true });
});

class Start {
  readonly process: ChildProcess;
  output = "";
  readonly ended: Promise<number | null>;

  constructor(args: string[] = [], env: Record<string, string> = {}) {
    this.process = spawn(process.execPath, [join(checkout, "scripts", "start.mjs"), ...args], {
      env: { PATH: process.env["PATH"] ?? "", SOMORA_HOME: home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) stream?.on("data", (data: Buffer) => (this.output += data.toString()));
    this.ended = once(this.process, "close").then(([code]) => code as number | null);
    running.push(this);
  }

  async until(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      const more = await Promise.race([
        once(this.process.stdout ?? this.process, "data"),
        once(this.process.stderr ?? this.process, "data"),
        this.ended,
      ]);
      if (typeof more === "number" && !this.output.includes(text)) throw new Error(`It ended with ${more}:\n${this.output}`);
    }
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill("SIGTERM");
    await this.ended;
  }
}

async function compiled(): Promise<number> {
  return (await readFile(join(checkout, "compiled"), "utf8")).length;
}

describe("npm start", () => {
  it("builds, serves with its arguments, and drains on Ctrl-C, however often the terminal and npm say it at once", async () => {
    const start = new Start(["--no-open", "--port", "0"]);
    await start.until("ready --no-open --port 0");
    expect(start.output).toContain("build: server done");
    expect(start.output).not.toContain("install:");
    for (let times = 0; times < 3; times++) start.process.kill("SIGINT");
    expect(await start.ended).toBe(0);
    expect(start.output.match(/stop \d/g)).toEqual(["stop 1"]);
  });
  it("passes a later Ctrl-C on as a second one", async () => {
    const start = new Start([], { TEST_DRAIN_MS: "60000" });
    await start.until("ready");
    start.process.kill("SIGINT");
    await start.until("stop 1");
    await new Promise((resolve) => setTimeout(resolve, 550)); // Signals within half a second count as one.
    start.process.kill("SIGINT");
    expect(await start.ended).toBe(1);
    expect(start.output).toContain("stop 2");
  });
  it("builds again only when a source changed", async () => {
    for (const change of [null, null, "// changed\n"]) {
      if (change !== null) await writeFile(join(checkout, "src", "other.ts"), change);
      const start = new Start();
      await start.until("ready");
      await start.kill();
    }
    expect(await compiled()).toBe(2);
  });
  it("says where a server of this home serves and ends, without a build", async () => {
    const first = new Start();
    await first.until("ready");
    await writeFile(join(checkout, "src", "other.ts"), "// changed\n");
    const second = new Start();
    expect(await second.ended).toBe(0);
    expect(second.output).toMatch(/^somora already serves at http:\/\/127\.0\.0\.1:1 \(pid \d+\)\.\n$/);
    expect(await compiled()).toBe(1);
  });
  it("says how to restart one of an older build", async () => {
    const first = new Start([], { TEST_BUILD: "older" });
    await first.until("ready");
    const second = new Start();
    expect(await second.ended).toBe(0);
    expect(second.output).toContain("older build. To restart it: node bin/somora.mjs server stop && npm start");
  });
  it("ends with 1 when the build fails, and serves nothing", async () => {
    await writeFile(join(checkout, "src", "broken.ts"), "");
    const start = new Start();
    expect(await start.ended).toBe(1);
    expect(start.output).toContain("build: server failed");
    expect(start.output).not.toContain("ready");
  });
  it("installs when the lock file names another version", async () => {
    await writeFile(join(checkout, "package-lock.json"), JSON.stringify({ packages: { "node_modules/a": { version: "2.0.0" } } }));
    await mkdir(join(checkout, "bin"));
    await writeFile(join(checkout, "bin", "npm"), `#!/bin/sh\necho "npm $@"\nexit 1\n`, { mode: 0o755 });
    const start = new Start([], { PATH: `${join(checkout, "bin")}:${process.env["PATH"] ?? ""}` });
    expect(await start.ended).toBe(1);
    expect(start.output).toContain("npm ci --include=dev --ignore-scripts");
    expect(start.output).toContain("install: npm failed");
  });
});

describe("the scripts' look at who holds a home", () => {
  it("agrees with the lock itself", async () => {
    const { findHolder } = (await import(new URL("../../scripts/lib/holder.mjs", import.meta.url).href)) as {
      findHolder(home: string): Promise<unknown>;
    };
    expect(await findHolder(home)).toBeNull();
    const lock = await acquireHomeLock(home, { build: "b1" });
    expect(await findHolder(home)).toEqual({ pid: process.pid, address: null, build: "b1" });
    await lock.setAddress("http://127.0.0.1:2");
    expect(await findHolder(home)).toEqual({ pid: process.pid, address: "http://127.0.0.1:2", build: "b1" });
    await lock.release();
    expect(await findHolder(home)).toBeNull();
  });
});
