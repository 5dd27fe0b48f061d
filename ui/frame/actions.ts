/** One object per user action: the button, the key and the palette share its words, key, guard and deed. */
import { useMemo } from "react";
import { actorHref, goTo, talkHref } from "../hooks/use-route.ts";
import { useAgents, useClient, useFrozenAt } from "../hooks/use-client.ts";
import type { IconName } from "../marks/icon.tsx";
import { newSession } from "../talk/talk-head.tsx";
import { newAgent } from "./new-agent.ts";
import { page } from "./page-state.ts";
import { say } from "./toast.tsx";

export interface Action {
  id: string;
  icon: IconName;
  words: string;
  note?: string;
  key?: string;
  /** Why it cannot be done now. */
  off?: string;
  run: () => void;
}

export function useActions(agent: string | null, session: string | null): Action[] {
  const client = useClient();
  const agents = useAgents();
  const live = useFrozenAt() === null;
  return useMemo(() => {
    const offline = live ? {} : { off: "no connection" };
    const tell = (request: Promise<unknown>): void =>
      void request.catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
    const here: Action[] =
      agent === null || session === null
        ? []
        : [
            { id: "new-session", icon: "plus", words: `New session with ${agent}`, ...offline, run: () => void newSession(client, agent) },
            { id: "hold", icon: "pause", words: "Hold the queue", ...offline, run: () => tell(client.api.hold(agent, session)) },
            { id: "release", icon: "play", words: "Release the queue", ...offline, run: () => tell(client.api.release(agent, session)) },
            {
              id: "inspect",
              icon: "tree",
              words: `Everything about ${agent} / ${session}`,
              run: () => goTo(actorHref(`/agents/${agent}/sessions/${session}`)),
            },
          ];
    const places: Action[] = [
      { id: "tree", icon: "tree", words: "Living tree", key: "G T", run: () => goTo("#/tree") },
      { id: "keys", icon: "keys", words: "All keys", key: "?", run: () => page.showKeys(true) },
      { id: "new-agent", icon: "plus", words: "New agent", ...offline, run: () => void newAgent(client) },
      { id: "light", icon: "note", words: "Light page", run: () => page.setTheme("light") },
      { id: "dark", icon: "note", words: "Dark page", run: () => page.setTheme("dark") },
      { id: "system", icon: "note", words: "Light or dark as the system", run: () => page.setTheme("system") },
    ];
    const sessions = agents.flatMap((other) =>
      other.sessions.map((one): Action => ({
        id: `open:${other.name}/${one.slug}`,
        icon: "right",
        words: `Open ${other.name} / ${one.slug}`,
        ...(one.title === null ? {} : { note: one.title }),
        run: () => goTo(talkHref(other.name, one.slug)),
      })),
    );
    return [...sessions, ...here, ...places];
  }, [client, agents, agent, session, live]);
}
