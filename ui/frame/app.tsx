/** The frame: rail, place, tree, truth line. It never changes; places do. */
import { lazy, Suspense, useEffect, useRef } from "react";
import { sessionAddress } from "../../src/protocol/ids.ts";
import { useAgents, useAgentsKnown, useClient, useFrozenAt, useLink } from "../hooks/use-client.ts";
import { goTo, talkHref, useRoute, type Route } from "../hooks/use-route.ts";
import { TreeContext, useBuiltTree } from "../hooks/use-tree.ts";
import { Talk } from "../talk/talk.tsx";
import { TreePanel } from "../tree/tree-panel.tsx";
import { AskDialog } from "./ask.tsx";
import { listenForKeys, onKeys } from "./keys.ts";
import { page, usePage } from "./page-state.ts";
import { Rail } from "./rail.tsx";
import { Strips } from "./strips.tsx";
import { Toast } from "./toast.tsx";
import { Truth } from "./truth.tsx";

const Unpaired = lazy(() => import("./unpaired.tsx").then((found) => ({ default: found.Unpaired })));
const Palette = lazy(() => import("./palette.tsx").then((found) => ({ default: found.Palette })));
const KeysPage = lazy(() => import("./keys-page.tsx").then((found) => ({ default: found.KeysPage })));

export function App({ pairingSaid }: { pairingSaid: string | null }) {
  const link = useLink();
  const talk = useLastTalk(useRoute());
  const tree = useBuiltTree(talk);
  if (link.status === "unpaired")
    return (
      <Suspense fallback={null}>
        <Unpaired said={pairingSaid} />
      </Suspense>
    );
  return (
    <TreeContext value={tree}>
      <Frame />
    </TreeContext>
  );
}

/** The last conversation that was open: the tree place and the actor place keep it beside them. */
function useLastTalk(route: Route): { agent: string; session: string } | null {
  const last = useRef<{ agent: string; session: string } | null>(null);
  if (route.place === "talk") last.current = { agent: route.agent, session: route.session };
  return last.current;
}

function Frame() {
  const route = useRoute();
  const state = usePage();
  const frozen = useFrozenAt() !== null;
  const agents = useAgents();
  const known = useAgentsKnown();
  const talk = useLastTalk(route);
  const home = route.place === "home";

  useEffect(() => {
    const phone = window.matchMedia("(max-width: 47.5em)").matches;
    const first = agents.find((agent) => agent.name === "guide") ?? agents[0];
    if (home && !phone && first !== undefined) goTo(talkHref(first.name, "main"), true);
  }, [home, agents]);
  useEffect(() => {
    if (route.place === "actor") page.select(route.address);
    if (route.place === "talk") page.select(null);
  }, [route]);
  useFrameKeys(route, talk);

  const treeOpen = state.tree ? "max-tree:flex" : "max-tree:hidden";
  return (
    <div
      className={`grid h-full grid-cols-[var(--w-rail)_minmax(0,1fr)_var(--w-tree)] grid-rows-[auto_minmax(0,1fr)_var(--h-line)] [grid-template-areas:'strips_strips_strips'_'rail_talk_tree'_'truth_truth_truth'] max-tree:grid-cols-[var(--w-rail)_minmax(0,1fr)] max-tree:[grid-template-areas:'strips_strips'_'rail_talk'_'truth_truth'] max-rail:grid-cols-[minmax(0,1fr)] max-rail:grid-rows-[var(--h-head)_var(--h-line)_auto_minmax(0,1fr)] max-rail:[grid-template-areas:none] ${frozen ? "frozen" : ""}`}
      style={state.treeWidth === null ? undefined : ({ "--w-tree": `${state.treeWidth}px` } as React.CSSProperties)}
    >
      <Strips />
      <Rail route={route} full={home} />
      {route.place === "tree" || route.place === "actor" ? (
        <main className="flex min-h-0 min-w-0 flex-col rail:col-start-2 rail:col-end-[-1] rail:row-start-2 max-rail:[grid-area:1/1/5/2]">
          <TreePanel
            key={route.place === "tree" ? route.query : "actor"}
            open={null}
            session={null}
            wide
            query={route.place === "tree" ? route.query : ""}
            moment={route.place === "tree" ? route.at : null}
          />
        </main>
      ) : talk === null ? (
        <main className="px-6 py-6 text-ink-2 [grid-area:talk] max-rail:hidden">
          {known ? "No agent is here yet. One begins with the plus at the left." : "Asking the server."}
        </main>
      ) : (
        <Talk agent={talk.agent} session={talk.session} row={route.place === "talk" ? route.row : null} />
      )}
      {route.place === "tree" || route.place === "actor" ? null : (
        <>
          {state.tree ? (
            <div className="fixed inset-0 z-3 bg-black/40 tree:hidden rail:bg-transparent" onClick={() => page.showTree(false)} />
          ) : null}
          <aside
            aria-label="Living tree"
            className={`relative flex min-h-0 min-w-0 flex-col border-l border-line bg-rail tree:[grid-area:tree] max-tree:fixed max-tree:top-0 max-tree:right-0 max-tree:bottom-(--h-line) max-tree:z-4 max-tree:w-[min(26.25rem,80vw)] max-tree:shadow-pop max-tree:slide max-rail:inset-x-0 max-rail:top-auto max-rail:bottom-0 max-rail:h-[86%] max-rail:w-full max-rail:overflow-hidden max-rail:rounded-t-4 max-rail:border-l-0 max-rail:bg-canvas ${treeOpen}`}
          >
            <Resizer />
            <TreePanel open={talk?.agent ?? null} session={talk === null ? null : sessionAddress(talk.agent, talk.session)} />
          </aside>
        </>
      )}
      <Truth home={home} />
      <AskDialog />
      <Toast />
      <Suspense fallback={null}>
        {state.palette ? <Palette agent={talk?.agent ?? null} session={talk?.session ?? null} /> : null}
        {state.keys ? <KeysPage /> : null}
      </Suspense>
    </div>
  );
}

function Resizer() {
  return (
    <div
      className="absolute inset-y-0 -left-1 z-2 w-2 cursor-col-resize touch-none max-tree:hidden"
      aria-hidden="true"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId))
          page.setTreeWidth(Math.min(560, Math.max(320, window.innerWidth - event.clientX)));
      }}
    />
  );
}

function useFrameKeys(route: Route, talk: { agent: string; session: string } | null): void {
  const client = useClient();
  const agents = useAgents();
  const pendingG = useRef(0);
  useEffect(() => listenForKeys(), []);
  useEffect(() => {
    const step = (by: number): boolean => {
      const at = agents.findIndex((agent) => agent.name === talk?.agent);
      const next = agents[at + by];
      if (next !== undefined) goTo(talkHref(next.name, "main"));
      return true;
    };
    const stepSession = (by: number): boolean => {
      const sessions = agents.find((agent) => agent.name === talk?.agent)?.sessions ?? [];
      const next = sessions[sessions.findIndex((session) => session.slug === talk?.session) + by];
      if (next !== undefined && talk !== null) goTo(talkHref(talk.agent, next.slug));
      return true;
    };
    const afterG = (): boolean => Date.now() - pendingG.current < 1000;
    return onKeys({
      "Ctrl k": () => page.showPalette(true),
      "?": () => page.showKeys(true),
      "Alt ArrowUp": () => step(-1),
      "Alt ArrowDown": () => step(1),
      "Alt ArrowLeft": () => stepSession(-1),
      "Alt ArrowRight": () => stepSession(1),
      g: () => void (pendingG.current = Date.now()),
      t: () => (afterG() ? goTo("#/tree") : page.showTree(!page.get().tree)),
      c: () => (afterG() && talk !== null ? goTo(talkHref(talk.agent, talk.session)) : false),
      i: () => document.querySelector<HTMLTextAreaElement>("main textarea")?.focus(),
      Escape: () => {
        if (!page.get().tree || client.past.at !== null) return false;
        page.showTree(false);
        return true;
      },
    });
  }, [client, agents, talk, route]);
}
