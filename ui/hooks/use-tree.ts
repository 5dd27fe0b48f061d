/** The living tree, built once per change for everyone who shows a part of it. */
import { createContext, useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import {
  buildTree,
  callEnd,
  Departed,
  endedCalls,
  type Readable,
  sentenceOf,
  type TopicState,
  type TreeNode,
  type Voice,
} from "../../src/client/index.ts";
import { sessionAddress } from "../../src/protocol/ids.ts";
import type { SessionView } from "../../src/protocol/session-view.ts";
import { aboutOf } from "../talk/call-words.ts";
import { useActors, useClient, useFrozenAt } from "./use-client.ts";

export const TreeContext = createContext<TreeNode[]>([]);
export const useTree = (): TreeNode[] => useContext(TreeContext);

/** For the frame only: builds it. Sentences with spans are made anew by whoever shows them. */
export function useBuiltTree(open: { agent: string; session: string } | null): TreeNode[] {
  const store = useOpenStore(open);
  const voice = useVoice(store);
  const rows = useSyncExternalStore(store.subscribe, () => store.getSnapshot()?.view?.rows);
  const actors = useActors();
  const frozenAt = useFrozenAt();
  const departed = useRef<Departed>(null);
  departed.current ??= new Departed();
  const [tick, setTick] = useState(0);
  const now = frozenAt ?? Date.now();
  const taken = useMemo(() => departed.current?.take(actors, now) ?? { actors, gone: new Set<string>() }, [actors, tick]); // eslint-disable-line react-hooks/exhaustive-deps
  const shown = useMemo(() => {
    const past = endedCalls(store.getSnapshot()?.view ?? null, now, aboutOf);
    const told = new Set(past.map((actor) => actor.detail["callId"]));
    const alive = new Set(taken.actors.filter((actor) => !taken.gone.has(actor.address)).map((actor) => actor.detail["callId"]));
    const kept = taken.actors.filter((actor) => !taken.gone.has(actor.address) || !told.has(actor.detail["callId"]));
    const added = past.filter((actor) => !alive.has(actor.detail["callId"]));
    return { actors: [...kept, ...added], gone: new Set([...taken.gone, ...added.map((actor) => actor.address)]) };
  }, [taken, store, rows]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    if (shown.gone.size === 0 || frozenAt !== null) return undefined;
    const timer = setTimeout(() => setTick((count) => count + 1), 2500);
    return () => clearTimeout(timer);
  }, [shown, frozenAt]);
  return useMemo(
    () => buildTree(shown.actors, now, shown.gone, voice, (actor) => callEnd(store.getSnapshot()?.view ?? null, actor)),
    [shown, voice, store],
  ); // eslint-disable-line react-hooks/exhaustive-deps
}

const NOTHING: SessionStore = { getSnapshot: () => null, subscribe: () => () => undefined };

type SessionStore = Readable<TopicState<SessionView> | null>;

function useOpenStore(open: { agent: string; session: string } | null): SessionStore {
  const client = useClient();
  const [agent, session] = [open?.agent, open?.session];
  return useMemo(() => (agent === undefined || session === undefined ? NOTHING : client.session(agent, session)), [client, agent, session]);
}

/** Changes only when the open conversation's mark does, not with every piece of its text. */
function useVoice(store: SessionStore): Voice | null {
  const last = useRef<Voice | null>(null);
  return useSyncExternalStore(store.subscribe, () => {
    const view = store.getSnapshot()?.view ?? null;
    if (view?.active === null || view === null) return (last.current = null);
    const said = sentenceOf({ session: view, now: Date.now() });
    const address = sessionAddress(view.agent, view.session);
    if (last.current?.said.mark !== said.mark || last.current.address !== address) last.current = { address, said };
    return last.current;
  });
}

export function findNode(roots: readonly TreeNode[], address: string): TreeNode | null {
  for (const node of roots) {
    if (node.address === address) return node;
    if (address.startsWith(`${node.address}/`)) {
      const found = findNode(node.children, address);
      if (found !== null) return found;
    }
  }
  return null;
}
