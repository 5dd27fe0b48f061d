/**
 * The hub of `/live`: owns topics and connections. A topic is built when it is first watched and let go when nobody has
 * watched it for a while; its numbers go on where they were, so a client that comes back is never told a wrong rest.
 */
import { asyncScheduler, Subject, throttleTime, type SchedulerLike, type Subscription } from "rxjs";
import type { WebSocket } from "ws";
import type { AgentLine, AgentsFrame, ServerFrame, ServerLine, TreeFrame } from "../../protocol/frames.ts";
import { sessionOfTopic, TOPIC } from "../../protocol/live-ops.ts";
import { foldAgents, foldTree, type AgentsView, type TreeView } from "../../protocol/tree-view.ts";
import type { ActorView } from "../../protocol/actor-view.ts";
import type { Handles } from "../../ports/handles.port.ts";
import { Connection, type ConnectionHub } from "./connection.ts";
import { feedSession, type SessionFeed, type SessionTopic } from "./session-topic.ts";
import { Topic } from "./topic.ts";

const CHANGES_MS = 100;
const UNWATCHED_MS = 120_000;
const BEAT_MS = 30_000;

type HubHandles = Pick<Handles, "watch" | "actors" | "team" | "version">;
export interface HubOptions {
  now?: () => number;
  /** For tests: virtual time. */
  scheduler?: SchedulerLike;
  log?: (line: string, cause: unknown) => void;
}

export interface Hub {
  /** Takes over a socket whose upgrade was let through. */
  accept(socket: WebSocket): void;
  /** Tells every socket that the server goes (1001) and ends all topics. */
  close(): void;
  /** Ends the sockets that did not answer the goodbye. */
  terminate(): void;
  /** What a snapshot of the topic would hold now; null when it is not watched. For tests and the status page. */
  viewOf(topic: string): unknown;
  readonly connections: number;
}

interface Live {
  topic: Pick<Topic<unknown, { type: string; data: unknown }>, "watch" | "unwatch" | "snapshot" | "watched" | "number" | "watchers"> & {
    readonly view: unknown;
  };
  end(): void;
}

export function createHub(handles: HubHandles, options: HubOptions = {}): Hub {
  return new LiveHub(handles, options);
}

class LiveHub implements Hub, ConnectionHub {
  readonly #handles: HubHandles;
  readonly #now: () => number;
  readonly #scheduler: SchedulerLike;
  readonly #log: (line: string, cause: unknown) => void;
  readonly #connections = new Set<Connection>();
  readonly #live = new Map<string, Live>();
  readonly #feeds = new Map<string, SessionFeed>();
  /** The last number of topics that were let go. */
  readonly #numbers = new Map<string, number>();
  readonly #letGo = new Map<string, Subscription>();
  readonly #off: (() => void)[];
  readonly #beat: Subscription;

  constructor(handles: HubHandles, options: HubOptions) {
    this.#handles = handles;
    this.#now = options.now ?? Date.now;
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#log = options.log ?? (() => undefined);
    this.#off = [
      handles.watch.onSession((agent, session, type, data, at) => this.#feeds.get(TOPIC.session(agent, session))?.take({ type, data, at })),
      handles.watch.onAgents((names) => this.#dropDeleted(names)),
    ];
    const connections = this.#connections;
    this.#beat = this.#scheduler.schedule(function (this) {
      for (const connection of connections) connection.beat();
      this.schedule(undefined, BEAT_MS);
    }, BEAT_MS);
  }

  get connections(): number {
    return this.#connections.size;
  }

  accept(socket: WebSocket): void {
    this.#connections.add(new Connection(socket, this));
  }

  close(): void {
    this.#beat.unsubscribe();
    for (const off of this.#off) off();
    for (const connection of this.#connections) connection.close(1001, "the server stops");
    for (const waiting of this.#letGo.values()) waiting.unsubscribe();
    for (const live of this.#live.values()) live.end();
    this.#live.clear();
    this.#feeds.clear();
  }

  terminate(): void {
    for (const connection of this.#connections) connection.terminate();
  }

  viewOf(topic: string): unknown {
    const text = this.#live.get(topic)?.topic.snapshot(0);
    return text === undefined ? null : (JSON.parse(text) as { data: unknown }).data;
  }

  snapshot(topic: string): string | null {
    return this.#live.get(topic)?.topic.snapshot(this.#now()) ?? null;
  }

  gone(connection: Connection): void {
    this.#connections.delete(connection);
    for (const topic of connection.topics) this.unwatch(connection, topic);
  }

  unwatch(connection: Connection, name: string): void {
    connection.topics.delete(name);
    const live = this.#live.get(name);
    if (!live) return;
    live.topic.unwatch(connection);
    this.#letGoLater(name, live);
  }

  #letGoLater(name: string, live: Live): void {
    if (live.topic.watched || this.#letGo.has(name)) return;
    this.#letGo.set(
      name,
      this.#scheduler.schedule(() => this.#drop(name), UNWATCHED_MS),
    );
  }

  watch(connection: Connection, name: string, since: string | undefined): void {
    const live = this.#live.get(name) ?? this.#open(name);
    if (live) return this.#join(connection, name, live, since);
    const place = sessionOfTopic(name);
    if (!place) {
      connection.refuse(
        "TOPIC_UNKNOWN",
        `There is no topic ${JSON.stringify(name)}; known: tree, agents, server, session:<agent>/<slug>.`,
        { topic: name, bad: true },
      );
      return;
    }
    connection.topics.add(name);
    this.#openSession(name, place).then(
      (opened) => {
        // It may have let go or closed meanwhile.
        if (!connection.topics.has(name)) return opened ? this.#letGoLater(name, opened) : undefined;
        if (opened) return this.#join(connection, name, opened, since);
        connection.topics.delete(name);
        connection.refuse("TOPIC_UNKNOWN", `There is no session ${place.agent}/${place.session}.`, { topic: name, bad: false });
      },
      (error: unknown) => {
        connection.topics.delete(name);
        this.#log(`the topic ${name} cannot be built`, error);
        connection.refuse("INTERNAL", `The session ${place.agent}/${place.session} cannot be read now; watch it again.`, {
          topic: name,
          bad: false,
        });
      },
    );
  }

  #join(connection: Connection, name: string, live: Live, since: string | undefined): void {
    this.#letGo.get(name)?.unsubscribe();
    this.#letGo.delete(name);
    connection.topics.add(name);
    connection.caughtUp(name);
    live.topic.watch(connection, since, this.#now());
  }

  #drop(name: string): void {
    this.#letGo.delete(name);
    const live = this.#live.get(name);
    if (!live) return;
    live.end();
    this.#live.delete(name);
    this.#feeds.delete(name);
    this.#numbers.set(name, live.topic.number);
  }

  /** One above the last: a client that saw the last number has not seen what came while nobody watched. */
  #from(name: string): number {
    const last = this.#numbers.get(name);
    return last === undefined ? 0 : last + 1;
  }

  async #openSession(name: string, { agent, session }: { agent: string; session: string }): Promise<Live | null> {
    let feed = this.#feeds.get(name);
    if (!feed) {
      feed = feedSession({
        name,
        epoch: this.#handles.version.epoch,
        from: this.#from(name),
        load: () => this.#handles.watch.session(agent, session),
        scheduler: this.#scheduler,
      });
      this.#feeds.set(name, feed);
    }
    const mine = feed;
    let topic: SessionTopic | null;
    try {
      topic = await mine.ready;
    } catch (error) {
      if (this.#feeds.get(name) === mine) this.#feeds.delete(name);
      throw error;
    }
    if (topic === null) {
      if (this.#feeds.get(name) === mine) this.#feeds.delete(name);
      return null;
    }
    const known = this.#live.get(name);
    if (known) return known;
    const live: Live = { topic, end: () => mine.end() };
    this.#live.set(name, live);
    return live;
  }

  /** The three topics that are there at once. */
  #open(name: string): Live | null {
    const live =
      name === TOPIC.tree ? this.#tree() : name === TOPIC.agents ? this.#agents() : name === TOPIC.server ? this.#server() : null;
    if (live) this.#live.set(name, live);
    return live;
  }

  #tree(): Live {
    const { watch, actors } = this.#handles;
    const topic = this.#topic<TreeView, TreeFrame>(TOPIC.tree, { actors: actors.list() }, foldTree);
    const end = this.#collect(watch.onTree.bind(watch), (changed) => {
      const views: ActorView[] = [];
      const gone: string[] = [];
      for (const address of changed) {
        const view = watch.view(address);
        if (view === null || view.status === "down") gone.push(address);
        else views.push(view);
      }
      topic.publish({ type: "tree.changed", data: { actors: views, gone } }, this.#now());
    });
    return { topic, end };
  }

  #agents(): Live {
    const { watch, team } = this.#handles;
    const topic = this.#topic<AgentsView, AgentsFrame>(TOPIC.agents, { agents: team.agents() }, foldAgents);
    const end = this.#collect(watch.onAgents.bind(watch), (names) => {
      const agents: AgentLine[] = [];
      const gone: string[] = [];
      for (const name of names) {
        const line = watch.agent(name);
        if (line === null) gone.push(name);
        else agents.push(line);
      }
      topic.publish({ type: "agents.changed", data: { agents, gone } }, this.#now());
    });
    return { topic, end };
  }

  #server(): Live {
    const { watch } = this.#handles;
    const topic = this.#topic<ServerLine, ServerFrame>(TOPIC.server, watch.server(), (_, frame) => frame.data);
    const end = this.#collect(
      (listener) => watch.onServer(() => listener(new Set([TOPIC.server]))),
      () => topic.publish({ type: "server.changed", data: watch.server() }, this.#now()),
    );
    return { topic, end };
  }

  #topic<View, Frame extends { type: string; data: unknown }>(
    name: string,
    view: View,
    fold: (view: View, frame: Frame) => View,
  ): Topic<View, Frame> {
    return new Topic({ name, epoch: this.#handles.version.epoch, from: this.#from(name), view, fold });
  }

  /** Gathers changes: the first is told at once, what follows at most ten times a second. */
  #collect(on: (listener: (changed: ReadonlySet<string>) => void) => () => void, tell: (changed: ReadonlySet<string>) => void): () => void {
    const pokes = new Subject<void>();
    let waiting = new Set<string>();
    const told = pokes.pipe(throttleTime(CHANGES_MS, this.#scheduler, { leading: true, trailing: true })).subscribe(() => {
      const changed = waiting;
      waiting = new Set();
      if (changed.size > 0) tell(changed);
    });
    const off = on((changed) => {
      for (const name of changed) waiting.add(name);
      pokes.next();
    });
    return () => {
      off();
      told.unsubscribe();
    };
  }

  /** A session that was deleted has no topic any more; its watchers are told. */
  #dropDeleted(names: ReadonlySet<string>): void {
    for (const name of this.#feeds.keys()) {
      const place = sessionOfTopic(name);
      const live = this.#live.get(name);
      if (!place || !live || !names.has(place.agent)) continue;
      const line = this.#handles.watch.agent(place.agent);
      if (line?.sessions.some((session) => session.slug === place.session) ?? false) continue;
      const watchers = live.topic.watchers() as Connection[];
      this.#letGo.get(name)?.unsubscribe();
      this.#drop(name);
      for (const connection of watchers) {
        connection.topics.delete(name);
        connection.refuse("TOPIC_UNKNOWN", `The session ${place.agent}/${place.session} is gone.`, { topic: name, bad: false });
      }
    }
  }
}
