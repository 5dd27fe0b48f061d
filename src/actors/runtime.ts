/**
 * The runtime of one home: kernel, charts, drivers, projections and the handles over them. `openRuntime` resolves when doors
 * may open; what interrupted work there was goes on from then.
 */
import { agentAddress, placeOf } from "../protocol/ids.ts";
import type { ServerLine } from "../protocol/frames.ts";
import type { Calendar, Clock, Scheduler } from "../ports/clock.port.ts";
import type { Driver } from "../ports/driver.port.ts";
import type { Engine } from "../ports/engine.port.ts";
import type { ActorsHandle, ChatHandle, ModelsHandle, TeamHandle, ToolsHandle, UsageHandle } from "../ports/handles.port.ts";
import type { Journal } from "../ports/journal.port.ts";
import type { SettingsPort } from "../ports/settings.port.ts";
import type { ToolRoom } from "../ports/tools.port.ts";
import { Conversations } from "./conversations.ts";
import { FOLDER_GONE } from "./folder-gone.ts";
import { engineDriver, type PrepareHistory } from "./drivers/engine.driver.ts";
import { eraseDriver } from "./drivers/erase.driver.ts";
import { prepareDriver } from "./drivers/prepare.driver.ts";
import { toolDriver } from "./drivers/tool.driver.ts";
import { actorsHandle } from "./handles/actors.handle.ts";
import { chatHandle } from "./handles/chat.handle.ts";
import { type ModelOutside, modelsHandle } from "./handles/models.handle.ts";
import { type AgentMaker, startAgent, teamHandle } from "./handles/team.handle.ts";
import { toolsHandle } from "./handles/tools.handle.ts";
import { usageHandle } from "./handles/usage.handle.ts";
import { Watching } from "./handles/watch.handle.ts";
import type { ChartDefinition } from "./kernel/chart.ts";
import type { CommitNews } from "./kernel/core.ts";
import { Kernel } from "./kernel/kernel.ts";
import { PayloadTexts } from "./payload-texts.ts";
import { restoredRefs } from "./restored-refs.ts";
import type { RuntimeParts } from "./runtime-parts.ts";
import { SessionViews } from "./session-views.ts";
import { fitSlots } from "./slots.ts";
import { SpentToday } from "./spent-today.ts";
import { charts, root, specs } from "./tree.ts";
import { TurnIndex } from "./turn-index.ts";

export interface RuntimeOptions {
  journal: Journal;
  clock: Clock & Calendar;
  scheduler: Scheduler;
  settings: SettingsPort;
  maker: AgentMaker;
  models: Omit<ModelOutside, "engines">;
  tools: ToolRoom;
  engines: Readonly<Record<string, Engine>>;
  prepareHistory: PrepareHistory;
  projectRules(folder: string): Promise<{ file: string; text: string } | null>;
  checkFolder(path: string): Promise<void>;
  ensureFolder(path: string): Promise<void>;
  digest(text: string): string;
  /** The truth line's part that is not the runtime's. */
  serverLine(): Omit<ServerLine, "store" | "held" | "todayUsd" | "todayUnknown">;
  held?: boolean;
  fatal(why: "fenced" | "store", reason: string): void;
  log(level: "info" | "warn" | "error", message: string): void;
  /** For tests: charts and drivers that take the place of those of the same name; `wrap` stands between kernel and each driver. */
  replace?: { charts?: ChartDefinition[]; drivers?: Driver[]; wrap?: (driver: Driver) => Driver };
}

export interface Runtime {
  kernel: Kernel;
  chat: ChatHandle;
  models: ModelsHandle;
  team: TeamHandle;
  actors: ActorsHandle;
  tools: ToolsHandle;
  usage: UsageHandle;
  watch: Watching;
  /** Folders as they are now: starts agents, parks those whose folder went, brings them back. */
  agentsChanged(): Promise<void>;
  /** Resolves when no turn runs or the time is over. */
  drained(ms: number): Promise<boolean>;
  close(): void;
}

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { journal, clock, settings, tools } = options;
  const texts = new PayloadTexts(journal.reader);
  const conversations = new Conversations(journal.reader, texts);
  const views = new SessionViews(conversations, texts, () => clock.now());
  const index = new TurnIndex();
  let stall: { reason: string | null; since: number } = { reason: null, since: clock.now() };
  const early: CommitNews[] = [];
  let take: (news: CommitNews) => void = (news) => early.push(news);
  const spent = new SpentToday(clock);

  const drivers: Driver[] = [
    prepareDriver(settings, options.ensureFolder),
    engineDriver({
      clock,
      settings,
      tools,
      engines: options.engines,
      conversations,
      prepareHistory: options.prepareHistory,
      spentToday: (agent) => spent.of(agent),
      projectRules: options.projectRules,
    }),
    toolDriver(tools, texts),
    eraseDriver(journal, (session) => {
      conversations.forget(session);
      index.forget(session);
    }),
  ];
  const kernel = await Kernel.open({
    journal,
    clock,
    scheduler: options.scheduler,
    charts: replaced(charts, options.replace?.charts),
    drivers: replaced(drivers, options.replace?.drivers).map(options.replace?.wrap ?? ((driver) => driver)),
    specs,
    root,
    held: options.held ?? false,
    observer: {
      committed: (news) => take(news),
      stalled: (reason) => {
        stall = { reason, since: clock.now() };
        options.log(
          reason === null ? "info" : "error",
          reason === null ? "the disk takes commits again" : `the disk does not take commits: ${reason}`,
        );
        watching?.serverChanged();
      },
      fatal: options.fatal,
    },
    live: (topic, type, data) => views.live(topic, type, data),
  });

  const parts: RuntimeParts = {
    kernel,
    journal,
    clock,
    settings,
    tools,
    conversations,
    texts,
    views,
    index,
    digest: options.digest,
    checkFolder: options.checkFolder,
    sessionsOf: (agent) => sessionsOf(kernel, agent),
    within: (ms, promise) => within(clock, ms, promise),
  };
  const serverLine = (): ServerLine => ({
    ...options.serverLine(),
    store: { state: stall.reason === null ? "ok" : "stalled", since: stall.since, reason: stall.reason },
    held: kernel.held,
    todayUsd: spent.unknown && spent.of(null) === 0 ? null : spent.of(null),
    todayUnknown: spent.unknown,
  });
  const watching: Watching = new Watching(parts, serverLine);
  await texts.read(restoredRefs(kernel));
  await spent.load(journal.reader);
  index.start(kernel);
  views.start(kernel);
  for (const address of kernel.addresses()) {
    const seq = kernel.historyNumber(address);
    if (seq > 0) conversations.noteNewest(address, seq);
  }
  take = (news) => {
    texts.keep(news.payloads);
    index.take(news);
    views.take(kernel, news);
    watching.committed(news);
    if (news.booked.length > 0) {
      for (const booked of news.booked) spent.add(booked);
      watching.serverChanged();
    }
  };
  for (const news of early.splice(0)) take(news);

  async function agentsChanged(): Promise<void> {
    const present = new Set(settings.agents());
    for (const name of present) {
      const address = agentAddress(name);
      if (!kernel.has(address)) await begin(name);
      else if (kernel.parkedReason(address) === FOLDER_GONE) kernel.resume(address);
    }
    for (const address of [...kernel.addresses(agentAddress("").slice(0, -1) as never)]) {
      if (kernel.committed(address)?.kind === "agent" && !present.has(placeOf(address).agent ?? "")) kernel.park(address, FOLDER_GONE);
    }
    await fitSlots(kernel, settings, present).catch((error: unknown) =>
      options.log("error", `slots could not be brought up to date: ${error instanceof Error ? error.message : String(error)}`),
    );
    watching.agentsChanged(new Set([...present, ...kernelAgents(kernel)]));
  }

  /** One agent that cannot begin keeps no other from it, and the server from nothing. */
  async function begin(name: string): Promise<void> {
    const start = (): Promise<void> => startAgent(kernel, name);
    await start()
      .catch(start)
      .catch((error: unknown) =>
        options.log("error", `agent ${name} could not be started: ${error instanceof Error ? error.message : String(error)}`),
      );
  }

  await kernel.idle();
  await agentsChanged();
  return {
    kernel,
    chat: chatHandle(parts),
    models: modelsHandle(parts, { ...options.models, engines: options.engines }),
    team: teamHandle(parts, options.maker),
    actors: actorsHandle(parts),
    tools: toolsHandle(parts),
    usage: usageHandle(parts),
    watch: watching,
    agentsChanged,
    drained: (ms) => drained(kernel, clock, watching, ms),
    close: () => kernel.close(),
  };
}

function replaced<Item extends { name: string }>(own: readonly Item[], others: readonly Item[] = []): Item[] {
  const by = new Map(own.map((item) => [item.name, item]));
  for (const other of others) by.set(other.name, other);
  return [...by.values()];
}

function sessionsOf(kernel: Kernel, agent: string): string[] {
  const prefix = `${agentAddress(agent)}/sessions/`;
  const slugs: string[] = [];
  for (const address of kernel.addresses(agentAddress(agent))) {
    const rest = address.startsWith(prefix) ? address.slice(prefix.length) : "";
    if (rest !== "" && !rest.includes("/") && kernel.committed(address)) slugs.push(rest);
  }
  return slugs.sort((a, b) => (a === "main" ? -1 : b === "main" ? 1 : a < b ? -1 : 1));
}

function kernelAgents(kernel: Kernel): string[] {
  const names: string[] = [];
  for (const address of kernel.addresses()) if (kernel.committed(address)?.kind === "agent") names.push(placeOf(address).agent ?? "");
  return names;
}

function within<Value>(clock: Clock, ms: number, promise: Promise<Value>): Promise<Value | null> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => resolve(null));
    promise.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error as Error);
      },
    );
  });
}

async function drained(kernel: Kernel, clock: Clock, watching: Watching, ms: number): Promise<boolean> {
  const busy = (): boolean => {
    for (const address of kernel.addresses())
      if (kernel.committed(address)?.kind === "turn" && kernel.committed(address)?.state !== "waiting") return true;
    return false;
  };
  if (!busy()) return true;
  // Held turns do not come to an end by themselves.
  if (kernel.held) return false;
  return new Promise((resolve) => {
    const finish = (idle: boolean): void => {
      stop();
      cancel();
      resolve(idle);
    };
    const stop = watching.onTree(() => {
      if (!busy()) finish(true);
    });
    const cancel = clock.setTimer(ms, () => finish(false));
  });
}
