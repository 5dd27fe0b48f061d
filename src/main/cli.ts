/** The `somora` command: wires the command line to this machine. */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CliDependencies, processIo, type RunningServer, runCli, startDetached } from "../cli/index.ts";
import { checkConfigFile, homePaths, openSettings, showConfig } from "../config/index.ts";
import { createRehearsalServer, readScript } from "../engines/rehearsal/index.ts";
import { homeHolder, homeIdOf, openBrowser, systemClock } from "../host/index.ts";
import { SomoraError } from "../protocol/errors.ts";
import { readStanding } from "../store/index.ts";
import { buildName } from "./build-name.ts";
import { homeFrom } from "./environment.ts";
import { playedServer } from "./played-server.ts";
import { serve } from "./serve.ts";
import { version } from "./version.ts";

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
    return serve({
      home,
      env: process.env,
      open: options.open,
      ...(options.port === undefined ? {} : { port: options.port }),
      ...(build === null ? {} : { build }),
    });
  },
  startDetached: ({ port, open }) =>
    startDetached({
      program: process.execPath,
      args: [serverFile, ...(port === undefined ? [] : ["--port", String(port)]), ...(open ? [] : ["--no-open"])],
      env: process.env,
      logFile: join(paths.logs, "server.log"),
      findServer: () => findServer(home),
    }),
  signal(pid, signal) {
    try {
      return process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      throw error;
    }
  },
  openBrowser: (url) =>
    openBrowser(url, { platform: process.platform, env: process.env, terminal: process.stdout.isTTY === true, wanted: true }),
  config: {
    path: paths.config,
    async check(file) {
      const checked = await checkConfigFile(paths, process.env, file);
      return checked.ok ? [] : checked.problems.map(({ line, key, message }) => ({ file, line, key, message }));
    },
    async show() {
      const checked = await checkConfigFile(paths, process.env);
      if (checked.ok) return showConfig(checked.value);
      throw new SomoraError("CONFIG_INVALID", checked.problems.map((problem) => problem.message).join("\n"));
    },
  },
  doctor: {
    nodeVersion: process.versions.node,
    home,
    storeFile: join(paths.store, "somora.duckdb"),
    keyFile: paths.key,
    storeStanding: () => readStanding(paths.store),
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
      const server = await createRehearsalServer({
        readScript: () => Promise.resolve({ text, file }),
        models: () => Promise.resolve([basename(file).replace(/\.ya?ml$/, "")]),
        clock: systemClock,
        port,
      });
      return { url: server.baseUrl, close: () => server.close() };
    },
  },
  simulation: () => import("../simulation/index.ts"),
  now: () => performance.now(),
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
