/** The `somora` command: wires the command line to this machine. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CliDependencies, processIo, type RunningServer, runCli } from "../cli/index.ts";
import { checkConfig, homePaths, openSettings, readText } from "../config/index.ts";
import { createRehearsalServer, readScript } from "../engines/rehearsal/index.ts";
import { homeHolder, homeIdOf, openBrowser, systemClock } from "../host/index.ts";
import { SomoraError } from "../protocol/errors.ts";
import { buildName } from "./build-name.ts";
import { homeFrom } from "./environment.ts";
import { playedServer } from "./played-server.ts";
import { serve } from "./serve.ts";
import { packageFolder, version } from "./version.ts";

const START_MS = 60_000;
const home = homeFrom(process.env);
const paths = homePaths(home);
const serverFile = fileURLToPath(new URL("./server.js", import.meta.url));

const dependencies: CliDependencies = {
  version,
  home,
  logFile: join(paths.logs, "server.log"),
  key: () => readKey(paths.key),
  findServer: () => findServer(home),
  serve(options) {
    const build = buildName();
    return serve({ home, env: process.env, open: options.open, ...(options.port === undefined ? {} : { port: options.port }), ...(build === null ? {} : { build }) });
  },
  startDetached,
  signal(pid, signal) {
    try {
      return process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      throw error;
    }
  },
  openBrowser: (url) => openBrowser(url, { platform: process.platform, env: process.env, terminal: process.stdout.isTTY === true, wanted: true }),
  config: {
    path: paths.config,
    async check(file) {
      const checked = checkConfig(await readText(file), file, (name) => process.env[name]);
      return checked.ok ? [] : checked.problems.map(({ line, key, message }) => ({ file, line, key, message }));
    },
    async show() {
      const checked = checkConfig(await readText(paths.config), paths.config, (name) => process.env[name]);
      if (checked.ok) return checked.value;
      throw new SomoraError("CONFIG_INVALID", checked.problems.map((problem) => problem.message).join("\n"));
    },
  },
  doctor: {
    nodeVersion: process.versions.node,
    home,
    storeFile: join(paths.store, "somora.duckdb"),
    keyFile: paths.key,
    async listen() {
      const settings = await openSettings({ home, env: process.env, watch: false });
      const address = settings.listen();
      settings.close();
      return address;
    },
  },
  rehearsal: {
    startServer: (folder) => playedServer({ home: folder, serverFile, startMs: START_MS, homeId: homeIdOf(folder) }),
    checkScript: (text, file) => void readScript(text, file),
    async serveModel({ text, file, port }) {
      const server = await createRehearsalServer({ readScript: () => Promise.resolve({ text, file }), models: () => Promise.resolve([basename(file).replace(/\.ya?ml$/, "")]), clock: systemClock, port });
      return { url: server.baseUrl, close: () => server.close() };
    },
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

process.exitCode = await runCli(process.argv.slice(2), processIo(), dependencies);

async function readKey(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function findServer(folder: string): Promise<RunningServer | null> {
  const holder = await homeHolder(folder);
  if (!holder?.address) return null;
  const answer = await fetch(`${holder.address}/api/version`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  const body = answer?.ok ? ((await answer.json()) as { version?: string; startedAt?: number }) : {};
  return { url: holder.address, pid: holder.pid, version: body.version ?? "unknown", startedAt: body.startedAt ?? holder.since };
}

/** The server's own process, which goes on when this one ends. What it says goes to a file until it serves. */
async function startDetached(options: { port?: number; open: boolean }): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), "somora-start-"));
  const said = join(folder, "said");
  const { open } = await import("node:fs/promises");
  const file = await open(said, "w");
  const child = spawn(process.execPath, [serverFile, ...(options.port === undefined ? [] : ["--port", String(options.port)]), ...(options.open ? [] : ["--no-open"])], { detached: true, stdio: ["ignore", file.fd, file.fd], cwd: packageFolder });
  child.unref();
  try {
    let ended = false;
    child.once("exit", () => (ended = true));
    child.once("error", () => (ended = true));
    for (let waited = 0; waited < START_MS; waited += 50) {
      const text = await readFile(said, "utf8");
      if (/^ready /m.test(text)) {
        const running = await findServer(home);
        if (running) return running;
      }
      if (ended) throw new SomoraError("INTERNAL", text.trim() === "" ? "The server ended without a word." : text.trim(), { hint: `Look at ${paths.logs}/server.log.` });
      await dependencies.sleep(50);
    }
    throw new SomoraError("INTERNAL", `The server did not say that it serves within ${START_MS / 1000} s.`, { hint: `Look at ${paths.logs}/server.log.` });
  } finally {
    await file.close();
    await rm(folder, { recursive: true, force: true });
  }
}
