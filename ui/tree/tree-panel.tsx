/** The living tree, now or as it was: chips, rows, the inspector of what is selected, and the time strip. */
import { lazy, Suspense, useEffect, useMemo, useState, type ReactNode } from "react";
import { buildTree, countMoves, exactTime, type Filter, type MarkName, rowsOf, type Shape } from "../../src/client/index.ts";
import { page, usePage } from "../frame/page-state.ts";
import { useActors, useClient, useFrozenAt, usePast } from "../hooks/use-client.ts";
import { findNode, useTree } from "../hooks/use-tree.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";
import { TreeRows } from "./tree-rows-view.tsx";

// Asked for with the page, but nothing of the first picture waits for it.
const below = import("./below.tsx");
const Inspector = lazy(() => below.then((found) => ({ default: found.Inspector })));
const PastHead = lazy(() => below.then((found) => ({ default: found.PastHead })));
const WaitArrows = lazy(() => below.then((found) => ({ default: found.WaitArrows })));
const TimeStrip = lazy(() => below.then((found) => ({ default: found.TimeStrip })));

export function TreePanel({
  open,
  session,
  wide = false,
  query = "",
  moment = null,
}: {
  open: string | null;
  session: string | null;
  wide?: boolean;
  query?: string;
  /** The moment of the past an address names. */
  moment?: number | null;
}) {
  const client = useClient();
  const past = usePast();
  const live = useTree();
  const told = useActors();
  const { shown: was } = past;
  const before = useMemo(() => (was === null ? null : buildTree(was.actors, was.at)), [was]);
  const roots = before ?? live;
  const actors = was?.actors ?? told;
  useEffect(() => {
    if (moment !== null) client.past.to(moment);
  }, [client, moment]);
  const frozenAt = useFrozenAt();
  const { selected } = usePage();
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState<Filter>("all");
  const [name, setName] = useState(query);
  const [finding, setFinding] = useState(query !== "");
  const shape: Shape = { folds, filter, name, whole, open };
  const rows = rowsOf(roots, shape);
  const counts = countMoves(roots);
  const at = selected ?? session;
  const node = at === null ? null : findNode(roots, at);
  // On the phone the truth line and the strips lie below the head of a place; in the drawer they do not.
  const under = wide ? "max-rail:mb-[calc(var(--h-line)+var(--h-strips,0px))]" : "";
  const chips: [Filter, MarkName, string, number][] = [
    ["run", "working", "Working", counts.run],
    ["wait", "agent", "Waiting", counts.wait],
    ["you", "you", "For you", counts.you],
    ["bad", "failed", "Broken", counts.bad],
  ];
  return (
    <>
      {past.at !== null ? (
        <Suspense fallback={<div className={`h-(--h-head) flex-none border-b border-line ${under}`} />}>
          <PastHead at={past.at} className={under} />
        </Suspense>
      ) : frozenAt === null ? (
        <Head
          wide={wide}
          className={under}
          find={() => {
            setFinding(!finding);
            setName("");
          }}
        >
          Living tree <span className="font-normal text-ink-3">{actors.length}</span>
        </Head>
      ) : (
        <div className={`hatched flex h-(--h-head) flex-none items-center gap-2 border-b border-line px-4 text-small ${under}`}>
          <Icon name="clock" />
          <span className="min-w-0 flex-1 truncate">
            <b className="font-strong">As it was at {exactTime(frozenAt)}.</b> Clocks stand still.
          </span>
          <button type="button" className="icon-btn tree:!hidden" aria-label="Close" onClick={() => page.showTree(false)}>
            <Icon name="close" />
          </button>
        </div>
      )}
      {finding ? (
        <div className="flex-none border-b border-line p-2">
          <input
            autoFocus
            className="field w-full"
            placeholder="Filter by name"
            aria-label="Filter by name"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
      ) : null}
      <div
        className="quiet-scroll flex flex-none gap-0.5 overflow-x-auto border-b border-line px-2.5 py-2"
        role="group"
        aria-label="Whose move"
      >
        <Chip pressed={filter === "all"} onPick={() => setFilter("all")}>
          All
        </Chip>
        {chips
          .filter(([move, , , number]) => number > 0 || filter === move)
          .map(([move, mark, word, number]) => (
            <Chip
              key={move}
              pressed={filter === move}
              move={move === "wait" ? "none" : move}
              onPick={() => setFilter(filter === move ? "all" : move)}
            >
              <Mark name={mark} still className="!size-[0.8125rem]" />
              {word} {number}
            </Chip>
          ))}
        {counts.run + counts.wait + counts.you + counts.bad === 0 && roots.length > 0 ? (
          <span className="flex items-center gap-1.5 px-2 text-small text-ink-3">
            <Mark name="idle" className="!size-[0.8125rem]" />
            all idle
          </span>
        ) : null}
      </div>
      <div className={`min-h-0 flex-1 ${wide ? "grid grid-cols-[minmax(0,1fr)_25.25rem] max-tree:grid-cols-1" : "flex flex-col"}`}>
        <TreeRows
          rows={rows}
          selected={node?.address ?? null}
          empty={
            roots.length > 0
              ? "Nothing fits the filter."
              : past.at === null
                ? "Nothing lives here yet. What you start shows here."
                : "Nothing lived here then, or it is no longer kept."
          }
          busy={past.refused === null && past.at !== (was?.at ?? null)}
          beside={(height) =>
            past.at === null ? (
              <Suspense fallback={null}>
                <WaitArrows rows={rows} height={height} />
              </Suspense>
            ) : null
          }
          onSelect={(address) => page.select(address)}
          onFold={(address, isOpen) => setFolds(new Map(folds).set(address, isOpen))}
          onMore={(parent) => setWhole(new Set(whole).add(parent))}
        />
        {at === null || (node === null && past.at === null) ? null : (
          <Suspense fallback={<Coming wide={wide} />}>
            <Inspector address={at} node={node} actors={actors} at={was?.at ?? past.at} wide={wide} />
          </Suspense>
        )}
      </div>
      <Suspense fallback={<div className="h-[4.8125rem] flex-none border-t border-line bg-rail max-rail:h-11" />}>
        <TimeStrip />
      </Suspense>
    </>
  );
}

function Coming({ wide }: { wide: boolean }) {
  return <div className={wide ? "border-l border-line bg-canvas" : "h-34 flex-none border-t border-line bg-canvas"} />;
}

const HANDLE =
  "max-rail:before:absolute max-rail:before:top-1.5 max-rail:before:left-1/2 max-rail:before:h-1 max-rail:before:w-9 max-rail:before:-translate-x-1/2 max-rail:before:rounded-full max-rail:before:bg-line-2";

function Head({ wide, className, find, children }: { wide: boolean; className: string; find: () => void; children: ReactNode }) {
  return (
    <div
      className={`relative flex h-(--h-head) flex-none items-center gap-1 border-b border-line pr-2.5 pl-4 ${wide ? className : HANDLE}`}
    >
      {wide ? (
        <a className="icon-btn rail:!hidden" href="#/" aria-label="Agents">
          <Icon name="left" />
        </a>
      ) : null}
      <h2 className="min-w-0 flex-1 truncate text-title font-strong">{children}</h2>
      <button type="button" className="icon-btn" aria-label="Filter by name" title="Filter by name" onClick={find}>
        <Icon name="search" />
      </button>
      {wide ? null : (
        <a
          className="icon-btn max-rail:!hidden"
          href="#/tree"
          aria-label="Open the tree full width"
          title="Open the tree full width"
          onClick={() => page.showTree(false)}
        >
          <Icon name="open" />
        </a>
      )}
      {wide ? null : (
        <button type="button" className="icon-btn tree:!hidden" aria-label="Close" onClick={() => page.showTree(false)}>
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}

function Chip({ pressed, move, onPick, children }: { pressed: boolean; move?: string; onPick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      data-move={move}
      className="flex h-[1.625rem] flex-none items-center gap-1.5 rounded-full px-1.5 text-small whitespace-nowrap text-ink-2 hover:bg-fill aria-pressed:bg-fill-2 aria-pressed:font-medium aria-pressed:text-ink max-rail:h-9 max-rail:px-3"
      onClick={onPick}
    >
      {children}
    </button>
  );
}
