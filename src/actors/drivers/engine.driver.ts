/**
 * engine: one model request. It gathers what the model gets, streams to watchers, stores what streams at block ends and at
 * least every second, and hands the round over. What streamed before a failure or an abort is in the outcome all the same.
 */
import type { AskedCall, RoundValue } from "../../machines/index.ts";
import type { Address } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { TOPIC } from "../../protocol/live-ops.ts";
import type { ModelInfo } from "../../protocol/model.ts";
import type { PayloadInput } from "../../protocol/payload.ts";
import { costOf, NO_USAGE } from "../../protocol/usage.ts";
import type { Clock } from "../../ports/clock.port.ts";
import type { Booking, Driver, DriverContext, Outcome } from "../../ports/driver.port.ts";
import {
  type ChatMessage,
  type Engine,
  EngineError,
  type EngineEvent,
  type RoundCall,
  type RoundResult,
  type ToolSpec,
} from "../../ports/engine.port.ts";
import type { AgentSettings, SettingsPort } from "../../ports/settings.port.ts";
import type { ToolRoom } from "../../ports/tools.port.ts";
import { chatMessages } from "../chat-messages.ts";
import type { Conversations } from "../conversations.ts";
import { systemPrompt } from "../system-prompt.ts";

const STORE_EVERY_MS = 1000;
/** A block that ended is stored this much later, unless the whole round is there by then: usually it is. */
const STORE_ENDED_MS = 100;

/** Repairs a history (P8) and makes it fit the window; `full`: it does not fit even so. */
export type PrepareHistory = (
  messages: ChatMessage[],
  tools: ToolSpec[],
  model: ModelInfo,
) => { messages: ChatMessage[]; notices: { kind: string; text: string }[] } | "full";

export interface EngineDriverParts {
  clock: Clock;
  settings: SettingsPort;
  tools: ToolRoom;
  engines: Readonly<Record<string, Engine>>;
  conversations: Conversations;
  prepareHistory: PrepareHistory;
  /** US dollars booked today, as far as known: of one agent, or of all. */
  spentToday(agent: string | null): number;
  /** AGENTS.md or CLAUDE.md of a folder, when there is one. */
  projectRules(folder: string): Promise<{ file: string; text: string } | null>;
}

export function engineDriver(parts: EngineDriverParts): Driver {
  return { name: "engine", perform: (request, context) => new Round(parts, request, context).run() };
}

interface Block {
  kind: "text" | "thinking";
  blockId: string;
  text: string;
  stored: number;
  open: boolean;
}

class Round {
  readonly #parts: EngineDriverParts;
  readonly #request: JsonObject;
  readonly #context: DriverContext;
  readonly #agent: string;
  readonly #topic: string;
  readonly #turnId: string;
  readonly #prefix: string;
  /** Of the turn: this effect may have been performed before, and so may earlier ones. */
  readonly #attempt: number;
  readonly #blocks: Block[] = [];
  readonly #notices: { kind: string; text: string }[] = [];
  #cancelStore: (() => void) | null = null;
  #storing: Promise<void> = Promise.resolve();
  #over = false;

  constructor(parts: EngineDriverParts, request: JsonObject, context: DriverContext) {
    this.#parts = parts;
    this.#request = request;
    this.#context = context;
    this.#agent = String(request["agent"]);
    this.#turnId = String(request["turnId"]);
    this.#topic = TOPIC.session(this.#agent, String(request["session"]));
    this.#attempt = (request["attempt"] as number) + context.attempt - 1;
    this.#prefix = `b${request["request"] as number}a${context.attempt}`;
  }

  async run(): Promise<Outcome> {
    const { settings, engines } = this.#parts;
    const ref = String(this.#request["model"]);
    const model = settings.resolveModel(ref);
    const agent = settings.agent(this.#agent);
    if (!model || !agent)
      return failed(
        "MODEL_UNKNOWN",
        `The model "${ref}" or the agent ${this.#agent} is not configured any more.`,
        "Choose another model for this session.",
      );
    const engine = engines[model.engine];
    if (!engine) return failed("MODEL_UNKNOWN", `No engine of kind "${model.engine}" is built in.`);
    const spent = this.#overBudget(agent);
    if (spent !== null) return failed("BUDGET_SPENT", spent, "Raise the limit in config.yaml or agent.yaml, or wait for the next day.");
    try {
      return await this.#ask(engine, model, agent);
    } finally {
      // The outcome holds it all and does not wait for what is still being stored.
      this.#over = true;
      this.#cancelStore?.();
    }
  }

  /** Asked before each request: a limit that is used up stops the next one. */
  #overBudget(agent: AgentSettings): string | null {
    const spentUsd = Number(this.#request["spentUsd"] ?? 0);
    for (const [whose, budget, scope] of [
      [`${agent.name}'s budget`, agent.budget, agent.name],
      ["the server's budget", this.#parts.settings.budget(), null],
    ] as const) {
      if (budget.perTurnUsd !== null && spentUsd >= budget.perTurnUsd)
        return `This turn cost $${spentUsd.toFixed(4)}; ${whose} allows $${budget.perTurnUsd} a turn.`;
      if (budget.perDayUsd === null) continue;
      const today = this.#parts.spentToday(scope);
      if (today >= budget.perDayUsd) return `Today cost $${today.toFixed(4)}; ${whose} allows $${budget.perDayUsd} a day.`;
    }
    return null;
  }

  async #ask(engine: Engine, model: ModelInfo, agent: AgentSettings): Promise<Outcome> {
    const offered = this.#parts.tools.offered(this.#agent);
    const tools = offered.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const [rows, system] = await Promise.all([
      this.#parts.conversations.rows(this.#request["sessionAddress"] as Address),
      this.#system(agent, tools.length > 0),
    ]);
    const prepared = this.#parts.prepareHistory([system, ...chatMessages(rows)], tools, model);
    if (prepared === "full")
      return failed(
        "CONTEXT_FULL",
        `The conversation does not fit ${model.ref} (${model.contextWindow ?? "?"} tokens), even with old tool results shortened.`,
        "Start a new session, or choose a model with a larger window.",
      );
    const told = new Set(rows.filter((row) => row.kind === "notice").map((row) => row.data.text));
    this.#notices.push(...prepared.notices.filter((notice) => !told.has(notice.text)));
    this.#scheduleStore(STORE_EVERY_MS);
    try {
      const result = await engine.round(
        {
          key: this.#context.key,
          model,
          messages: prepared.messages,
          tools,
          toolChoice: this.#request["forced"] === true ? "none" : "auto",
          agent: this.#agent,
          session: String(this.#request["session"]),
          thinking: agent.thinking,
          idleMs: this.#parts.settings.engineWatchdog().openaiCompatibleIdleMs,
        },
        { signal: this.#context.signal, emit: (event) => this.#emit(event) },
      );
      return {
        status: "done",
        ...this.#outcome(
          model,
          result,
          result.blocks.map((block) => ({ ...block, blockId: this.#id(block.blockId) })),
        ),
      };
    } catch (error) {
      return this.#failed(model, error);
    }
  }

  async #system(agent: AgentSettings, tools: boolean): Promise<ChatMessage> {
    const cwd = this.#request["cwd"];
    const folder = typeof cwd === "string" ? cwd : agent.workspace;
    const [persona, project] = await Promise.all([agent.persona(), typeof cwd === "string" ? this.#parts.projectRules(folder) : null]);
    return {
      role: "system",
      text: systemPrompt({
        agent: agent.name,
        session: String(this.#request["session"]),
        folder: agent.folder,
        cwd: folder,
        soul: persona.soul,
        rules: persona.agents,
        user: persona.user,
        project,
        tools,
      }),
    };
  }

  #id(blockId: string): string {
    return `${this.#prefix}.${blockId}`;
  }

  #emit(event: EngineEvent): void {
    const turn = { turnId: this.#turnId };
    if (event.type === "notice") {
      this.#notices.push({ kind: event.kind, text: event.text });
      return;
    }
    const blockId = this.#id(event.blockId);
    const kind = event.type.startsWith("text") ? "text" : "thinking";
    if (event.type.endsWith(".start")) {
      this.#blocks.push({ kind, blockId, text: "", stored: 0, open: true });
      this.#context.live(this.#topic, event.type, { ...turn, blockId, attempt: this.#attempt });
      return;
    }
    const block = this.#blocks.find((each) => each.blockId === blockId);
    if (!block) return;
    if (event.type === "text.delta" || event.type === "thinking.delta") {
      this.#context.live(this.#topic, event.type, { ...turn, blockId, offset: block.text.length, text: event.text });
      block.text += event.text;
      return;
    }
    block.open = false;
    this.#context.live(this.#topic, event.type, { ...turn, blockId });
    this.#scheduleStore(STORE_ENDED_MS);
  }

  #scheduleStore(ms: number): void {
    this.#cancelStore?.();
    this.#cancelStore = this.#parts.clock.setTimer(ms, () => {
      this.#store();
      this.#scheduleStore(STORE_EVERY_MS);
    });
  }

  /** What has grown since the last time; one after the other, so that the disk sets the pace. */
  #store(): void {
    if (this.#context.signal.aborted) return;
    this.#storing = this.#storing.then(async () => {
      for (const block of this.#blocks) {
        if (block.text.length === block.stored || this.#over || this.#context.signal.aborted) continue;
        block.stored = block.text.length;
        await this.#context.fact({
          type: "text.stored",
          data: { blockId: block.blockId, kind: block.kind },
          payloads: [{ kind: "answer", text: wellFormed(block.text) }],
        });
      }
    });
  }

  #outcome(
    model: ModelInfo,
    result: Pick<RoundResult, "calls" | "finish" | "usage" | "model"> | null,
    blocks: { kind: "text" | "thinking"; blockId: string; text: string }[],
  ): { value: Json; payloads: PayloadInput[]; booking?: Booking } {
    const payloads: PayloadInput[] = [];
    const add = (kind: string, text: string): number => payloads.push({ kind, text: wellFormed(text) }) - 1;
    const told = result?.usage ?? (model.rehearsal ? NO_USAGE : null);
    const usage = told ? { ...told, ...(model.contextWindow === null ? {} : { contextWindow: model.contextWindow }) } : null;
    // A rehearsal costs nothing, and that is known.
    const costUsd = model.rehearsal ? 0 : usage ? costOf(usage, model.price) : null;
    const value: RoundValue = {
      blocks: blocks.map((block) => ({
        kind: block.kind,
        blockId: block.blockId,
        payload: add(block.kind === "text" ? "answer" : "thinking", block.text),
        size: block.text.trim() === "" ? 0 : block.text.length,
      })),
      calls: distinct(result?.calls ?? []).map((call) => this.#asked(call, add)),
      finish: result?.finish ?? "cut",
      usage,
      costUsd,
      model: result?.model ?? model.id,
      notices: this.#notices,
    };
    // A request that reached the provider and told no usage cost something we do not know (P10).
    const reached = usage !== null || blocks.length > 0;
    return {
      value: value as unknown as Json,
      payloads,
      ...(reached
        ? {
            booking: {
              usage: usage ?? NO_USAGE,
              costUsd,
              model: model.ref,
              provider: model.provider,
              ...(usage ? {} : { note: "usage unknown" }),
            },
          }
        : {}),
    };
  }

  #asked(call: RoundCall, add: (kind: string, text: string) => number): AskedCall {
    return {
      id: call.id,
      tool: call.name,
      about: aboutOf(call.input),
      payload: add("json", JSON.stringify(call.broken ? { _raw: call.broken.raw } : call.input)),
      preview: null,
      broken: call.broken ? { kind: call.broken.kind, error: call.broken.error } : null,
      repeatable: this.#parts.tools.isRepeatable(call.name),
      limitMs: this.#parts.tools.limitOf(call.name, call.input),
    };
  }

  #failed(model: ModelInfo, error: unknown): Outcome {
    const partial = error instanceof EngineError ? error.partial : undefined;
    const outcome = this.#outcome(model, partial ? { ...partial, calls: [], finish: "cut" } : null, this.#blocks);
    if (this.#context.signal.aborted) return { status: "aborted", ...outcome };
    if (!(error instanceof EngineError)) throw error;
    const details: JsonObject = {
      retryable: error.retryable,
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    };
    return {
      status: "failed",
      error: { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }), details },
      ...outcome,
    };
  }
}

function failed(code: string, message: string, hint?: string): Outcome {
  return { status: "failed", error: { code, message, ...(hint === undefined ? {} : { hint }) } };
}

/** The same call twice in one round is one call. */
function distinct(calls: readonly RoundCall[]): RoundCall[] {
  const seen = new Set<string>();
  return calls.filter((call) => {
    const print = `${call.name}\n${call.broken ? call.broken.raw : JSON.stringify(call.input)}`;
    return seen.has(print) ? false : seen.add(print) !== undefined;
  });
}

const TELLING = ["path", "command", "query", "pattern", "url", "name", "page", "timezone"];

/** What a call is about, in one short line for the card's bar. */
function aboutOf(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const key = TELLING.find((each) => typeof input[each] === "string");
  const value = key === undefined ? Object.values(input).find((each) => typeof each === "string") : input[key];
  return typeof value === "string" ? value.replace(/\s+/g, " ").slice(0, 120) : "";
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}
