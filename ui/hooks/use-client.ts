/** Thin hooks over `src/client`: each subscribes to as little as it shows. */
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import type { Client, LinkState, Outgoing, PastState, Readable } from "../../src/client/index.ts";
import type { AgentLine, ServerLine } from "../../src/protocol/frames.ts";
import type { SessionView } from "../../src/protocol/session-view.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";

export const ClientContext = createContext<Client | null>(null);

export function useClient(): Client {
  const client = useContext(ClientContext);
  if (client === null) throw new Error("no client above this component");
  return client;
}

export function useReadable<Value>(store: Readable<Value>): Value {
  return useSyncExternalStore(store.subscribe, store.getSnapshot);
}

export function useLink(): LinkState {
  return useReadable(useClient().link);
}

/** When what is seen was true, while there is no connection; null while it is live. */
export function useFrozenAt(): number | null {
  const link = useLink();
  return link.status === "live" || link.heardAt === null ? null : link.heardAt;
}

export function usePast(): PastState {
  return useReadable(useClient().past.state);
}

/** When the tree that is seen was true: a moment of the past, or the loss of the connection; null while it is live. */
export function useStillAt(): number | null {
  const { at, shown } = usePast();
  const frozenAt = useFrozenAt();
  return at === null ? frozenAt : (shown?.at ?? at);
}

const NO_AGENTS: AgentLine[] = [];
export function useAgents(): AgentLine[] {
  return useReadable(useClient().agents).view?.agents ?? NO_AGENTS;
}
export function useAgentsKnown(): boolean {
  return useReadable(useClient().agents).view !== null;
}

const NO_ACTORS: ActorView[] = [];
export function useActors(): ActorView[] {
  return useReadable(useClient().tree).view?.actors ?? NO_ACTORS;
}

export function useServer(): ServerLine | null {
  return useReadable(useClient().server).view;
}

export function useSession(
  agent: string,
  session: string,
): { view: SessionView | null; refused: { code: string; message: string } | null } {
  const client = useClient();
  useEffect(() => client.hold(agent, session), [client, agent, session]);
  const store = useMemo(() => client.session(agent, session), [client, agent, session]);
  const { view, refused } = useReadable(store);
  return { view, refused };
}

export function useOutbox(agent: string, session: string): Outgoing[] {
  const all = useReadable(useClient().outbox.entries);
  return useMemo(() => all.filter((entry) => entry.agent === agent && entry.session === session), [all, agent, session]);
}
