/**
 * What the server calls: one handle per family. A route parses, calls one of these, shapes the answer. Every method
 * rejects with SomoraError for what is refused; anything else is a fault of ours (INTERNAL).
 */
import type { ActorView, StoryStep } from "../protocol/actor-view.ts";
import type { PoolView, WaitView } from "../protocol/waits.ts";
import type { AgentLine, ServerLine } from "../protocol/frames.ts";
import type { HistoryRow } from "../protocol/history.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ModelInfo } from "../protocol/model.ts";
import type { SessionView } from "../protocol/session-view.ts";
import type { QueueEntry, TurnResult } from "../protocol/turn.ts";
import type { ActivityBucket, LedgerSum } from "./journal.port.ts";
import type { ToolListing } from "./tools.port.ts";

export interface SendRequest {
  agent: string;
  session?: string;
  /** Absent with `retryOf`. */
  text?: string;
  cwd?: string;
  attachments?: Json[];
  steer?: boolean;
  clientKey?: string;
  retryOf?: string;
}
/** `steered`: true with `steerId`; asked for but no turn ran: `steered: false` with turnId and position. */
export type SendAnswer = { turnId: string; position: number; steered?: false } | { steerId: string; steered: true };

export type AbortAnswer =
  | { aborted: true; turnId: string; children: string[] }
  | { aborted: false; stuck?: { pid: number; command: string }[]; stalled?: true };

export interface ChatHandle {
  send(request: SendRequest): Promise<SendAnswer>;
  /** Resolves when the turn is over, or with `state: "pending"` after `timeoutMs`. */
  sendSync(request: SendRequest & { timeoutMs?: number }): Promise<TurnResult>;
  turn(turnId: string, waitMs: number): Promise<TurnResult>;
  /** Acts at once also while the disk stands still. Past its limit: `stuck` or `stalled` (HTTP 202). */
  abort(request: { agent: string; session: string; turnId?: string; children?: boolean }): Promise<AbortAnswer>;
  takeBack(turnId: string): Promise<{ removed: true; text: string; attachments: Json[] }>;
  steerQueued(turnId: string): Promise<SendAnswer>;
  history(query: {
    agent: string;
    session: string;
    before?: number;
    limit: number;
  }): Promise<{ rows: HistoryRow[]; hasMore: boolean; oldestSeq: number | null; newestSeq: number | null }>;
  /** One whole row, outputs not shortened. */
  row(agent: string, session: string, seq: number): Promise<HistoryRow>;
  work(
    agent: string,
    session: string,
  ): Promise<{ active: JsonObject | null; queued: QueueEntry[]; pendingWakes: Json[]; children: Json[] }>;
}

export interface TeamHandle {
  agents(): AgentLine[];
  createAgent(request: { name: string; model?: string; kind?: "chat" | "builder"; description?: string }): Promise<AgentLine>;
  sessions(agent: string): AgentLine["sessions"];
  createSession(agent: string, request: { slug: string; cwd?: string }): Promise<AgentLine["sessions"][number]>;
  /** Title; null takes it away. */
  patchSession(agent: string, session: string, change: { title?: string | null }): Promise<void>;
  deleteSession(agent: string, session: string): Promise<void>;
  hold(agent: string, session: string): Promise<void>;
  release(agent: string, session: string): Promise<void>;
  /** The model in force, where it comes from, and the override. */
  model(agent: string, session: string): Promise<{ ref: string | null; from: "session" | "agent" | "none"; info: ModelInfo | null }>;
  setModel(agent: string, session: string, ref: string | null): Promise<void>;
}

export interface StopAnswer {
  stopped: boolean;
  /** Actors that went down. */
  actors: number;
  cancelledQueued: number;
  processes: number;
  ms: number;
  stuck?: { pid: number; command: string }[];
  stalled?: true;
}

export interface ActorsHandle {
  list(under?: string): ActorView[];
  /** The tree as it was, as far back as `store.keepStoryDays`. */
  past(at: number, under?: string): Promise<ActorView[]>;
  activity(span: { from: number; to: number; bucketMs: number }): Promise<ActivityBucket[]>;
  /** The wait graph, and who in it is stuck. */
  waits(): WaitView[];
  slots(): PoolView[];
  get(
    address: string,
  ): { actor: ActorView; context: Json; watches: string[]; watchers: string[]; timers: { id: string; at: number }[]; queue: number } | null;
  story(address: string, limit: number): Promise<StoryStep[]>;
  stop(address: string, reason?: string): Promise<StopAnswer>;
  resume(address: string): Promise<void>;
}

export interface ModelsHandle {
  list(): ModelInfo[];
  /** One real message; says which model answered. */
  test(
    ref: string,
  ): Promise<{ ok: boolean; model?: string; text?: string; ms: number; error?: { code: string; message: string; hint?: string } }>;
  /** Writes config.yaml (comments kept) and somora.env; returns the references that are new. `models` empty: asks the server what it has. */
  addProvider(request: {
    baseUrl: string;
    name?: string;
    models?: string[];
    keyEnv?: string;
    key?: string;
    agent?: string;
  }): Promise<{ provider: string; refs: string[]; agent?: string }>;
  /** Local servers on loopback that answer, and keys seen in the environment (names only). */
  find(): Promise<{ servers: { baseUrl: string; kind: string; models: string[] }[]; keys: string[] }>;
}

export interface ToolsHandle {
  all(): ToolListing[];
  offered(agent: string): (ToolListing & { visible: boolean })[];
  /** `session` absent: acts as `main`. 400, 403, 404 come as SomoraError; a call that ran is `{ok, …}`. */
  call(agent: string, tool: string, request: { input: Json; session?: string }): Promise<Json>;
  undo(agent: string, changeId: string): Promise<{ path: string }>;
}

export interface UsageHandle {
  usage(query: { by: ("agent" | "model" | "day")[]; under?: string }): Promise<{ rows: LedgerSum[]; total: LedgerSum }>;
}

/** What the live hub needs: a start, and everything after it in order. */
export interface WatchHandle {
  /** The view as committed now, plus what streams. Null: no such session. Rows: the last 100, outputs shown short. */
  session(agent: string, session: string): Promise<SessionView | null>;
  server(): ServerLine;
  /** Called for every frame of a session, in order, from the moment of the call. Listeners must not throw. */
  onSession(listener: (agent: string, session: string, type: string, data: unknown, at: number) => void): () => void;
  /** Which actors changed, after each commit; the reader asks `list`/`view` itself, at its own rate. */
  onTree(listener: (changed: ReadonlySet<string>) => void): () => void;
  view(address: string): ActorView | null;
  onAgents(listener: (names: ReadonlySet<string>) => void): () => void;
  onServer(listener: () => void): () => void;
  agent(name: string): AgentLine | null;
}

export interface ConfigStatus {
  valid: boolean;
  errors: ServerLine["config"]["errors"];
  inForceSince: number;
}
export interface ConfigHandle {
  status(): ConfigStatus;
  reload(): Promise<ConfigStatus>;
}

export interface Handles {
  chat: ChatHandle;
  team: TeamHandle;
  actors: ActorsHandle;
  models: ModelsHandle;
  tools: ToolsHandle;
  usage: UsageHandle;
  watch: WatchHandle;
  config: ConfigHandle;
  version: { version: string; epoch: number; startedAt: number };
}
