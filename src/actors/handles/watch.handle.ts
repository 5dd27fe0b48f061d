/** Watch: where a live watcher starts, and what tells it that something changed. */
import type { ServerLine } from "../../protocol/frames.ts";
import { type Address, placeOf } from "../../protocol/ids.ts";
import type { WatchHandle } from "../../ports/handles.port.ts";
import type { CommitNews } from "../kernel/core.ts";
import type { RuntimeParts } from "../runtime-parts.ts";
import { actorView } from "./actors.handle.ts";
import { agentLine } from "./team.handle.ts";

/** The rail shows lines; only these kinds change them. */
const LINE_KINDS = new Set(["agent", "session", "turn"]);

export class Watching implements WatchHandle {
  readonly #parts: RuntimeParts;
  readonly #serverLine: () => ServerLine;
  readonly #tree = new Set<(changed: ReadonlySet<string>) => void>();
  readonly #agents = new Set<(names: ReadonlySet<string>) => void>();
  readonly #server = new Set<() => void>();

  constructor(parts: RuntimeParts, serverLine: () => ServerLine) {
    this.#parts = parts;
    this.#serverLine = serverLine;
  }

  /** Called for each commit, after the views took it. */
  committed(news: CommitNews): void {
    if (news.changed.size === 0) return;
    for (const listener of this.#tree) listener(news.changed);
    const names = new Set<string>();
    for (const address of news.changed) {
      const { agent } = placeOf(address);
      const kind = this.#parts.kernel.committed(address)?.kind;
      if (agent !== undefined && (kind === undefined || LINE_KINDS.has(kind))) names.add(agent);
    }
    if (names.size > 0) this.agentsChanged(names);
  }

  agentsChanged(names: ReadonlySet<string>): void {
    for (const listener of this.#agents) listener(names);
  }

  serverChanged(): void {
    for (const listener of this.#server) listener();
  }

  session: WatchHandle["session"] = (agent, session) => this.#parts.views.view(agent, session);
  server: WatchHandle["server"] = () => this.#serverLine();
  onSession: WatchHandle["onSession"] = (listener) => this.#parts.views.on(listener);
  view: WatchHandle["view"] = (address) => actorView(this.#parts, address as Address);
  agent: WatchHandle["agent"] = (name) => agentLine(this.#parts, name);

  onTree: WatchHandle["onTree"] = (listener) => {
    this.#tree.add(listener);
    return () => this.#tree.delete(listener);
  };
  onAgents: WatchHandle["onAgents"] = (listener) => {
    this.#agents.add(listener);
    return () => this.#agents.delete(listener);
  };
  onServer: WatchHandle["onServer"] = (listener) => {
    this.#server.add(listener);
    return () => this.#server.delete(listener);
  };
}
