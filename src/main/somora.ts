/**
 * Wires one home together: lock, store, settings, tools, engines, runtime, server. `openSomora` resolves when it serves.
 * Everything a test or a bench may want to take the place of is an option; the start-up files pass none.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { openRuntime, type PrepareHistory, type Runtime, type RuntimeOptions } from "../actors/index.ts";
import { connectProvider, findModels, openSettings, type Settings } from "../config/index.ts";
import { createOpenAiCompatibleEngine } from "../engines/openai-compatible/index.ts";
import { createRehearsalEngine } from "../engines/rehearsal/index.ts";
import { fitContext, repairHistory } from "../engines/shared/index.ts";
import { acquireHomeLock, createToolHost, endLeftovers, homeIdOf, systemCalendar, systemClock, systemScheduler } from "../host/index.ts";
import type { Handles } from "../ports/handles.port.ts";
import type { Engine } from "../ports/engine.port.ts";
import type { Journal } from "../ports/journal.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { createApp, createHub, type Door, generationFile, listen } from "../server/index.ts";
import { createDuckdbJournal } from "../store/index.ts";
import { createToolRoom } from "../tools/index.ts";
import { createLog, type Log } from "./log.ts";
import { noteStart } from "./starts.ts";
import { packageFolder, version } from "./version.ts";

export interface SomoraOptions {
  home: string;
  env: Record<string, string | undefined>;
  host?: string;
  port?: number;
  /** Called when the server cannot go on (fenced, store dead): the process must end. */
  fatal(reason: string): void;
  build?: string;
  journal?: Journal;
  engines?: Record<string, Engine>;
  replace?: RuntimeOptions["replace"];
}

export interface Somora {
  url: string;
  settings: Settings;
  runtime: Runtime;
  handles: Handles;
  log: Log;
  /** What opening the store found missing or mended, in words: for whoever starts the server. */
  storeNotices: readonly string[];
  /** A fresh address that pairs a browser. */
  pairingAddress(): string;
  /** Drains: new commands get SERVER_STOPPING, running turns may end within `drainMs`, then everything is closed. */
  stop(): Promise<void>;
}

export async function openSomora(options: SomoraOptions): Promise<Somora> {
  const settings = await openSettings({
    home: options.home,
    env: options.env,
    shippedRehearsals: join(packageFolder, "rehearsals"),
    overrides: {
      ...(options.host === undefined ? {} : { host: options.host }),
      ...(options.port === undefined ? {} : { port: options.port }),
    },
  });
  const { paths } = settings;
  await Promise.all([paths.run, paths.logs, paths.audit].map((folder) => mkdir(folder, { recursive: true, mode: 0o700 })));
  const lock = await acquireHomeLock(paths.home, {
    ...(options.build === undefined ? {} : { build: options.build }),
    ...(options.env["XDG_RUNTIME_DIR"] === undefined ? {} : { runtimeFolder: options.env["XDG_RUNTIME_DIR"] }),
  });
  try {
    return await serve(options, settings, lock);
  } catch (error) {
    settings.close();
    await lock.release();
    throw error;
  }
}

async function serve(options: SomoraOptions, settings: Settings, lock: Awaited<ReturnType<typeof acquireHomeLock>>): Promise<Somora> {
  const { paths } = settings;
  const log = createLog(join(paths.logs, "server.log"), options.env["SOMORA_LOG_LEVEL"]);
  const starts = await noteStart(paths.run, systemClock.now());
  // What a dead run left running is ended before anything starts and before the doors open (P7).
  const left = await endLeftovers(homeIdOf(paths.home));
  for (const process of left.ended) log.write("warn", `ended a process of the last run: ${process.command} (pid ${process.pid})`);
  for (const process of left.lost) log.write("error", `a process of the last run does not die: ${process.command} (pid ${process.pid})`);

  const storeNotices: string[] = [];
  const journal =
    options.journal ??
    createDuckdbJournal({
      folder: paths.store,
      now: () => systemClock.now(),
      build: { version, stamp: options.build ?? null },
      onNews(level, line) {
        log.write(level, line);
        if (level !== "info") storeNotices.push(line);
      },
      onProblem: (error) => log.write("warn", `store: ${words(error)}`),
    });
  const host = createToolHost({ home: paths.home, clock: systemClock, environment: process.env });
  const tools = createToolRoom({
    settings,
    clock: systemClock,
    host,
    docsFolder: join(packageFolder, "docs"),
    log: (line, fields) => log.write("info", `${line} ${JSON.stringify(fields)}`),
  });
  const engines: Record<string, Engine> = {
    rehearsal: createRehearsalEngine({ readScript: (name) => readScriptFile(paths.rehearsals, name), clock: systemClock }),
    "openai-compatible": createOpenAiCompatibleEngine({ provider: (name) => settings.provider(name), clock: systemClock }),
    ...options.engines,
  };
  let draining = false;
  const runtime = await openRuntime({
    journal,
    clock: { ...systemClock, ...systemCalendar },
    scheduler: systemScheduler,
    settings,
    maker: settings,
    models: {
      addProvider: (request) => connectProvider(settings, fetch, request),
      find: () => findModels({ fetch, env: options.env }),
    },
    tools,
    engines,
    prepareHistory,
    projectRules,
    checkFolder,
    ensureFolder: async (path) => void (await mkdir(path, { recursive: true })),
    digest: (text) => createHash("sha256").update(text).digest("hex"),
    serverLine: () => {
      const { valid, errors } = settings.status();
      return { version, home: paths.home, draining, storeNotice: storeNotices.at(-1) ?? null, config: { valid, errors } };
    },
    held: starts.hold,
    fatal: (why, reason) => {
      log.write("error", `the runtime cannot go on (${why}): ${reason}`);
      options.fatal(reason);
    },
    log: (level, message) => log.write(level, message),
    ...(options.replace ? { replace: options.replace } : {}),
  });
  const offSettings = settings.onChange(({ config }) => {
    void runtime.agentsChanged().catch((error: unknown) => log.write("error", `agents could not be brought up to date: ${String(error)}`));
    if (config) runtime.watch.serverChanged();
    const { valid, errors } = settings.status();
    if (!valid) for (const error of errors) log.write("error", `config: ${error.message}`);
  });
  for (const error of settings.status().errors) log.write("error", `config: ${error.message}`);

  const handles: Handles = {
    chat: runtime.chat,
    team: runtime.team,
    actors: runtime.actors,
    models: runtime.models,
    tools: runtime.tools,
    usage: runtime.usage,
    watch: runtime.watch,
    config: { status: () => settings.status(), reload: () => settings.reload() },
    version: { version, epoch: runtime.kernel.epoch, startedAt: systemClock.now() },
  };
  const address = settings.listen();
  const app = createApp(handles, {
    key: settings.key,
    listenHost: address.host,
    homeId: homeIdOf(paths.home).slice(0, 8),
    ui: join(packageFolder, "dist", "ui"),
    generation: generationFile(join(paths.run, "cookie-generation")),
    log: (line, cause) => log.write("error", `${line}: ${words(cause)}`),
  });
  const hub = createHub(handles, { log: (line, cause) => log.write("error", `${line}: ${words(cause)}`) });
  let door: Door;
  try {
    door = await listen({
      app,
      hub,
      host: address.host,
      port: address.port,
      log: (line, cause) => log.write("warn", `${line}: ${words(cause)}`),
    });
  } catch (error) {
    runtime.close();
    await journal.close();
    throw error;
  }
  await lock.setAddress(door.url);
  const housekeeping = keepHouse(settings, journal, () => host.sweep(), log);
  log.write(
    "info",
    `serves ${paths.home} at ${door.url}, epoch ${runtime.kernel.epoch}${starts.hold ? ", turns held after three bad starts" : ""}`,
  );

  let stopping: Promise<void> | null = null;
  return {
    url: door.url,
    settings,
    runtime,
    handles,
    log,
    storeNotices,
    pairingAddress: () => `${door.url}/#pair=${app.pairing.newCode().code}`,
    stop() {
      stopping ??= (async () => {
        draining = true;
        runtime.watch.serverChanged();
        const idle = await runtime.drained(settings.server().drainMs);
        log.write("info", idle ? "stops: nothing runs" : "stops: what still runs goes on at the next start");
        housekeeping();
        offSettings();
        runtime.close();
        await door.close(1_000);
        await endLeftovers(homeIdOf(paths.home));
        await journal.close();
        settings.close();
        await starts.ended();
        await lock.release();
        await log.close();
      })();
      return stopping;
    },
  };
}

const HOUR_MS = 3_600_000;

/** Once an hour, in the quiet: prune the story, sweep effect folders and kept copies. Returns how to end it. */
function keepHouse(settings: Settings, journal: Journal, sweep: () => Promise<unknown>, log: Log): () => void {
  const timer = setInterval(() => {
    const before = systemClock.now() - settings.store().keepStoryDays * 24 * HOUR_MS;
    Promise.all([journal.prune(before), sweep()]).then(
      ([rows]) => log.write("info", `house kept: ${rows} superseded rows removed`),
      (error: unknown) => log.write("warn", `housekeeping failed: ${words(error)}`),
    );
  }, HOUR_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const prepareHistory: PrepareHistory = (messages, tools, model) => {
  const repaired = repairHistory(messages);
  const fitted = fitContext(repaired.messages, tools, model.contextWindow, model.maxTokens);
  if (fitted === "full") return "full";
  const notices = repaired.repairs.map(({ kind, text }) => ({ kind: "history_repaired", text: `${kind}: ${text}` }));
  if (fitted.shortened > 0)
    notices.push({
      kind: "context_trimmed",
      text: `${fitted.shortened} old tool results or calls were shortened so that the conversation fits ${model.ref}.`,
    });
  return { messages: fitted.messages, notices };
};

async function readScriptFile(folder: string, name: string): Promise<{ text: string; file: string } | null> {
  if (!/^[\w.-]+$/.test(name)) return null;
  const file = join(folder, `${name}.yaml`);
  try {
    return { text: await readFile(file, "utf8"), file };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** The rules a working folder brings along. */
async function projectRules(folder: string): Promise<{ file: string; text: string } | null> {
  for (const file of ["AGENTS.md", "CLAUDE.md"]) {
    try {
      return { file, text: (await readFile(join(folder, file), "utf8")).slice(0, 40_000) };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "EISDIR" && code !== "EACCES") throw error;
    }
  }
  return null;
}

async function checkFolder(path: string): Promise<void> {
  const found = isAbsolute(path) ? await stat(path).catch(() => null) : null;
  if (!found?.isDirectory())
    throw new SomoraError("FOLDER_INVALID", `"${path}" is no existing folder.`, { hint: "Give an absolute path to a folder that exists." });
}

function words(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
