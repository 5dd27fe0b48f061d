/** Left: agents with their sessions. Two lines each: name, and why in few words. */
import { atTime, isUnread, type TreeNode } from "../../src/client/index.ts";
import type { AgentLine } from "../../src/protocol/frames.ts";
import { agentAddress } from "../../src/protocol/ids.ts";
import { useAgents, useAgentsKnown, useClient, useFrozenAt, useReadable } from "../hooks/use-client.ts";
import { findNode, useTree } from "../hooks/use-tree.ts";
import { talkHref, type Route } from "../hooks/use-route.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";
import { Tile } from "../marks/tile.tsx";
import { newAgent } from "./new-agent.ts";
import { newSession } from "../talk/talk-head.tsx";
import { page } from "./page-state.ts";

export function Rail({ route, full }: { route: Route; full: boolean }) {
  const client = useClient();
  const agents = useAgents();
  const known = useAgentsKnown();
  const tree = useTree();
  return (
    <div
      className={`flex min-h-0 flex-col border-r border-line bg-rail [grid-area:rail] ${full ? "max-rail:fixed max-rail:inset-x-0 max-rail:top-0 max-rail:bottom-(--h-line) max-rail:z-5 max-rail:border-r-0" : "max-rail:hidden"}`}
    >
      <div className="flex h-(--h-head) flex-none items-center gap-2 border-b border-line px-4">
        <a href="#/" className="flex items-center gap-2 text-[1rem] font-[700] tracking-tight">
          <Icon name="tree" className="!size-[1.125rem]" />
          somora
        </a>
        <span className="flex-1" />
        <button
          type="button"
          className="icon-btn"
          aria-label="Search and commands, Ctrl K"
          title="Search and commands, Ctrl K"
          onClick={() => page.showPalette(true)}
        >
          <Icon name="search" />
        </button>
      </div>
      <nav aria-label="Agents" className="quiet-scroll min-h-0 flex-1 overflow-x-hidden overflow-y-auto p-2">
        <div className="flex items-center justify-between px-2 pt-1.5 pb-1 text-tiny text-ink-3">
          <span>Agents</span>
          <button
            type="button"
            className="icon-btn !size-6 max-rail:!size-11"
            aria-label="New agent"
            title="New agent"
            onClick={() => void newAgent(client)}
          >
            <Icon name="plus" />
          </button>
        </div>
        {agents.map((agent) => (
          <Agent
            key={agent.name}
            agent={agent}
            node={findNode(tree, agentAddress(agent.name))}
            open={route.place === "talk" && route.agent === agent.name ? route.session : null}
          />
        ))}
        {agents.length === 0 ? (
          <p className="px-2 py-1 text-small text-ink-3">
            {known ? "No agent is here yet. One begins with the plus above." : "Asking the server."}
          </p>
        ) : null}
      </nav>
      <nav aria-label="Places" className="border-t border-line p-2">
        <a
          className="flex h-(--h-row) items-center gap-2 rounded-2 px-2 text-ink-2 hover:bg-fill aria-[current]:bg-fill-2 aria-[current]:text-ink"
          href="#/tree"
          aria-current={route.place === "tree" ? "page" : undefined}
        >
          <Icon name="tree" />
          Living tree
        </a>
        <button
          type="button"
          className="flex h-(--h-row) w-full items-center gap-2 rounded-2 px-2 text-ink-2 hover:bg-fill"
          onClick={() => page.showKeys(true)}
        >
          <Icon name="keys" />
          Keys<kbd className="key ml-auto text-ink-3">?</kbd>
        </button>
      </nav>
    </div>
  );
}

function Agent({ agent, node, open }: { agent: AgentLine; node: TreeNode | null; open: string | null }) {
  const client = useClient();
  const seen = useReadable(client.unread.seen);
  const frozenAt = useFrozenAt();
  const said = node?.said ?? null;
  const problem = agent.problem;
  const move = problem !== null ? "bad" : (said?.move ?? "none");
  const words = problem ?? wordsFor(agent, node, frozenAt);
  const unread = agent.sessions.some((session) => isUnread(seen, agent.name, session));
  const first = agent.sessions.find((session) => session.slug === "main") ?? agent.sessions[0];
  return (
    <>
      <a
        className="grid w-full grid-cols-[1.625rem_minmax(0,1fr)_auto] items-center gap-x-2.5 rounded-2 px-2 py-1 hover:bg-fill aria-[current]:bg-fill-2 max-rail:py-2"
        href={talkHref(agent.name, first?.slug ?? "main")}
        aria-current={open === null ? undefined : "true"}
        data-move={move}
        title={agent.name}
      >
        <Tile name={agent.name} color={agent.color} className="row-span-2" />
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate leading-[1.125rem] font-strong">{agent.name}</span>
          {open === null && unread ? <Dot /> : null}
        </span>
        <Mark name={problem !== null ? "failed" : (said?.mark ?? "idle")} still={said === null || !said.moves} />
        <span className="col-span-2 truncate text-meta text-word">{words}</span>
      </a>
      {open === null
        ? null
        : agent.sessions.map((session) => (
            <a
              key={session.slug}
              className="ml-[2.1875rem] flex h-[1.625rem] items-center gap-2 rounded-2 px-2 text-small text-ink-2 hover:bg-fill aria-[current]:font-strong aria-[current]:text-ink max-rail:h-10"
              href={talkHref(agent.name, session.slug)}
              aria-current={open === session.slug ? "page" : undefined}
              title={session.title ?? session.slug}
            >
              <span className="truncate">{session.title !== null && session.slug !== "main" ? session.title : session.slug}</span>
              <span className="ml-auto flex items-center gap-2 font-normal text-tiny text-ink-3">
                {session.queued > 0 ? `${session.queued} queued` : ""}
                {open !== session.slug && isUnread(seen, agent.name, session) ? <Dot /> : null}
              </span>
            </a>
          ))}
      {open === null ? null : (
        <button
          type="button"
          className="ml-[2.1875rem] flex h-[1.625rem] items-center gap-2 rounded-2 px-2 text-small text-ink-3 hover:bg-fill hover:text-ink-2 max-rail:h-10"
          onClick={() => void newSession(client, agent.name)}
        >
          <Icon name="plus" className="!size-3.5" />
          New session
        </button>
      )}
    </>
  );
}

function Dot() {
  return <span className="size-[0.4375rem] flex-none rounded-full bg-ink" role="img" aria-label="unread" />;
}

function wordsFor(agent: AgentLine, node: TreeNode | null, frozenAt: number | null): string {
  const tail = agent.rehearsal ? ", rehearsal" : "";
  if (node === null) return agent.model === null ? "no model yet" : `idle${tail}`;
  const { said } = node;
  if (frozenAt !== null && said.move === "run") return `${said.word}, as of ${atTime(frozenAt, Date.now())}`;
  if (said.move === "none" && said.mark === "idle") {
    const last = Math.max(0, ...agent.sessions.filter((session) => session.newestSeq > 0).map((session) => session.lastAt));
    return last === 0 ? `idle${tail}` : `idle since ${atTime(last, Date.now())}${tail}`;
  }
  const busy = node.children.find((child) => child.said.mark === said.mark && child.kind === "session" && child.name !== "main");
  return busy === undefined ? said.word : `${said.word}, in ${busy.name}`;
}
