/** The HTTP side of a client: one method per thing a person does. Errors come as `RequestFailed` with the server's own words. */
import type { ActorView, StoryStep } from "../protocol/actor-view.ts";
import type { HistoryRow } from "../protocol/history.ts";
import type { Json } from "../protocol/json.ts";
import type { ModelInfo } from "../protocol/model.ts";
import type { WaitView } from "../protocol/waits.ts";
import type { Activity } from "./activity.ts";

export class RequestFailed extends Error {
  /** 0: no answer came at all. */
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, code: string, message: string, hint?: string) {
    super(message);
    this.name = "RequestFailed";
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** True when the very same request may succeed later: nothing was refused for what it is. */
  get again(): boolean {
    return (
      this.status === 0 || this.status === 401 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504
    );
  }
}

export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{ status: number; text(): Promise<string> }>;

export interface SendRequest {
  agent: string;
  session: string;
  text?: string;
  steer?: boolean;
  clientKey?: string;
  retryOf?: string;
}
export type SendAnswer = { turnId: string; position: number; steered?: false } | { steerId: string; steered: true };
export interface AbortAnswer {
  aborted: boolean;
  turnId?: string;
  stuck?: { pid: number; command: string }[];
  stalled?: boolean;
}
export interface HistoryPage {
  rows: HistoryRow[];
  hasMore: boolean;
  oldestSeq: number | null;
  newestSeq: number | null;
}
export interface ToolLine {
  name: string;
  toolset: string;
  description: string;
  /** False: this agent's rules hide it. */
  visible: boolean;
}

export class Api {
  readonly #fetch: Fetch;
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** `base` is an origin or empty (the page's own). `key` is for clients without a pairing cookie. */
  constructor(options: { fetch: Fetch; base?: string; key?: string }) {
    this.#fetch = options.fetch;
    this.#base = options.base ?? "";
    this.#headers = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` };
  }

  pair = (code: string): Promise<void> => this.#post("/pair", { code });
  /** Any route behind the door will do: 401 says that this browser is not paired. */
  knowsUs = (): Promise<unknown> => this.#get("/agents");

  send = (request: SendRequest): Promise<SendAnswer> => this.#post("/chat/send", request);
  abort = (agent: string, session: string, turnId: string): Promise<AbortAnswer> => this.#post("/chat/abort", { agent, session, turnId });
  takeBack = (turnId: string): Promise<{ removed: boolean; text: string }> => this.#call("DELETE", `/chat/queue/${part(turnId)}`);
  steerQueued = (turnId: string): Promise<unknown> => this.#post(`/chat/queue/${part(turnId)}/steer`);
  hold = (agent: string, session: string): Promise<unknown> => this.#post(`${ofSession(agent, session)}/hold`);
  release = (agent: string, session: string): Promise<unknown> => this.#post(`${ofSession(agent, session)}/release`);
  history = (agent: string, session: string, before: number | null, limit = 100): Promise<HistoryPage> =>
    this.#get("/chat/history", { agent, session, limit: String(limit), ...(before === null ? {} : { before: String(before) }) });
  row = async (agent: string, session: string, seq: number): Promise<HistoryRow> =>
    (await this.#get<{ row: HistoryRow }>("/chat/row", { agent, session, seq: String(seq) })).row;

  agents = (): Promise<{ agents: Json[] }> => this.#get("/agents");
  createAgent = (request: { name: string; model?: string; description?: string }): Promise<unknown> => this.#post("/agents", request);
  createSession = (agent: string, slug: string, cwd?: string): Promise<unknown> =>
    this.#post(`/agents/${part(agent)}/sessions`, { slug, ...(cwd === undefined ? {} : { cwd }) });
  rename = (agent: string, session: string, title: string): Promise<unknown> => this.#call("PATCH", ofSession(agent, session), { title });
  deleteSession = (agent: string, session: string): Promise<unknown> => this.#call("DELETE", ofSession(agent, session));
  setModel = (agent: string, session: string, model: string): Promise<unknown> =>
    this.#call("PUT", `${ofSession(agent, session)}/model`, { model });
  clearModel = (agent: string, session: string): Promise<unknown> => this.#call("DELETE", `${ofSession(agent, session)}/model`);
  models = (): Promise<{ models: ModelInfo[] }> => this.#get("/models");
  addProvider = (request: { baseUrl: string; agent?: string }): Promise<{ provider: string; refs: string[] }> =>
    this.#post("/providers", request);
  testModel = (model: string): Promise<{ ok: boolean; model?: string; ms: number; error?: { message: string; hint?: string } }> =>
    this.#post("/models/test", { model });
  tools = (agent: string): Promise<{ tools: ToolLine[] }> => this.#get(`/agents/${part(agent)}/tools`);
  undoChange = (agent: string, change: string): Promise<{ ok: true; data: { path: string } }> =>
    this.#post(`/agents/${part(agent)}/changes/${part(change)}/undo`);

  actor = async (address: string): Promise<ActorView> => (await this.#get<{ actor: ActorView }>("/actor", { address })).actor;
  story = async (address: string): Promise<StoryStep[]> => (await this.#get<{ steps: StoryStep[] }>("/story", { address })).steps;
  actorsAt = async (at: number): Promise<ActorView[]> => (await this.#get<{ actors: ActorView[] }>("/actors", { at: String(at) })).actors;
  activity = async (from: number, to: number, bucketMs: number): Promise<Activity[]> =>
    (await this.#get<{ buckets: Activity[] }>("/activity", { from: String(from), to: String(to), bucketMs: String(bucketMs) })).buckets;
  waits = async (): Promise<WaitView[]> => (await this.#get<{ waits: WaitView[] }>("/waits")).waits;
  stop = (address: string): Promise<unknown> => this.#post("/stop", { address });
  resume = (address: string): Promise<unknown> => this.#post("/resume", { address });

  #get<Answer>(path: string, query: Record<string, string> = {}): Promise<Answer> {
    const asked = new URLSearchParams(query).toString();
    return this.#call("GET", asked === "" ? path : `${path}?${asked}`);
  }

  #post<Answer>(path: string, body: object = {}): Promise<Answer> {
    return this.#call("POST", path, body);
  }

  async #call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const headers = { ...this.#headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    let answer: { status: number; text(): Promise<string> };
    let text: string;
    try {
      answer = await this.#fetch(`${this.#base}/api${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      text = await answer.text();
    } catch {
      throw new RequestFailed(0, "NO_CONNECTION", "No connection to the server.");
    }
    const value = parse(text);
    if (answer.status >= 200 && answer.status < 300) return value as Answer;
    const error = (value as { error?: { code?: string; message?: string; hint?: string } } | null)?.error;
    throw new RequestFailed(
      answer.status,
      error?.code ?? `HTTP_${answer.status}`,
      error?.message ?? `The server answered ${answer.status}.`,
      error?.hint,
    );
  }
}

const part = encodeURIComponent;
const ofSession = (agent: string, session: string): string => `/agents/${part(agent)}/sessions/${part(session)}`;

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return null; // an answer that is not ours (a proxy's page); its status speaks
  }
}
