/**
 * The whole runtime in process: memory journal, virtual time, a model and a tool room that are plain functions of what they are
 * asked. What they did is counted in `outside`, which outlives every kernel, like a model server and a disk would.
 */
import { openRuntime, type Runtime, type RuntimeOptions } from "../../src/actors/index.ts";
import { createMemoryJournal, type MemoryJournal, type MemoryJournalOptions } from "../../src/store/index.ts";
import type { Batch, Journal } from "../../src/ports/journal.port.ts";
import type { Driver } from "../../src/ports/driver.port.ts";
import {
  type ChatMessage,
  type Engine,
  EngineError,
  type EngineContext,
  type RoundRequest,
  type RoundResult,
} from "../../src/ports/engine.port.ts";
import type { AgentSettings, SettingsPort } from "../../src/ports/settings.port.ts";
import type { ToolCallResult, ToolListing, ToolRoom } from "../../src/ports/tools.port.ts";
import type { HistoryRow } from "../../src/protocol/history.ts";
import type { Json } from "../../src/protocol/json.ts";
import type { ModelInfo } from "../../src/protocol/model.ts";
import { StayingDriver } from "./staying-driver.ts";
import { VirtualTime } from "./virtual-time.ts";

/** What a scripted model does in one round. */
export interface Round {
  say?: string;
  /** `[tool, input]`, in the order they are asked for. */
  calls?: [string, Json][];
  fail?: { code: string; retryable?: boolean; retryAfterMs?: number };
  /** After `say` was streamed, nothing comes until the request is aborted or `outside.open` holds this name. */
  hang?: string;
  cut?: boolean;
}

/** A model: from what a person said last and how many rounds were answered since, to the next round. */
export type Model = (said: string, round: number, messages: readonly ChatMessage[], now: number) => Round;

/** What is not the server's: it sees everything and forgets nothing. */
export class Outside {
  readonly asked: { said: string; round: number; messages: readonly ChatMessage[] }[] = [];
  readonly ran: string[] = [];
  readonly results = new Map<string, ToolCallResult>();
  readonly open = new Set<string>();
  /** Streams and tools that hang now. */
  readonly waiting = new Map<string, Set<() => void>>();

  /** Lets everything that hangs under this name go on, now and later. */
  release(name: string): void {
    this.open.add(name);
    for (const go of this.waiting.get(name) ?? []) go();
    this.waiting.delete(name);
  }

  isWaiting(name: string): boolean {
    return (this.waiting.get(name)?.size ?? 0) > 0;
  }

  /** True: released; false: aborted. */
  wait(name: string, signal: AbortSignal): Promise<boolean> {
    if (this.open.has(name)) return Promise.resolve(true);
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiting = this.waiting.get(name) ?? new Set();
      this.waiting.set(name, waiting);
      const go = (): void => resolve(true);
      waiting.add(go);
      signal.addEventListener(
        "abort",
        () => {
          waiting.delete(go);
          resolve(false);
        },
        { once: true },
      );
    });
  }
}

/** Kills a runtime at a commit: that is on disk, but its writer never hears so. */
export class Killer {
  commits = 0;
  died = false;
  readonly at: number;

  constructor(at: number) {
    this.at = at;
  }

  over(journal: MemoryJournal): Journal {
    return new Proxy(journal, {
      get: (target, name) => {
        if (name !== "append") {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? (value as () => unknown).bind(target) : value;
        }
        return async (batch: Batch): Promise<"done" | "fenced"> => {
          const answer = await target.append(batch);
          this.commits += 1;
          if (this.commits !== this.at) return answer;
          this.died = true;
          return new Promise(() => {});
        };
      },
    });
  }
}

/** The runtime died while it opened; what is on its disk. */
export class DiedOpening extends Error {
  readonly journal: MemoryJournal;

  constructor(journal: MemoryJournal) {
    super("died while it opened");
    this.journal = journal;
  }
}

export interface RuntimeWorldOptions {
  killer?: Killer;
  /** Time passes while it opens, for journals that are tried again. */
  moving?: boolean;
  model?: Model;
  outside?: Outside;
  time?: VirtualTime;
  journal?: MemoryJournalOptions;
  agents?: string[];
  parallel?: boolean;
  loop?: Partial<AgentSettings["loop"]>;
  budget?: Partial<AgentSettings["budget"]>;
  resumeAfterRestart?: "all" | "off";
  replace?: RuntimeOptions["replace"];
  /** Drivers that outlive the kernel, by name. */
  staying?: Map<string, StayingDriver>;
}

export interface RuntimeWorld {
  runtime: Runtime;
  journal: MemoryJournal;
  time: VirtualTime;
  outside: Outside;
  agents: Set<string>;
  options: RuntimeWorldOptions;
  stalls: (string | null)[];
  fatal: string[];
  logged: string[];
  /** Frames watchers of sessions were told, in order. */
  frames: { agent: string; session: string; type: string; data: unknown }[];
  send(
    text: string,
    more?: { agent?: string; session?: string; clientKey?: string; steer?: boolean },
  ): Promise<{ turnId?: string; steerId?: string }>;
  history(agent?: string, session?: string): Promise<HistoryRow[]>;
  /** Settles until the condition holds; lets time pass when nothing else moves. Throws after two virtual minutes. */
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
  idle(agent?: string, session?: string): Promise<void>;
}

const MODEL: ModelInfo = {
  ref: "scripted/m",
  alias: null,
  provider: "scripted",
  id: "m",
  engine: "rehearsal",
  rehearsal: false,
  contextWindow: 100_000,
  maxTokens: null,
  capabilities: ["text"],
  parallelToolCalls: true,
  price: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
  baseUrl: null,
};

export function scriptedEngine(model: Model, outside: Outside, now: () => number): Engine {
  return {
    kind: "rehearsal",
    async round(request: RoundRequest, { signal, emit }: EngineContext): Promise<RoundResult> {
      const { said, round } = standing(request.messages);
      outside.asked.push({ said, round, messages: request.messages });
      const plan = model(said, round, request.messages, now());
      const blocks: RoundResult["blocks"] = [];
      if (plan.say !== undefined) {
        emit({ type: "text.start", blockId: "t1" });
        emit({ type: "text.delta", blockId: "t1", text: plan.say });
        blocks.push({ kind: "text", blockId: "t1", text: plan.say });
      }
      const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
      const partial: RoundResult = { blocks, calls: [], finish: "cut", model: "m", usage };
      if (plan.hang !== undefined && !(await outside.wait(plan.hang, signal))) throw new EngineError("ABORTED", "aborted", { partial });
      if (plan.fail)
        throw new EngineError(plan.fail.code, `The model server answered ${plan.fail.code}.`, {
          retryable: plan.fail.retryable ?? false,
          ...(plan.fail.retryAfterMs === undefined ? {} : { retryAfterMs: plan.fail.retryAfterMs }),
          ...(blocks.length > 0 ? { partial } : {}),
        });
      if (plan.say !== undefined) emit({ type: "text.end", blockId: "t1" });
      if (plan.cut) return partial;
      const calls = (plan.calls ?? []).map(([name, input], index) => {
        const broken = name === "broken" ? { broken: { kind: "malformed" as const, error: "Expected a value", raw: '{"a":' } } : {};
        return { id: `c${index}`, name, input, ...broken };
      });
      return { blocks, calls: request.toolChoice === "none" ? [] : calls, finish: calls.length > 0 ? "tools" : "stop", model: "m", usage };
    },
  };
}

/** What the person said last, and the model rounds since. */
export function standing(messages: readonly ChatMessage[]): { said: string; round: number } {
  const start = messages.findLastIndex((message) => message.role === "user" && !message.text.startsWith("[somora]"));
  const said = messages[start]?.role === "user" ? (messages[start] as { text: string }).text : "";
  return { said, round: messages.slice(start + 1).filter((message) => message.role === "assistant").length };
}

/** `echo` gives its input back; `act` counts and must never run twice; `gate:<name>` waits for `outside.release(name)`. */
function scriptedRoom(outside: Outside): ToolRoom {
  const listing = (name: string): ToolListing => ({ name, toolset: "test", description: name, inputSchema: {}, maxResultSizeChars: 1000 });
  const result = (data: Json): ToolCallResult => ({ output: { ok: true, data }, summary: "ok", ms: 1, filesWritten: [], changes: [] });
  return {
    all: () => ["echo", "act", "gate", "crash"].map(listing),
    offered: () => ["echo", "act", "gate", "crash"].map(listing),
    isRepeatable: (tool) => tool !== "act",
    limitOf: () => 30_000,
    async run(request, { signal }) {
      outside.ran.push(`${request.tool} ${JSON.stringify(request.input)}`);
      if (request.tool === "crash") throw new Error("the tool room itself failed");
      if (request.tool === "gate" && !(await outside.wait(String((request.input as { name: string }).name), signal))) {
        return {
          output: { ok: false, error: { code: "TOOL_CANCELLED", message: "stopped" } },
          summary: "stopped",
          ms: 1,
          filesWritten: [],
          changes: [],
          aborted: true,
        };
      }
      const done = result(request.input);
      outside.results.set(request.effectKey, done);
      return done;
    },
    async recover(request) {
      const known = outside.results.get(request.effectKey);
      if (known) return { kind: "done", result: known };
      return request.tool === "gate" ? { kind: "unknown", known: {} } : { kind: "not-started" };
    },
    undo: () => Promise.reject(new Error("not here")),
  };
}

export const plain: Model = (said) => ({ say: `answer to ${said}` });

export async function openRuntimeWorld(options: RuntimeWorldOptions = {}): Promise<RuntimeWorld> {
  const time = options.time ?? new VirtualTime();
  const outside = options.outside ?? new Outside();
  const agents = new Set(options.agents ?? ["ada"]);
  const journal = createMemoryJournal(options.journal ?? {});
  const stalls: (string | null)[] = [];
  const fatal: string[] = [];
  const logged: string[] = [];
  const settings = settingsOf(agents, options);
  const opening = openRuntime({
    journal: options.killer ? options.killer.over(journal) : journal,
    clock: time,
    scheduler: time,
    settings,
    maker: { createAgent: async ({ name }) => void agents.add(name) },
    models: {
      addProvider: () => Promise.resolve(),
      setAgentModel: () => Promise.resolve(),
      listModels: () => Promise.resolve([]),
      find: () => Promise.resolve([]),
    } as never,
    tools: scriptedRoom(outside),
    engines: { rehearsal: scriptedEngine(options.model ?? plain, outside, () => time.now()) },
    prepareHistory: (messages) => ({ messages, notices: [] }),
    projectRules: () => Promise.resolve(null),
    checkFolder: () => Promise.resolve(),
    ensureFolder: () => Promise.resolve(),
    digest: (text) => text,
    serverLine: () => ({ version: "test", home: "/home", draining: false, config: { valid: true, errors: [] } }),
    fatal: (why, reason) => fatal.push(`${why}: ${reason}`),
    log: (level, message) => logged.push(`${level}: ${message}`),
    ...(options.replace || options.staying
      ? {
          replace: {
            ...options.replace,
            ...(options.staying ? { wrap: (driver: Driver) => stay(options.staying as Map<string, StayingDriver>, driver) } : {}),
          },
        }
      : {}),
  });
  let failed: unknown = null;
  opening.catch((error: unknown) => {
    failed = error;
  });
  await (options.moving ? time.advance(1000) : time.settle());
  if (failed !== null) throw failed as Error;
  if (options.killer?.died) throw new DiedOpening(journal);
  const runtime = await opening;
  const frames: RuntimeWorld["frames"] = [];
  runtime.watch.onSession((agent, session, type, data) => frames.push({ agent, session, type, data }));
  const world: RuntimeWorld = {
    runtime,
    journal,
    time,
    outside,
    agents,
    options,
    stalls,
    fatal,
    logged,
    frames,
    async send(text, { agent = "ada", session = "main", ...more } = {}) {
      const answer = runtime.chat.send({ agent, session, text, ...more });
      answer.catch(() => {});
      await time.settle();
      return answer as Promise<{ turnId?: string; steerId?: string }>;
    },
    async history(agent = "ada", session = "main") {
      const page = runtime.chat.history({ agent, session, limit: 10_000 });
      await time.settle();
      return (await page).rows;
    },
    until: (what, holds) => until(time, what, holds),
    idle: (agent = "ada", session = "main") =>
      until(time, `${agent}/${session} idle`, () => {
        const context = runtime.kernel.context(`/agents/${agent}/sessions/${session}` as never) as {
          running: string | null;
          queue: { size: number };
          held: boolean;
        } | null;
        return context !== null && context.running === null && (context.queue.size === 0 || context.held);
      }),
  };
  return world;
}

export async function until(time: VirtualTime, what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited <= 120_000; waited += 250) {
    await time.settle();
    if (await holds()) return;
    await time.advance(250);
  }
  throw new Error(`never came about: ${what}`);
}

/** What a kill leaves: the rows. Opens a new runtime on them. */
export async function reopenRuntime(world: RuntimeWorld, more: Partial<RuntimeWorldOptions> = {}): Promise<RuntimeWorld> {
  world.runtime.close();
  return openRuntimeWorld({
    ...world.options,
    agents: [...world.agents],
    time: world.time,
    outside: world.outside,
    ...more,
    journal: { ...more.journal, from: [...world.journal.rows] },
  });
}

function stay(kept: Map<string, StayingDriver>, driver: Driver): Driver {
  const known = kept.get(driver.name) ?? new StayingDriver(driver);
  kept.set(driver.name, known);
  known.over(driver);
  return known;
}

function settingsOf(agents: Set<string>, options: RuntimeWorldOptions): SettingsPort {
  const model = { ...MODEL, parallelToolCalls: options.parallel ?? true };
  const agent = (name: string): AgentSettings | null =>
    agents.has(name)
      ? {
          name,
          folder: `/home/agents/${name}`,
          kind: "chat",
          description: "",
          icon: null,
          color: null,
          role: null,
          model: model.ref,
          thinking: null,
          tools: { deny: [], allow: [] },
          loop: {
            maxRounds: 40,
            maxToolCallsPerTurn: 120,
            toolCallTimeoutMs: 30_000,
            longTaskDefaultTimeoutMs: 300_000,
            longTaskMaxTimeoutMs: 1_800_000,
            ...options.loop,
          },
          budget: { perTurnUsd: null, perDayUsd: null },
          workspace: "/work",
          problem: null,
          persona: () => Promise.resolve({ soul: null, agents: "", user: null }),
        }
      : null;
  return {
    agents: () => [...agents].sort(),
    agent,
    models: () => [model],
    provider: () => null,
    resolveModel: (ref) => (ref === model.ref ? model : null),
    server: () => ({ drainMs: 10_000, resumeAfterRestart: options.resumeAfterRestart ?? "all" }),
    budget: () => ({ perTurnUsd: null, perDayUsd: null, ...options.budget }),
    slots: () => ({ perAgent: 4, total: 16 }),
    engineWatchdog: () => ({ openaiCompatibleIdleMs: 60_000 }),
    store: () => ({ keepStoryDays: 7 }),
    onChange: () => () => {},
  };
}
