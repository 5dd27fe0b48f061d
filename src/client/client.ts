/**
 * One client of one server: a link, a store per topic, the calls, the outbox, drafts and unread marks. Knows no page and no
 * terminal; both are skins over it.
 */
import type { AgentsFrame, Frame, ServerFrame, ServerLine, SessionFrame, TreeFrame } from "../protocol/frames.ts";
import { TOPIC } from "../protocol/live-ops.ts";
import { foldSession, type SessionView } from "../protocol/session-view.ts";
import { foldAgents, foldTree, type AgentsView, type TreeView } from "../protocol/tree-view.ts";
import { Api, RequestFailed, type Fetch } from "./api.ts";
import { Drafts } from "./drafts.ts";
import { Link, type LinkState } from "./link.ts";
import { Outbox } from "./outbox.ts";
import { withOlder, takeSession } from "./pages.ts";
import { PastTree } from "./past-tree.ts";
import { Notifier, type Batch, type Readable } from "./store.ts";
import type { Keep, OpenSocket, Time } from "./surroundings.ts";
import { Topic, type TopicState } from "./topic.ts";
import { Unread } from "./unread.ts";

export interface ClientOptions {
  open: OpenSocket;
  fetch: Fetch;
  keep: Keep;
  time: Time;
  /** Default: a microtask. */
  batch?: Batch;
  base?: string;
  key?: string;
}

export interface Client {
  readonly api: Api;
  readonly link: Readable<LinkState>;
  readonly tree: Readable<TopicState<TreeView>>;
  readonly agents: Readable<TopicState<AgentsView>>;
  readonly server: Readable<TopicState<ServerLine>>;
  /** The tree as it was, while somebody looks at the past. */
  readonly past: PastTree;
  readonly outbox: Outbox;
  readonly drafts: Drafts;
  readonly unread: Unread;
  /** The session's store; watched as long as anyone holds it, and a while longer. */
  session(agent: string, session: string): Readable<TopicState<SessionView>>;
  /** Keeps a session watched until the returned function is called. */
  hold(agent: string, session: string): () => void;
  /** Fetches the next older page into the session's view. Resolves when it is in; at most one runs per session. */
  older(agent: string, session: string): Promise<void>;
  start(): void;
  tryNow(): void;
  /** The tab or the machine woke up. */
  wake(): void;
  close(): void;
}

/** A session nobody looks at stays watched this long, so going back and forth costs nothing. */
const LINGER = 60_000;

export function createClient(options: ClientOptions): Client {
  const notifier = new Notifier(options.batch ?? ((flush) => queueMicrotask(flush)));
  const api = new Api({
    fetch: options.fetch,
    ...(options.base === undefined ? {} : { base: options.base }),
    ...(options.key === undefined ? {} : { key: options.key }),
  });
  const link = new Link({ open: options.open, time: options.time, notifier, probe: () => probe(api) });
  const outbox = new Outbox(api, options.keep, options.time, notifier);
  const sessions = new Map<string, { topic: Topic<SessionView>; holders: number; watched: boolean; cancel: (() => void) | null }>();
  const pages = new Map<string, Promise<void>>();

  const tree = new Topic<TreeView>(TOPIC.tree, (view, frame) => foldTree(view, frame as Frame & TreeFrame), notifier);
  const agents = new Topic<AgentsView>(TOPIC.agents, (view, frame) => foldAgents(view, frame as Frame & AgentsFrame), notifier);
  const server = new Topic<ServerLine>(TOPIC.server, (_, frame) => (frame as Frame & ServerFrame).data, notifier);
  for (const topic of [tree, agents, server]) link.watch(topic as Topic<unknown>);

  let wasLive = false;
  link.state.subscribe(() => {
    const isLive = link.state.getSnapshot().status === "live";
    if (isLive && !wasLive) outbox.flush();
    wasLive = isLive;
  });

  // A session that was refused may have been made since.
  agents.store.subscribe(() => {
    for (const held of sessions.values())
      if (held.watched && held.topic.store.getSnapshot().refused !== null) link.watch(held.topic as Topic<unknown>);
  });

  const topicOf = (
    agent: string,
    session: string,
  ): { topic: Topic<SessionView>; holders: number; watched: boolean; cancel: (() => void) | null } => {
    const name = TOPIC.session(agent, session);
    let held = sessions.get(name);
    if (held === undefined) {
      const topic = new Topic<SessionView>(
        name,
        (view, frame) => foldSession(view, frame as Frame & SessionFrame, frame.at),
        notifier,
        takeSession,
      );
      topic.store.subscribe(() => {
        const { view } = topic.store.getSnapshot();
        if (view !== null) outbox.seen(turnsIn(view));
      });
      held = { topic, holders: 0, watched: false, cancel: null };
      sessions.set(name, held);
    }
    return held;
  };

  return {
    api,
    link: link.state,
    tree: tree.store,
    agents: agents.store,
    server: server.store,
    past: new PastTree(api, notifier),
    outbox,
    drafts: new Drafts(options.keep),
    unread: new Unread(options.keep, notifier),
    session: (agent, session) => topicOf(agent, session).topic.store,
    hold(agent, session) {
      const held = topicOf(agent, session);
      held.cancel?.();
      held.cancel = null;
      held.holders += 1;
      if (!held.watched) link.watch(held.topic as Topic<unknown>);
      held.watched = true;
      let gone = false;
      return () => {
        if (gone) return;
        gone = true;
        held.holders -= 1;
        if (held.holders > 0) return;
        held.cancel = options.time.after(LINGER, () => {
          link.unwatch(held.topic.name);
          sessions.delete(held.topic.name);
        });
      };
    },
    older(agent, session) {
      const name = TOPIC.session(agent, session);
      const running = pages.get(name);
      if (running !== undefined) return running;
      const { topic } = topicOf(agent, session);
      const { view } = topic.store.getSnapshot();
      if (view === null || !view.hasMore || view.oldestSeq === null) return Promise.resolve();
      const page = api
        .history(agent, session, view.oldestSeq)
        .then((found) => topic.revise((now) => withOlder(now, found)))
        .finally(() => pages.delete(name));
      pages.set(name, page);
      return page;
    },
    start: () => link.start(),
    tryNow: () => link.tryNow(),
    wake: () => link.wake(),
    close() {
      link.close();
      outbox.close();
      for (const held of sessions.values()) held.cancel?.();
    },
  };
}

/** Every turn a view knows of, so that the outbox can let go of what is shown. */
function turnsIn(view: SessionView): ReadonlySet<string> {
  const ids = new Set<string>();
  if (view.active !== null) ids.add(view.active.turnId);
  for (const entry of view.queue) ids.add(entry.turnId);
  for (const steer of view.steers) ids.add(steer.steerId);
  for (const row of view.rows.slice(-50)) {
    if (row.turnId !== null) ids.add(row.turnId);
    if (row.kind === "user_message" && row.data.steerId !== undefined) ids.add(row.data.steerId);
  }
  return ids;
}

async function probe(api: Api): Promise<"known" | "unpaired" | "away"> {
  try {
    await api.knowsUs();
    return "known";
  } catch (error) {
    return error instanceof RequestFailed && error.status === 401 ? "unpaired" : "away";
  }
}
