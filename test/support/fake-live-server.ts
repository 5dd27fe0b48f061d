/**
 * A stand-in server for page and client tests: plain HTTP and a WebSocket, the same folds and frame numbers as the real
 * one, turns played from a short script. Its line can be cut, silenced and given a new epoch.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import type { AgentLine, Frame, ServerLine, SessionFrame } from "../../src/protocol/frames.ts";
import type { HistoryRow, Outcome } from "../../src/protocol/history.ts";
import type { Json } from "../../src/protocol/json.ts";
import { TOPIC, seqNumber, sessionOfTopic } from "../../src/protocol/live-ops.ts";
import { emptySessionView, foldSession, type SessionView } from "../../src/protocol/session-view.ts";
import { NO_USAGE } from "../../src/protocol/usage.ts";

interface Ring {
  n: number;
  frames: Frame[];
}

export interface FakeOptions {
  /** The built page. */
  page?: string;
  agents?: AgentLine[];
  actors?: ActorView[];
  /** Without it every request is let in. */
  pairing?: { code: string };
  port?: number;
}

export interface Turn {
  turnId: string;
  agent: string;
  session: string;
  text: string;
  /** Resolves false when the turn was stopped. */
  pause(milliseconds: number): Promise<boolean>;
  say(text: string, options?: { pieces?: number; pause?: number; thinking?: boolean }): Promise<void>;
  call(
    tool: string,
    input: Json,
    options: {
      ms?: number;
      output?: Json;
      ok?: boolean;
      code?: string;
      summary?: string;
      limitMs?: number;
      shortened?: { chars: number; shown: number };
      changes?: Json[];
    },
  ): Promise<void>;
  state(state: string, more?: { until?: number; why?: string }): void;
  readonly stopped: boolean;
}
export type Ending =
  | {
      outcome: Outcome;
      outcomeReason?: string;
      error?: { code: string; message: string; hint?: string };
      retryable?: boolean;
      costUsd?: number | null;
    }
  | undefined;
export type Play = (turn: Turn) => Promise<Ending | void>;

const EMPTY_SERVER: ServerLine = {
  version: "0.1.0",
  home: "~/.somora",
  draining: false,
  store: { state: "ok", since: 0, reason: null },
  config: { valid: true, errors: [] },
  held: false,
  todayUsd: 0,
  todayUnknown: false,
};

export class FakeServer {
  readonly http: Server;
  readonly #sockets = new Map<WebSocket, Set<string>>();
  readonly #rings = new Map<string, Ring>();
  readonly views = new Map<string, SessionView>();
  /** Every row ever, by session: the history behind the view's last hundred. */
  readonly rows = new Map<string, HistoryRow[]>();
  readonly agents = new Map<string, AgentLine>();
  readonly actors = new Map<string, ActorView>();
  readonly requests: { method: string; path: string; body: Json }[] = [];
  readonly #keys = new Map<string, object>();
  readonly #waiting = new Map<string, { turnId: string; text: string }[]>();
  readonly #stops = new Map<string, () => void>();
  server: ServerLine = EMPTY_SERVER;
  epoch = 1;
  /** False: sockets are refused and requests get no answer. */
  up = true;
  play: Play = async (turn) => {
    await turn.say(`You said: ${turn.text}`, { pieces: 4, pause: 5 });
  };
  /** The tree after each of its changes: what `GET /actors?at=` and `GET /activity` answer from. */
  readonly past: { at: number; actors: ActorView[]; question?: boolean; failure?: boolean }[] = [];
  waits: Json[] = [];
  /** Bytes sent on sockets, for budgets. */
  sent = 0;
  #count = 0;
  readonly #options: FakeOptions;
  readonly #paired = new Set<string>();

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    for (const agent of options.agents ?? []) this.addAgent(agent);
    for (const actor of options.actors ?? []) this.actors.set(actor.address, actor);
    this.http = createServer((request, response) => void this.#answer(request, response));
    const upgrade = new WebSocketServer({ noServer: true });
    this.http.on("upgrade", (request, socket, head) => {
      if (!this.up || request.url?.split("?")[0] !== "/live") return void socket.destroy();
      if (!this.#lets(request)) return void socket.end("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
      upgrade.handleUpgrade(request, socket, head, (live) => this.#welcome(live));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.http.listen(this.#options.port ?? 0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.up = false;
    for (const stop of this.#stops.values()) stop();
    this.cut();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  /** Drops every socket, as a lost network does. */
  cut(): void {
    for (const socket of this.#sockets.keys()) socket.terminate();
    this.#sockets.clear();
  }

  /** A new run of the server: another epoch, empty rings, the same committed state. Running turns go on. */
  restart(): void {
    this.cut();
    this.epoch += 1;
    this.#rings.clear();
  }

  addAgent(agent: AgentLine): void {
    this.agents.set(agent.name, agent);
    for (const session of agent.sessions) this.#open(agent, session.slug);
    this.publish(TOPIC.agents, "agents.changed", { agents: [agent], gone: [] });
  }

  #open(agent: AgentLine, slug: string): void {
    const line = agent.sessions.find((session) => session.slug === slug);
    const view = {
      ...emptySessionView(agent.name, slug),
      model: agent.model,
      title: line?.title ?? null,
      parked: line?.parked ?? null,
      cwd: line?.cwd ?? null,
    };
    this.views.set(TOPIC.session(agent.name, slug), view);
    this.setActor({ ...actorOf(`/agents/${agent.name}`, "agent", "/agents"), birth: `1.${this.actors.size + 1}.0` });
    this.setActor({
      ...actorOf(`/agents/${agent.name}/sessions/${slug}`, "session", `/agents/${agent.name}`),
      birth: `1.${this.actors.size + 1}.0`,
      ...(view.parked === null ? {} : { status: "parked" as const, parkedReason: view.parked }),
    });
  }

  setActor(actor: ActorView): void {
    this.actors.set(actor.address, actor);
    this.past.push({ at: Date.now(), actors: [...this.actors.values()] });
    this.publish(TOPIC.tree, "tree.changed", { actors: [actor], gone: [] });
  }

  dropActor(address: string): void {
    this.actors.delete(address);
    this.past.push({ at: Date.now(), actors: [...this.actors.values()] });
    this.publish(TOPIC.tree, "tree.changed", { actors: [], gone: [address] });
  }

  setServer(change: Partial<ServerLine>): void {
    this.server = { ...this.server, ...change };
    this.publish(TOPIC.server, "server.changed", this.server);
  }

  /** Numbers a frame, folds it into the server's own view, tells whoever watches. */
  publish(topic: string, type: string, data: object): void {
    const ring = this.#ring(topic);
    ring.n += 1;
    const frame: Frame = { topic, seq: `${this.epoch}.${ring.n}`, at: Date.now(), type, data };
    ring.frames.push(frame);
    if (ring.frames.length > 2000) ring.frames.shift();
    const view = this.views.get(topic);
    if (view !== undefined) {
      const next = foldSession(view, frame as unknown as SessionFrame, frame.at);
      this.views.set(topic, next);
    }
    this.#tell(topic, frame);
  }

  session(agent: string, session: string, frame: SessionFrame): void {
    this.publish(TOPIC.session(agent, session), frame.type, frame.data);
  }

  addRow(agent: string, session: string, row: Omit<HistoryRow, "seq" | "at"> & { at?: number }, fromBlock = false): HistoryRow {
    const topic = TOPIC.session(agent, session);
    const rows = this.rows.get(topic) ?? [];
    this.rows.set(topic, rows);
    const whole = { at: Date.now(), ...row, seq: (rows.at(-1)?.seq ?? 0) + 1 } as HistoryRow;
    rows.push(whole);
    const sent = fromBlock ? ({ ...whole, data: { ...whole.data, text: "" } } as HistoryRow) : whole;
    this.session(agent, session, { type: "row.added", data: { row: sent, ...(fromBlock ? { fromBlock: true } : {}) } });
    const line = this.agents.get(agent);
    if (line !== undefined) {
      const sessions = line.sessions.map((other) =>
        other.slug === session ? { ...other, newestSeq: whole.seq, lastAt: whole.at } : other,
      );
      this.agents.set(agent, { ...line, sessions });
      this.publish(TOPIC.agents, "agents.changed", { agents: [this.agents.get(agent) as AgentLine], gone: [] });
    }
    return whole;
  }

  /** Puts rows in without telling anyone: a past that was there before the client came. */
  seed(agent: string, session: string, rows: (Omit<HistoryRow, "seq" | "at"> & { at?: number })[]): void {
    const topic = TOPIC.session(agent, session);
    const all = this.rows.get(topic) ?? [];
    this.rows.set(topic, all);
    for (const row of rows) all.push({ at: Date.now(), ...row, seq: (all.at(-1)?.seq ?? 0) + 1 } as HistoryRow);
    const view = this.views.get(topic) as SessionView;
    const last = all.slice(-100);
    this.views.set(topic, { ...view, rows: last, oldestSeq: last[0]?.seq ?? null, hasMore: all.length > last.length });
  }

  #ring(topic: string): Ring {
    let ring = this.#rings.get(topic);
    if (ring === undefined) {
      ring = { n: 0, frames: [] };
      this.#rings.set(topic, ring);
    }
    return ring;
  }

  #tell(topic: string, frame: object): void {
    const text = JSON.stringify(frame);
    for (const [socket, topics] of this.#sockets) if (topics.has(topic)) this.#send(socket, text);
  }

  #send(socket: WebSocket, text: string): void {
    this.sent += text.length;
    if (socket.readyState === socket.OPEN) socket.send(text);
  }

  #welcome(socket: WebSocket): void {
    const topics = new Set<string>();
    this.#sockets.set(socket, topics);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("message", (data) => {
      const op = JSON.parse(String(data)) as { op: string; topic?: string; since?: string };
      if (op.op === "ping") return this.#send(socket, JSON.stringify({ type: "pong" }));
      if (op.topic === undefined) return;
      if (op.op === "unwatch") return void topics.delete(op.topic);
      topics.add(op.topic);
      this.#catchUp(socket, op.topic, op.since);
    });
  }

  /** Frames from `since` on when the ring still has them, else a snapshot. */
  #catchUp(socket: WebSocket, topic: string, since: string | undefined): void {
    const ring = this.#ring(topic);
    const from = since === undefined ? null : seqNumber(since);
    if (from !== null && from.epoch === String(this.epoch) && from.n <= ring.n && from.n >= ring.n - ring.frames.length) {
      for (const frame of ring.frames.slice(ring.frames.length - (ring.n - from.n))) this.#send(socket, JSON.stringify(frame));
      return;
    }
    const data = this.#snapshot(topic);
    if (data === null)
      return this.#send(socket, JSON.stringify({ type: "error", topic, code: "TOPIC_UNKNOWN", message: `No topic ${topic}.` }));
    this.#send(socket, JSON.stringify({ topic, seq: `${this.epoch}.${ring.n}`, at: Date.now(), type: "snapshot", data }));
  }

  #snapshot(topic: string): object | null {
    if (topic === TOPIC.tree) return { actors: [...this.actors.values()] };
    if (topic === TOPIC.agents) return { agents: [...this.agents.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
    if (topic === TOPIC.server) return this.server;
    const view = this.views.get(topic);
    if (view === undefined || sessionOfTopic(topic) === null) return null;
    const rows = view.rows.slice(-100);
    return { ...view, rows, oldestSeq: rows[0]?.seq ?? null, hasMore: (this.rows.get(topic)?.length ?? 0) > rows.length };
  }

  #lets(request: IncomingMessage): boolean {
    const { pairing } = this.#options;
    if (pairing === undefined) return true;
    const cookie = /fake=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
    return cookie !== undefined && this.#paired.has(cookie);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.up) return void request.socket.destroy();
    const url = new URL(request.url ?? "/", "http://fake");
    if (!url.pathname.startsWith("/api/")) return this.#page(url.pathname, response);
    let text = "";
    for await (const piece of request) text += String(piece);
    const body = (text === "" ? {} : JSON.parse(text)) as { [field: string]: Json };
    const path = url.pathname.slice(4);
    this.requests.push({ method: request.method ?? "GET", path, body });
    const reply = (status: number, value?: object): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    if (path === "/pair") {
      if (body["code"] !== this.#options.pairing?.code)
        return reply(401, { error: { code: "PAIR_CODE_WRONG", message: "The pairing code is wrong, used or older than five minutes." } });
      const cookie = `p${Math.random().toString(36).slice(2)}`;
      this.#paired.add(cookie);
      response.writeHead(204, { "set-cookie": `fake=${cookie}; HttpOnly; SameSite=Strict; Path=/` });
      return void response.end();
    }
    if (!this.#lets(request))
      return reply(401, { error: { code: "KEY_MISSING", message: "No key and no pairing cookie came with the request." } });
    this.#route(`${request.method} ${path}`, url.searchParams, body, reply);
  }

  #route(route: string, query: URLSearchParams, body: { [field: string]: Json }, reply: (status: number, value?: object) => void): void {
    const refuse = (status: number, code: string, message: string): void => reply(status, { error: { code, message } });
    const agent = String(body["agent"] ?? query.get("agent") ?? "");
    const session = String(body["session"] ?? query.get("session") ?? "main");
    const topic = TOPIC.session(agent, session);
    if (route === "GET /agents") return reply(200, { agents: [...this.agents.values()] });
    if (route === "POST /chat/send") return this.#take(agent, session, body, reply, refuse);
    if (route === "POST /chat/abort") {
      const stop = this.#stops.get(topic);
      const runs = this.views.get(topic)?.active?.turnId;
      if (stop === undefined || runs !== body["turnId"]) return reply(200, { aborted: false });
      stop();
      return reply(200, { aborted: true, turnId: runs, children: [] });
    }
    if (route === "GET /chat/history") {
      const before = Number(query.get("before") ?? Infinity);
      const all = (this.rows.get(topic) ?? []).filter((row) => row.seq < before);
      const rows = all.slice(-Number(query.get("limit") ?? 100));
      return reply(200, { rows, hasMore: all.length > rows.length, oldestSeq: rows[0]?.seq ?? null, newestSeq: rows.at(-1)?.seq ?? null });
    }
    if (route === "GET /chat/row") {
      const row = (this.rows.get(topic) ?? []).find((other) => other.seq === Number(query.get("seq")));
      return row === undefined ? refuse(404, "TURN_UNKNOWN", "No such row.") : reply(200, { row });
    }
    if (route === "GET /models") return reply(200, { models: this.models });
    if (route === "GET /waits") return reply(200, { waits: this.waits });
    if (route === "GET /actors") {
      const at = Number(query.get("at") ?? Infinity);
      return reply(200, { actors: this.past.findLast((moment) => moment.at <= at)?.actors ?? [] });
    }
    if (route === "GET /activity") {
      const [from, to, size] = ["from", "to", "bucketMs"].map((key) => Number(query.get(key))) as [number, number, number];
      const buckets = new Map<number, { at: number; commits: number; questions: number; failures: number; restarts: number }>();
      for (const moment of this.past) {
        if (moment.at < from || moment.at >= to) continue;
        const at = from + Math.floor((moment.at - from) / size) * size;
        const found = buckets.get(at) ?? { at, commits: 0, questions: 0, failures: 0, restarts: 0 };
        buckets.set(at, {
          ...found,
          commits: found.commits + 1,
          questions: found.questions + Number(moment.question === true),
          failures: found.failures + Number(moment.failure === true),
        });
      }
      return reply(200, { buckets: [...buckets.values()].sort((a, b) => a.at - b.at) });
    }
    if (route === "GET /story") return reply(200, { steps: this.story });
    if (route === "POST /providers") return reply(201, { provider: "local", refs: ["local/qwen3"] });
    if (route === "POST /models/test") return reply(200, { ok: true, model: body["model"] ?? "local/qwen3", ms: 1412 });
    if (route === "POST /resume") return this.#resume(String(body["address"]), reply);
    if (route === "POST /stop") return reply(200, { stopped: 1 });
    const taken = /^(DELETE|POST) \/chat\/queue\/([^/]+)(\/steer)?$/.exec(route);
    if (taken !== null) return this.#unqueue(taken[2] as string, taken[3] !== undefined, reply, refuse);
    const made = /^POST \/agents\/([^/]+)\/sessions$/.exec(route);
    if (made !== null) return this.#make(decodeURIComponent(made[1] as string), String(body["slug"]), reply, refuse);
    const tools = /^GET \/agents\/([^/]+)\/tools$/.exec(route);
    if (tools !== null)
      return reply(200, {
        tools: [
          { name: "file_read", toolset: "file", description: "Read a file.", visible: true },
          { name: "exec", toolset: "exec", description: "Run a command.", visible: tools[1] === "tinker" },
        ],
      });
    const changed = /^(POST|PUT|PATCH|DELETE) \/agents\/([^/]+)\/sessions\/([^/]+)(\/\w+)?$/.exec(route);
    if (changed !== null) return this.#change(changed, body, reply);
    if (/^POST \/agents\/[^/]+\/changes\/[^/]+\/undo$/.test(route)) return reply(200, { ok: true, data: { path: "blurbs/031.md" } });
    if (route === "POST /agents") {
      this.addAgent(
        agentLine(String(body["name"]), {
          description: String(body["description"] ?? ""),
          model: String(body["model"] ?? "rehearsal/guide"),
        }),
      );
      return reply(201, { name: body["name"] ?? null });
    }
    refuse(404, "ROUTE_UNKNOWN", `No route ${route}.`);
  }

  models: Json[] = [
    {
      ref: "rehearsal/guide",
      alias: null,
      provider: "rehearsal",
      id: "guide",
      engine: "rehearsal",
      rehearsal: true,
      contextWindow: null,
      maxTokens: null,
      capabilities: ["text"],
      parallelToolCalls: true,
      price: null,
      baseUrl: null,
    },
    {
      ref: "local/qwen3",
      alias: "qwen",
      provider: "local",
      id: "qwen3",
      engine: "openai-compatible",
      rehearsal: false,
      contextWindow: 32768,
      maxTokens: 4096,
      capabilities: ["text", "reasoning"],
      parallelToolCalls: false,
      price: null,
      baseUrl: "http://127.0.0.1:11434/v1",
    },
  ];
  story: Json[] = [];

  #resume(address: string, reply: (status: number, value?: object) => void): void {
    const actor = this.actors.get(address);
    const [, , agent, , session] = address.split("/");
    if (agent !== undefined && session !== undefined) this.session(agent, session, { type: "session.changed", data: { parked: null } });
    if (actor !== undefined) {
      const { parkedReason: _, ...rest } = actor;
      this.setActor({ ...rest, status: "live", since: Date.now() });
    }
    reply(200, { resumed: true });
  }

  #make(
    agent: string,
    slug: string,
    reply: (status: number, value?: object) => void,
    refuse: (status: number, code: string, message: string) => void,
  ): void {
    const line = this.agents.get(agent);
    if (line === undefined) return refuse(404, "AGENT_UNKNOWN", `No agent ${agent}.`);
    if (!/^[A-Za-z0-9_-]+$/.test(slug))
      return refuse(400, "SESSION_SLUG_INVALID", `"${slug}" is no session name: letters, digits, _ and - only.`);
    const next = {
      ...line,
      sessions: [
        ...line.sessions,
        { slug, title: null, createdAt: Date.now(), lastAt: Date.now(), newestSeq: 0, state: "idle", queued: 0, parked: null, cwd: null },
      ],
    };
    this.agents.set(agent, next);
    this.#open(next, slug);
    this.publish(TOPIC.agents, "agents.changed", { agents: [next], gone: [] });
    reply(201, { slug });
  }

  #change(match: RegExpExecArray, body: { [field: string]: Json }, reply: (status: number, value?: object) => void): void {
    const [, method, agent, session, what] = match as unknown as [string, string, string, string, string | undefined];
    if (method === "PATCH") this.session(agent, session, { type: "session.changed", data: { title: String(body["title"]) } });
    if (what === "/model")
      this.session(agent, session, { type: "session.changed", data: { model: method === "PUT" ? String(body["model"]) : null } });
    if (what === "/hold" || what === "/release")
      this.session(agent, session, { type: "session.changed", data: { held: what === "/hold" } });
    if (method === "PATCH") {
      const line = this.agents.get(agent) as AgentLine;
      const next = {
        ...line,
        sessions: line.sessions.map((other) => (other.slug === session ? { ...other, title: String(body["title"]) } : other)),
      };
      this.agents.set(agent, next);
      this.publish(TOPIC.agents, "agents.changed", { agents: [next], gone: [] });
    }
    reply(200, {});
  }

  #take(
    agent: string,
    session: string,
    body: { [field: string]: Json },
    reply: (status: number, value?: object) => void,
    refuse: (status: number, code: string, message: string) => void,
  ): void {
    const topic = TOPIC.session(agent, session);
    const view = this.views.get(topic);
    if (view === undefined) return refuse(404, "SESSION_UNKNOWN", `No session ${agent}/${session}.`);
    if (view.parked !== null) return refuse(409, "PARKED", `Parked: ${view.parked}`);
    const key = `${topic} ${String(body["clientKey"])}`;
    const first = this.#keys.get(key);
    if (first !== undefined) return reply(202, first);
    this.#count += 1;
    const turnId = `turn_${this.#count}`;
    const original = (this.rows.get(topic) ?? []).find((row) => row.kind === "user_message" && row.turnId === body["retryOf"]);
    const text = body["retryOf"] === undefined ? String(body["text"]) : original?.kind === "user_message" ? original.data.text : "";
    if (body["steer"] === true && view.active !== null) {
      const after = view.active.calls[0]?.tool;
      this.session(agent, session, { type: "steer.accepted", data: { steerId: turnId, text, ...(after === undefined ? {} : { after }) } });
      this.#keys.set(key, { steerId: turnId, steered: true });
      return reply(202, { steerId: turnId, steered: true });
    }
    const waiting = this.#waiting.get(topic) ?? [];
    this.#waiting.set(topic, waiting);
    const position = waiting.length + (view.active === null ? 0 : 1);
    const answer = { turnId, position };
    this.#keys.set(key, answer);
    reply(202, answer);
    waiting.push({ turnId, text });
    this.session(agent, session, { type: "turn.queued", data: { turnId, position, text, origin: { kind: "human" } } });
    if (position === 0) void this.#run(agent, session);
  }

  #unqueue(
    turnId: string,
    steer: boolean,
    reply: (status: number, value?: object) => void,
    refuse: (status: number, code: string, message: string) => void,
  ): void {
    for (const [topic, waiting] of this.#waiting) {
      const at = waiting.findIndex((entry) => entry.turnId === turnId);
      if (at < 0) continue;
      const place = sessionOfTopic(topic) as { agent: string; session: string };
      const [entry] = waiting.splice(at, 1);
      this.session(place.agent, place.session, { type: "turn.removed", data: { turnId } });
      if (steer) this.session(place.agent, place.session, { type: "steer.accepted", data: { steerId: turnId, text: entry?.text ?? "" } });
      return reply(200, steer ? { steerId: turnId, steered: true } : { removed: true, text: entry?.text ?? "", attachments: [] });
    }
    refuse(409, "TURN_STARTED", "The message cannot be taken back: its turn already runs.");
  }

  async #run(agent: string, session: string): Promise<void> {
    const topic = TOPIC.session(agent, session);
    const waiting = this.#waiting.get(topic) ?? [];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await this.#playOne(agent, session, next);
  }

  async #playOne(agent: string, session: string, { turnId, text }: { turnId: string; text: string }): Promise<void> {
    const topic = TOPIC.session(agent, session);
    const line = this.agents.get(agent);
    const address = `/agents/${agent}/sessions/${session}/turns/${turnId}`;
    let stopped = false;
    const waiters = new Set<() => void>();
    this.#stops.set(topic, () => {
      stopped = true;
      for (const wake of waiters) wake();
    });
    const startedAt = Date.now();
    let [block, calls] = [0, 0];
    let round = 1;
    this.session(agent, session, {
      type: "turn.started",
      data: { turnId, origin: { kind: "human" }, model: line?.model ?? "none", attempt: 1, rehearsal: line?.rehearsal ?? false },
    });
    this.addRow(agent, session, { kind: "user_message", turnId, data: { text, origin: { kind: "human" } } });
    const actor = { ...actorOf(address, "turn", `/agents/${agent}/sessions/${session}`), birth: `2.${startedAt}.0` };
    const turn: Turn = {
      turnId,
      agent,
      session,
      text,
      get stopped() {
        return stopped;
      },
      pause: (milliseconds) =>
        new Promise((resolve) => {
          if (stopped) return resolve(false);
          const done = (): void => {
            clearTimeout(timer);
            waiters.delete(done);
            resolve(!stopped);
          };
          const timer = setTimeout(done, milliseconds);
          waiters.add(done);
        }),
      state: (state, more = {}) => {
        this.session(agent, session, { type: "turn.state", data: { turnId, state, round, maxRounds: 40, ...more } });
        this.setActor({ ...actor, state, since: Date.now() });
      },
      say: async (words, options = {}) => {
        const blockId = `${turnId}.b${block++}`;
        const kind = options.thinking === true ? "thinking" : "text";
        turn.state("calling");
        this.session(agent, session, { type: `${kind}.start`, data: { turnId, blockId, attempt: 1 } });
        const size = Math.max(1, Math.ceil(words.length / (options.pieces ?? 10)));
        let offset = 0;
        for (; offset < words.length && !stopped; offset += size) {
          this.session(agent, session, {
            type: `${kind}.delta`,
            data: { turnId, blockId, offset, text: words.slice(offset, offset + size) },
          });
          if (options.pause !== undefined) await turn.pause(options.pause);
        }
        const said = words.slice(0, offset);
        this.session(agent, session, { type: `${kind}.end`, data: { turnId, blockId } });
        const data = { text: said, attempt: 1, blockId, round };
        this.addRow(
          agent,
          session,
          { kind: kind === "text" ? "assistant_message" : "thinking", turnId, data } as Omit<HistoryRow, "seq" | "at">,
          true,
        );
      },
      call: async (tool, input, options) => {
        const callId = `${turnId}.c${calls++}`;
        const began = Date.now();
        turn.state("tools");
        this.addRow(agent, session, { kind: "tool_call", turnId, data: { callId, tool, input, round } });
        this.session(agent, session, {
          type: "call.started",
          data: { turnId, callId, tool, input, ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }) },
        });
        this.setActor({
          ...actorOf(`${address}/calls/${callId}`, "call", address),
          birth: `2.${began}.${calls}`,
          state: "running",
          detail: { tool, about: aboutOf(input) },
        });
        const whole = await turn.pause(options.ms ?? 5);
        const ok = whole && (options.ok ?? true);
        const summary = options.summary ?? (ok ? "ok" : "failed");
        const ms = Date.now() - began;
        const code = whole ? options.code : "TOOL_CANCELLED";
        this.session(agent, session, {
          type: "call.settled",
          data: { turnId, callId, ok, summary, ms, ...(code === undefined || ok ? {} : { code }) },
        });
        const output = ok
          ? { ok: true, data: options.output ?? {} }
          : { ok: false, error: { code: code ?? "TOOL_FAILED", message: String(options.output ?? "It failed.") } };
        this.addRow(agent, session, {
          kind: "tool_result",
          turnId,
          data: {
            callId,
            ok,
            output: output as Json,
            summary,
            ms,
            ...(options.shortened === undefined ? {} : { shortened: options.shortened }),
            ...(options.changes === undefined ? {} : { changes: options.changes }),
          },
        });
        this.dropActor(`${address}/calls/${callId}`);
        round += 1;
      },
    };
    turn.state("preparing");
    const ending = await this.play(turn);
    turn.state("settling");
    const end = stopped ? { outcome: "cancelled" as const } : (ending ?? { outcome: "completed" as const });
    const usage = { ...NO_USAGE, input: 820, output: 140, contextUsed: 10_160, contextWindow: 32_768 };
    const costUsd = "costUsd" in end ? (end.costUsd ?? null) : line?.rehearsal === true ? 0 : 0.004;
    const { outcome } = end;
    const more = {
      ...("outcomeReason" in end && end.outcomeReason !== undefined ? { outcomeReason: end.outcomeReason } : {}),
      ...("error" in end && end.error !== undefined ? { error: end.error } : {}),
    };
    this.addRow(agent, session, {
      kind: "turn_end",
      turnId,
      data: {
        outcome,
        ...more,
        usage,
        costUsd,
        toolCalls: calls,
        rounds: round,
        ms: Date.now() - startedAt,
        model: line?.model ?? "none",
        retryable: outcome === "failed" || more.outcomeReason === "cut",
        ...(stopped ? { stopped: { processes: 0, ms: 40 } } : {}),
      },
    });
    this.session(agent, session, { type: "turn.settled", data: { turnId, outcome, ...more, usage, costUsd } });
    this.dropActor(address);
    this.#stops.delete(topic);
    const view = this.views.get(topic) as SessionView;
    view.queue.forEach((entry, at) => this.session(agent, session, { type: "turn.moved", data: { turnId: entry.turnId, position: at } }));
  }

  async #page(path: string, response: ServerResponse): Promise<void> {
    const root = this.#options.page;
    const file = root === undefined ? null : join(root, normalize(path === "/" ? "index.html" : path));
    try {
      if (file === null) throw new Error("no page is built");
      const bytes = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
      response.end(bytes);
    } catch {
      response.writeHead(404);
      response.end("not here");
    }
  }
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};

function aboutOf(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  return String(input["path"] ?? input["command"] ?? input["query"] ?? "");
}

export function actorOf(address: string, kind: string, parent: string | null): ActorView {
  return {
    address,
    birth: "1.1.0",
    kind,
    state: "idle",
    status: "live",
    parent,
    since: Date.now(),
    detail: {},
    pending: [],
    mailbox: 0,
    restarts: 0,
  };
}

export function agentLine(name: string, more: Partial<AgentLine> = {}): AgentLine {
  return {
    name,
    description: "",
    model: "rehearsal/guide",
    rehearsal: (more.model ?? "rehearsal/guide")?.startsWith("rehearsal/") ?? false,
    problem: null,
    sessions: [
      {
        slug: "main",
        title: null,
        createdAt: Date.now(),
        lastAt: Date.now(),
        newestSeq: 0,
        state: "idle",
        queued: 0,
        parked: null,
        cwd: null,
      },
    ],
    ...more,
  };
}
