/** Rows of the tree, one line each; only those in sight are drawn. */
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { clockSpan, grouped, restSpan, type TreeRow } from "../../src/client/index.ts";
import { useStillAt } from "../hooks/use-client.ts";
import { useClockText } from "../hooks/use-now.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";

interface Props {
  rows: readonly TreeRow[];
  selected: string | null;
  empty: string;
  /** Another moment was asked for and is not shown yet. */
  busy: boolean;
  /** Drawn over the rows, in their gutter. */
  beside: (rowHeight: number) => ReactNode;
  onSelect: (address: string) => void;
  onFold: (address: string, open: boolean) => void;
  onMore: (parent: string) => void;
}

export function TreeRows({ rows, selected, empty, busy, beside, onSelect, onFold, onMore }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900, row: 28 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void =>
      setView({
        top: element.scrollTop,
        height: element.clientHeight,
        row:
          Number.parseFloat(getComputedStyle(element).getPropertyValue("--h-row")) *
            Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 28,
      });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / view.row) - 8);
  const shown = rows.slice(first, first + Math.ceil(view.height / view.row) + 16);
  const at = rows.findIndex((row) => row.more === undefined && row.node.address === selected);

  const onKey = (event: KeyboardEvent): void => {
    const row = rows[at];
    const move = (step: number): void => {
      const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
      if (next === undefined) return;
      onSelect(next.node.address);
      const y = rows.indexOf(next) * view.row;
      const element = box.current;
      if (element !== null && (y < element.scrollTop || y + view.row > element.scrollTop + element.clientHeight))
        element.scrollTop = Math.max(0, y - element.clientHeight / 2);
    };
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(1),
      j: () => move(1),
      ArrowUp: () => move(-1),
      k: () => move(-1),
      Home: () => move(-rows.length),
      End: () => move(rows.length),
      ArrowRight: () => row !== undefined && (row.fold === "closed" ? onFold(row.node.address, true) : move(1)),
      ArrowLeft: () => row !== undefined && row.fold === "open" && onFold(row.node.address, false),
    };
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  };

  return (
    <div
      ref={box}
      className="quiet-scroll relative min-h-0 flex-1 overflow-x-hidden overflow-y-auto py-1.5 -outline-offset-2"
      role={rows.length === 0 ? "status" : "tree"}
      aria-label="Living tree"
      aria-busy={busy}
      tabIndex={0}
      aria-activedescendant={at < 0 ? undefined : `row-${at}`}
      onKeyDown={onKey}
      onScroll={(event) => setView({ ...view, top: event.currentTarget.scrollTop })}
    >
      {rows.length === 0 ? <p className="px-4 py-2 text-small text-ink-3">{empty}</p> : null}
      <div style={{ height: first * view.row }} />
      {shown.map((row, index) => (
        <Row
          key={row.more === undefined ? row.node.address : `more:${row.more.parent}`}
          id={`row-${first + index}`}
          row={row}
          selected={first + index === at}
          onSelect={onSelect}
          onFold={onFold}
          onMore={onMore}
        />
      ))}
      {beside(view.row)}
      <div style={{ height: Math.max(0, rows.length - first - shown.length) * view.row }} />
    </div>
  );
}

function Row({
  id,
  row,
  selected,
  onSelect,
  onFold,
  onMore,
}: { id: string; row: TreeRow; selected: boolean } & Pick<Props, "onSelect" | "onFold" | "onMore">) {
  const { node, depth, fold, more } = row;
  const mono = node.kind === "call";
  const indent = { paddingLeft: `calc(0.625rem + ${depth} * 0.9375rem)` };
  if (more !== undefined) {
    return (
      <div
        id={id}
        role="treeitem"
        aria-level={depth + 1}
        aria-selected={false}
        className="flex h-(--h-row) items-center gap-1.5 pr-4 text-small text-ink-2 hover:bg-fill"
        style={indent}
        onClick={() => onMore(more.parent)}
      >
        <span className="w-3.5" />
        <Mark name="queued" />
        <span>{grouped(more.hidden)} more</span>
        <span className="ml-auto text-meta text-ink-3">show</span>
      </div>
    );
  }
  const { said } = node;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-selected={selected}
      aria-expanded={fold === "none" ? undefined : fold === "open"}
      aria-label={`${node.name}${node.sub === "" ? "" : ` ${node.sub}`}, ${said.word}`}
      data-move={said.move}
      className={`relative grid h-(--h-row) cursor-default grid-cols-[0.875rem_1rem_minmax(0,1fr)_auto_2.75rem] items-center gap-1.5 pr-8 text-small hover:bg-fill aria-selected:bg-fill-2 max-rail:text-ui ${node.past ? "text-ink-3" : ""}`}
      style={indent}
      onClick={() => onSelect(node.address)}
      onDoubleClick={() => fold !== "none" && onFold(node.address, fold === "closed")}
    >
      {depth > 0 ? (
        <i
          className="pointer-events-none absolute inset-y-0 left-[1.0625rem]"
          style={{
            width: `${depth * 0.9375}rem`,
            background: "repeating-linear-gradient(90deg, var(--line) 0 1px, transparent 1px 0.9375rem)",
          }}
        />
      ) : null}
      {fold === "none" ? (
        <span />
      ) : (
        <span
          className="relative text-ink-3"
          onClick={(event) => {
            event.stopPropagation();
            onFold(node.address, fold === "closed");
          }}
        >
          <Icon name={fold === "open" ? "down" : "right"} className="!size-3" />
        </span>
      )}
      <Mark name={said.mark} still={!said.moves} />
      <span className="flex min-w-0 items-baseline gap-1.5">
        <span
          className={`truncate ${node.kind === "agent" ? "font-strong" : ""} ${mono ? "font-mono text-meta" : ""} ${node.sub === "" ? "" : "max-w-[70%] flex-none"}`}
        >
          {node.name}
        </span>
        {node.sub === "" ? null : <span className="min-w-0 truncate text-meta text-ink-3">{node.sub}</span>}
      </span>
      <span className="text-meta whitespace-nowrap text-word">{said.word}</span>
      <span className="text-right text-meta text-ink-3" aria-hidden="true">
        {node.past ? "" : <Since at={node.since} running={said.move === "run"} />}
      </span>
    </div>
  );
}

function Since({ at, running }: { at: number; running: boolean }) {
  const stillAt = useStillAt();
  const text = (now: number): string => (running ? clockSpan(now - at) : restSpan(now - at));
  const ref = useClockText(text, stillAt === null);
  return <span ref={ref}>{text(stillAt ?? Date.now())}</span>;
}
