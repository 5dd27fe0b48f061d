/**
 * A built server in a process of its own, for tests that kill it and count from outside. Everything it starts inherits the
 * variable HOSTILE_MARK, which the product does not know.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const SERVER_FILE = join(root, "dist", "main", "server.js");
/** Wires the same server with a journal that can kill its own process; see there. */
export const KILLING_SERVER_FILE = join(root, "test", "support", "killing-server.mjs");
/** Loses its store to a newer run when told; see there. */
export const FENCED_SERVER_FILE = join(root, "test", "support", "fenced-server.mjs");
const START_MS = 50_000;

/** Brings `dist/` up to date; does nothing when the sources are those of the last build. */
export function buildDist(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, "scripts", "build.mjs")], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`the build failed: ${said}`))));
  });
}

export interface TestHome {
  /** SOMORA_HOME. */
  folder: string;
  /** HOME of the server, and what holds all of it. */
  base: string;
  workspace: string;
  /** Carried by every process that a server of this home starts. */
  mark: string;
  remove(): Promise<void>;
}

/** An agent `probe` whose model is asked at `modelUrl`; `exec` is turned on. `settings` is YAML below `server:`. */
export async function makeTestHome(
  modelUrl: string,
  options: { settings?: string; parallel?: boolean; base?: string } = {},
): Promise<TestHome> {
  const base = options.base ?? (await mkdtemp(join(tmpdir(), "somora-hostile-")));
  const folder = join(base, "home");
  const workspace = join(base, "work");
  await mkdir(join(folder, "agents", "probe"), { recursive: true, mode: 0o700 });
  await mkdir(workspace, { recursive: true });
  await writeFile(
    join(folder, "config.yaml"),
    `server: { port: 0${options.settings === undefined ? "" : `, ${options.settings}`} }
workspace: { default: ${JSON.stringify(workspace)} }
providers:
  outside:
    engine: openai-compatible
    baseUrl: ${modelUrl}
    models: [{ id: probe, contextWindow: 200000, parallelToolCalls: ${options.parallel ?? true} }]
`,
  );
  await writeFile(join(folder, "agents", "probe", "agent.yaml"), "model: outside/probe\ntools: { allow: [exec] }\n");
  await writeFile(join(folder, "agents", "probe", "AGENTS.md"), "You are probed.\n");
  return { folder, base, workspace, mark: randomUUID(), remove: () => rm(base, { recursive: true, force: true, maxRetries: 3 }) };
}

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  body: Body;
}

export interface ServerProcess {
  child: ChildProcess;
  pid: number;
  url: string;
  key: string;
  /** From the spawn to the ready line. */
  startMs: number;
  /** Lines that it wrote to its fourth stream; complete once `exited` is through. */
  lines: string[];
  /** What it has said on stderr. */
  stderr(): string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
  isAlive(): boolean;
  /** Rejects when the connection breaks. */
  api<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Answer<Body>>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export interface StartOptions {
  script?: string;
  env?: Record<string, string>;
  args?: string[];
  /** Where the lines of its fourth stream go; also those of a start that fails. */
  lines?: string[];
}

/** Rejects with what it said when it ends before it serves. */
export async function startServer(home: TestHome, options: StartOptions = {}): Promise<ServerProcess> {
  const began = performance.now();
  const child = spawn(process.execPath, [options.script ?? SERVER_FILE, ...(options.args ?? ["--port", "0"]), "--no-open"], {
    cwd: home.base,
    stdio: ["ignore", "pipe", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env["PATH"] ?? "",
      LANG: "C.UTF-8",
      HOME: home.base,
      SOMORA_HOME: home.folder,
      HOSTILE_MARK: home.mark,
      ...options.env,
    },
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const lines = options.lines ?? [];
  const drained = collectLines(child.stdio[3] as Readable, lines);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>((resolve) => {
    child.once("exit", (code, signal) => void drained.then(() => resolve({ code, signal, stderr })));
  });
  const url = await readyAddress(child, () => stderr);
  const key = (await readFile(join(home.folder, "key"), "utf8")).trim();
  const startMs = Math.round(performance.now() - began);
  return {
    child,
    pid: child.pid as number,
    url,
    key,
    startMs,
    lines,
    stderr: () => stderr,
    exited,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async api<Body>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${url}/api${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Body };
    },
    async kill(signal = "SIGKILL") {
      child.kill(signal);
      await exited;
    },
  };
}

function readyAddress(child: ChildProcess, stderr: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`the server did not serve: ${why}\n${said}${stderr()}`));
    };
    const timer = setTimeout(() => fail("time is over"), START_MS);
    const onExit = (code: number | null, signal: string | null): void => fail(`it ended with ${code ?? signal}`);
    // `close`: all it said has arrived.
    child.once("close", onExit);
    child.once("error", (error) => fail(error.message));
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const address = /^ready (http\S+)$/m.exec(said)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      child.off("close", onExit);
      resolve(address);
    });
  });
}

function collectLines(stream: Readable, lines: string[]): Promise<void> {
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const parts = `${rest}${chunk.toString()}`.split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
}

export interface MarkedProcess {
  pid: number;
  command: string;
  variables: Map<string, string>;
}

/** What runs with the home's mark, the server itself left out. Zombies have ended. */
export function markedProcesses(home: TestHome, ...notThese: number[]): MarkedProcess[] {
  const found: MarkedProcess[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || notThese.includes(Number(name))) continue;
    try {
      const environment = readFileSync(`/proc/${name}/environ`, "utf8");
      if (!environment.includes(`HOSTILE_MARK=${home.mark}`)) continue;
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))) continue;
      const variables = new Map(
        environment.split("\0").map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)] as const),
      );
      found.push({ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim(), variables });
    } catch (error) {
      // It ended while we looked.
      if (!["ENOENT", "ESRCH", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return found;
}

/** Looks every few milliseconds; for the outside world, which sends no events. Names what did not come true. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** After a test: the server killed, and with it what it started, wherever that went; then the home. */
export async function endAll(server: ServerProcess, home: TestHome): Promise<void> {
  await server.kill();
  for (const { pid } of markedProcesses(home)) process.kill(pid, "SIGKILL");
  await home.remove();
}
