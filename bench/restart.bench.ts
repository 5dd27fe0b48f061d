/**
 * kill -9 to serving: a home with 100 actors, killed while idle, started again; from the start of the process to the ready line
 * and to the first answer of `/api/actors` that names them all. Beside it a bare `node -e 0` and a bare open of the same store.
 * Prints one JSON object. `node scripts/bench.mjs restart [--runs 5] [--actors 100]`. Needs a build (`npm run build`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { runs: { type: "string", default: "5" }, actors: { type: "string", default: "100" } } });
const RUNS = Number(values.runs);
const ACTORS = Number(values.actors);
const folder = mkdtempSync(join(tmpdir(), "somora-bench-"));
const home = join(folder, "home");
const server = join(process.cwd(), "dist", "main", "server.js");

function start(): Promise<{ child: ChildProcess; url: string; ms: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, [server, "--port", "0", "--no-open"], {
    env: { PATH: process.env["PATH"], HOME: folder, SOMORA_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      const match = /^ready (\S+)$/m.exec(chunk.toString());
      if (match) resolve({ child, url: match[1] as string, ms: performance.now() - began });
    });
  });
}

async function ended(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  child.removeAllListeners("exit");
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill(signal);
  await gone;
}

async function bareNode(): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, ["-e", "0"]);
  await new Promise((resolve) => child.once("exit", resolve));
  return performance.now() - began;
}

const key = (): string => readFileSync(join(home, "key"), "utf8").trim();
async function actors(url: string): Promise<number> {
  const response = await fetch(`${url}/api/actors`, { headers: { authorization: `Bearer ${key()}` } });
  return ((await response.json()) as { actors: unknown[] }).actors.length;
}

const first = await start();
let count = await actors(first.url);
for (let n = 0; count < ACTORS; n += 1, count += 1) {
  const response = await fetch(`${first.url}/api/agents/guide/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key()}`, "content-type": "application/json" },
    body: JSON.stringify({ slug: `s${n}` }),
  });
  if (response.status !== 201) throw new Error(`no session: ${response.status}`);
}
const expected = await actors(first.url);
await ended(first.child, "SIGKILL");

const ready: number[] = [];
const answered: number[] = [];
const bare: number[] = [];
for (let run = 0; run < RUNS; run += 1) {
  bare.push(await bareNode());
  rmSync(join(home, "run", "starts.json"), { force: true });
  const began = performance.now();
  const { child, url, ms } = await start();
  ready.push(ms);
  if ((await actors(url)) !== expected) throw new Error("actors are missing");
  answered.push(performance.now() - began);
  await ended(child, "SIGKILL");
}
rmSync(folder, { recursive: true });
const summary = (numbers: number[]) => {
  const sorted = [...numbers].sort((a, b) => a - b).map(Math.round);
  return { median: sorted[sorted.length >> 1], least: sorted[0], most: sorted.at(-1) };
};
process.stdout.write(
  `${JSON.stringify({ bench: "restart", runs: RUNS, node: process.version, results: { actors: expected, "to the ready line, ms": summary(ready), "to all actors answered, ms": summary(answered), "bare node, ms": summary(bare) } }, null, 2)}\n`,
);
