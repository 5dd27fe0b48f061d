/** Handles over a house that is only data: routes and the hub are tested against it. What is said goes through `emit`, like commits. */
import { SomoraError } from "../../src/protocol/errors.ts";
import type { WaitView } from "../../src/protocol/waits.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import type { AgentLine, ServerLine, SessionFrame } from "../../src/protocol/frames.ts";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { emptySessionView, foldSession, type SessionView } from "../../src/protocol/session-view.ts";
import type { TurnResult } from "../../src/protocol/turn.ts";
import { NO_USAGE } from "../../src/protocol/usage.ts";
import type { Handles } from "../../src/ports/handles.port.ts";

type SessionListener = Parameters<Handles["watch"]["onSession"]>[0];
type NamesListener = (names: ReadonlySet<string>) => void;

export interface FakeHouse {
  handles: Handles;
  /** What the handles were called with, newest last. */
  calls: { name: string; argument: unknown }[];
  /** Makes a handle method answer or refuse differently; by `chat.send` and the like. */
  answers: Map<string, (argument: unknown) => unknown>;
  /** What `actors.waits` answers. */
  waits: WaitView[];
  server: ServerLine;
  emit<Type extends SessionFrame["type"]>(
    agent: string,
    session: string,
    type: Type,
    data: Extract<SessionFrame, { type: Type }>["data"],
  ): void;
  /** The whole truth about a session, every frame folded unmerged. */
  view(agent: string, session: string): SessionView;
  /** Holds back the answers of `watch.session` until the returned function is called. */
  holdSessions(): () => void;
  setActor(actor: ActorView): void;
  dropActor(address: string): void;
  setAgent(line: AgentLine): void;
  dropAgent(name: string): void;
  serverChanged(): void;
  sessionListeners(): number;
}

export const agentLine = (name: string, slugs: string[] = ["main"]): AgentLine => ({
  name,
  description: `About ${name}`,
  model: "rehearsal/guide",
  rehearsal: true,
  problem: null,
  sessions: slugs.map((slug) => ({
    slug,
    title: null,
    createdAt: 1,
    lastAt: 1,
    newestSeq: 0,
    state: "idle",
    queued: 0,
    parked: null,
    cwd: null,
  })),
});

export const actorView = (address: string, state = "idle"): ActorView => ({
  address,
  birth: "1.1.1",
  kind: "session",
  state,
  status: "live",
  parent: "/",
  since: 1,
  detail: {},
  pending: [],
  mailbox: 0,
  restarts: 0,
});

export const turnResult = (turnId: string, more: Partial<TurnResult> = {}): TurnResult => ({
  turnId,
  agent: "guide",
  session: "main",
  state: "done",
  outcome: "completed",
  finalText: "Hello.",
  toolCalls: 0,
  rounds: 1,
  ms: 5,
  usage: NO_USAGE,
  filesWritten: [],
  media: [],
  ...more,
});

export function fakeHouse(): FakeHouse {
  const calls: FakeHouse["calls"] = [];
  const answers: FakeHouse["answers"] = new Map();
  const waits: WaitView[] = [];
  const views = new Map<string, SessionView>();
  const agents = new Map<string, AgentLine>([["guide", agentLine("guide", ["main", "other"])]]);
  const actors = new Map<string, ActorView>([
    ["/", { ...actorView("/"), parent: null }],
    ["/agents/guide/sessions/main", actorView("/agents/guide/sessions/main")],
  ]);
  const sessionListeners = new Set<SessionListener>();
  const treeListeners = new Set<NamesListener>();
  const agentListeners = new Set<NamesListener>();
  const serverListeners = new Set<() => void>();
  let held: Promise<void> = Promise.resolve();
  let clock = 1_000;
  const server: ServerLine = {
    version: "0.1.0",
    home: "/home/test",
    draining: false,
    store: { state: "ok", since: 0, reason: null },
    config: { valid: true, errors: [] },
    held: false,
    todayUsd: null,
    todayUnknown: false,
  };
  const viewOf = (agent: string, session: string): SessionView => views.get(`${agent}/${session}`) ?? emptySessionView(agent, session);

  /** Notes the call; gives the prepared answer or the everyday one. */
  const say = <Value>(name: string, argument: unknown, otherwise: () => Value): Promise<Value> => {
    calls.push({ name, argument });
    const prepared = answers.get(name);
    return Promise.resolve().then(() => (prepared ? (prepared(argument) as Value) : otherwise()));
  };
  const known = (agent: string, session?: string): AgentLine => {
    const line = agents.get(agent);
    if (!line) throw new SomoraError("AGENT_UNKNOWN", `No agent is called ${agent}.`, { details: { known: [...agents.keys()] } });
    if (session !== undefined && !line.sessions.some((other) => other.slug === session))
      throw new SomoraError("SESSION_UNKNOWN", `No session is called ${session}.`);
    return line;
  };

  const handles: Handles = {
    version: { version: "0.1.0", epoch: 7, startedAt: 1 },
    chat: {
      send: (request) =>
        say("chat.send", request, () => (known(request.agent, request.session ?? "main"), { turnId: "turn_1", position: 0 })),
      sendSync: (request) => say("chat.sendSync", request, () => (known(request.agent, request.session ?? "main"), turnResult("turn_1"))),
      turn: (turnId, waitMs) => say("chat.turn", { turnId, waitMs }, () => turnResult(turnId)),
      abort: (request) => say("chat.abort", request, () => ({ aborted: true as const, turnId: "turn_1", children: [] })),
      takeBack: (turnId) => say("chat.takeBack", turnId, () => ({ removed: true as const, text: "hi", attachments: [] })),
      steerQueued: (turnId) => say("chat.steerQueued", turnId, () => ({ steerId: turnId, steered: true as const })),
      history: (query) =>
        say("chat.history", query, () => ({
          rows: viewOf(query.agent, query.session).rows,
          hasMore: false,
          oldestSeq: null,
          newestSeq: null,
        })),
      row: (agent, session, seq) =>
        say("chat.row", { agent, session, seq }, () => viewOf(agent, session).rows.find((row) => row.seq === seq) as HistoryRow),
      work: (agent, session) => say("chat.work", { agent, session }, () => ({ active: null, queued: [], pendingWakes: [], children: [] })),
    },
    team: {
      agents: () => [...agents.values()],
      createAgent: (request) => say("team.createAgent", request, () => agentLine(request.name)),
      sessions: (agent) => known(agent).sessions,
      createSession: (agent, request) =>
        say(
          "team.createSession",
          { agent, ...request },
          () => agentLine(agent, [request.slug]).sessions[0] as AgentLine["sessions"][number],
        ),
      patchSession: (agent, session, change) => say("team.patchSession", { agent, session, ...change }, () => undefined),
      deleteSession: (agent, session) => say("team.deleteSession", { agent, session }, () => undefined),
      hold: (agent, session) => say("team.hold", { agent, session }, () => undefined),
      release: (agent, session) => say("team.release", { agent, session }, () => undefined),
      model: (agent, session) =>
        say("team.model", { agent, session }, () => ({ ref: "rehearsal/guide", from: "agent" as const, info: null })),
      setModel: (agent, session, ref) => say("team.setModel", { agent, session, ref }, () => undefined),
    },
    actors: {
      list: (under) => [...actors.values()].filter((actor) => under === undefined || under === "/" || actor.address.startsWith(under)),
      past: (at, under) => say("actors.past", { at, under }, () => [...actors.values()]),
      activity: (span) => say("actors.activity", span, () => []),
      waits: () => waits,
      slots: () => [],
      get: (address) => {
        const actor = actors.get(address);
        return actor ? { actor, context: {}, watches: [], watchers: [], timers: [], queue: 0 } : null;
      },
      story: (address, limit) => say("actors.story", { address, limit }, () => []),
      stop: (address, reason) =>
        say("actors.stop", { address, reason }, () => ({ stopped: true, actors: 3, cancelledQueued: 1, processes: 2, ms: 4 })),
      resume: (address) => say("actors.resume", address, () => undefined),
    },
    models: {
      list: () => [],
      test: (ref) => say("models.test", ref, () => ({ ok: true, model: ref, text: "hi", ms: 1 })),
      addProvider: (request) => say("models.addProvider", request, () => ({ provider: request.name ?? "local", refs: ["local/m"] })),
      find: () => say("models.find", null, () => ({ servers: [], keys: [] })),
    },
    tools: {
      all: () => [],
      offered: (agent) => (known(agent), []),
      call: (agent, tool, request) => say("tools.call", { agent, tool, ...request }, () => ({ ok: true, data: {} })),
      undo: (agent, change) => say("tools.undo", { agent, change }, () => ({ path: "/a" })),
    },
    usage: {
      usage: (query) =>
        say("usage.usage", query, () => ({
          rows: [],
          total: {
            agent: null,
            model: null,
            day: null,
            input: 0,
            output: 0,
            cacheRead: 0,
            cacheWrite: 0,
            reasoning: 0,
            costUsd: null,
            unknown: 0,
            estimated: false,
          },
        })),
    },
    watch: {
      async session(agent, session) {
        await held;
        return agents.get(agent)?.sessions.some((other) => other.slug === session) ? viewOf(agent, session) : null;
      },
      server: () => server,
      onSession: (listener) => on(sessionListeners, listener),
      onTree: (listener) => on(treeListeners, listener),
      view: (address) => actors.get(address) ?? null,
      onAgents: (listener) => on(agentListeners, listener),
      onServer: (listener) => on(serverListeners, listener),
      agent: (name) => agents.get(name) ?? null,
    },
    config: {
      status: () => ({ valid: true, errors: [], inForceSince: 1 }),
      reload: () => say("config.reload", null, () => ({ valid: true, errors: [], inForceSince: 2 })),
    },
  };
  const tell = (listeners: Set<NamesListener>, name: string): void => {
    for (const listener of listeners) listener(new Set([name]));
  };
  return {
    handles,
    calls,
    answers,
    waits,
    server,
    emit(agent, session, type, data) {
      clock += 1;
      views.set(`${agent}/${session}`, foldSession(viewOf(agent, session), { type, data } as SessionFrame, clock));
      for (const listener of sessionListeners) listener(agent, session, type, data, clock);
    },
    view: viewOf,
    holdSessions() {
      let open = (): void => undefined;
      held = new Promise((resolve) => (open = resolve));
      return () => open();
    },
    setActor(actor) {
      actors.set(actor.address, actor);
      tell(treeListeners, actor.address);
    },
    dropActor(address) {
      actors.delete(address);
      tell(treeListeners, address);
    },
    setAgent(line) {
      agents.set(line.name, line);
      tell(agentListeners, line.name);
    },
    dropAgent(name) {
      agents.delete(name);
      tell(agentListeners, name);
    },
    serverChanged() {
      for (const listener of serverListeners) listener();
    },
    sessionListeners: () => sessionListeners.size,
  };
}

function on<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
