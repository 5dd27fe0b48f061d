/** The living tree as watchers hold it, and the fold of its frames. */
import type { ActorView } from "./actor-view.ts";
import type { AgentLine, AgentsFrame, TreeFrame } from "./frames.ts";

export interface TreeView {
  actors: ActorView[];
}
export interface AgentsView {
  agents: AgentLine[];
}

export function foldTree(view: TreeView, frame: TreeFrame): TreeView {
  const gone = new Set(frame.data.gone);
  const fresh = new Map(frame.data.actors.map((actor) => [actor.address, actor]));
  const kept = view.actors
    .filter((actor) => !gone.has(actor.address))
    .map((actor) => {
      const changed = fresh.get(actor.address);
      fresh.delete(actor.address);
      return changed ?? actor;
    });
  return { actors: [...kept, ...fresh.values()] };
}

export function foldAgents(view: AgentsView, frame: AgentsFrame): AgentsView {
  const gone = new Set(frame.data.gone);
  const fresh = new Map(frame.data.agents.map((agent) => [agent.name, agent]));
  const agents = view.agents.filter((agent) => !gone.has(agent.name) && !fresh.has(agent.name)).concat(frame.data.agents);
  return { agents: agents.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}
