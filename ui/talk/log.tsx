/**
 * The conversation as a list with its own scrolling. Only rows near the reader are in the DOM; the row being read keeps its
 * place on the screen whatever grows, folds, loads or goes above it; the end is followed only while the reader is at it.
 */
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useReducer, useRef, type ReactNode, type Ref } from "react";

interface Keyed {
  key: string;
}
export interface LogHandle {
  toEnd(): void;
  toKey(key: string): void;
}
interface Place {
  pinned: boolean;
  /** The row at the top edge, and where its top stands relative to that edge. */
  key: string | null;
  offset: number;
}
interface Props<Item extends Keyed> {
  handle: Ref<LogHandle>;
  /** Where a reader was is remembered under this name. */
  name: string;
  items: readonly Item[];
  render: (item: Item) => ReactNode;
  /** Until a row was measured. */
  guess: (item: Item) => number;
  /** The reader is near the top. */
  onTop: () => void;
  /** How many rows came since the reader left the end; null while they are at it. */
  onBehind: (rows: number | null) => void;
  head?: ReactNode;
}

const NEAR_END = 24;
const OVERSCAN = 500;
const GESTURE_MS = 700;
const places = new Map<string, Place>();
const measured = new Map<string, Map<string, number>>();

export function Log<Item extends Keyed>({ handle, name, items, render, guess, onTop, onBehind, head }: Props<Item>) {
  const scroller = useRef<HTMLDivElement>(null);
  const before = useRef<HTMLDivElement>(null);
  const after = useRef<HTMLDivElement>(null);
  const heights = useRef(mapOf(name));
  const place = useRef<Place>(places.get(name) ?? { pinned: true, key: null, offset: 0 });
  const expected = useRef(-1);
  const gesture = useRef(0);
  const leftAt = useRef<string | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);

  const heightOf = (item: Item): number => heights.current.get(item.key) ?? guess(item);
  const view = scroller.current?.clientHeight ?? 900;
  const [start, end] = windowOf(items, heightOf, place.current, view);
  const shown = items.slice(start, end);
  const range = useRef<[number, number]>([start, end]);
  range.current = [start, end];
  const all = useRef(items);
  all.current = items;

  const tellBehind = useCallback(() => {
    if (place.current.pinned) {
      leftAt.current = null;
      onBehind(null);
      return;
    }
    leftAt.current ??= all.current.at(-1)?.key ?? null;
    const at = all.current.findLastIndex((item) => item.key === leftAt.current);
    onBehind(at < 0 ? 0 : all.current.length - 1 - at);
  }, [onBehind]);

  /** Measures what is drawn, sizes what is not, and puts the reader where they were. */
  const settle = useCallback(() => {
    const box = scroller.current;
    if (box === null || before.current === null || after.current === null) return;
    let grown = false;
    for (const row of rowsIn(box)) {
      const { key } = row.dataset as { key: string };
      const height = row.offsetHeight;
      if (heights.current.get(key) !== height) {
        heights.current.set(key, height);
        grown = true;
      }
    }
    const [from, to] = range.current;
    const size = (some: readonly Item[]): number => some.reduce((sum, item) => sum + (heights.current.get(item.key) ?? guess(item)), 0);
    before.current.style.height = `${size(all.current.slice(0, from))}px`;
    after.current.style.height = `${size(all.current.slice(to))}px`;
    const { pinned, key, offset } = place.current;
    if (pinned) box.scrollTop = box.scrollHeight;
    else if (key !== null) {
      const row = rowsIn(box).find((other) => other.dataset["key"] === key);
      if (row !== undefined) {
        const wanted = Math.max(0, row.offsetTop - offset);
        if (Math.abs(box.scrollTop - wanted) > 0.5) box.scrollTop = wanted;
      }
    }
    expected.current = box.scrollTop;
    places.set(name, place.current);
    if (!grown) return;
    const [wantedStart, wantedEnd] = windowOf(
      all.current,
      (item) => heights.current.get(item.key) ?? guess(item),
      place.current,
      box.clientHeight,
    );
    if (wantedStart < from || wantedEnd > to) redraw();
  }, [guess, name]);

  useLayoutEffect(settle);
  useLayoutEffect(tellBehind, [items, tellBehind]);

  useEffect(() => {
    const box = scroller.current;
    if (box === null) return undefined;
    const observer = new ResizeObserver(settle);
    observer.observe(box);
    for (const row of rowsIn(box)) observer.observe(row);
    return () => observer.disconnect();
  }, [settle, start, end, items]);

  const onScroll = (): void => {
    const box = scroller.current;
    if (box === null) return;
    const top = box.scrollTop;
    if (Math.abs(top - expected.current) < 1) return;
    const byReader = performance.now() - gesture.current < GESTURE_MS;
    const upwards = top < expected.current;
    expected.current = top;
    if (box.scrollHeight - box.clientHeight - top <= NEAR_END && !(byReader && upwards))
      place.current = { pinned: true, key: null, offset: 0 };
    else if (place.current.pinned && !byReader) return settle();
    else place.current = { pinned: false, ...anchorAt(box, top, all.current, heightOf) };
    places.set(name, place.current);
    tellBehind();
    const [wantedStart, wantedEnd] = windowOf(all.current, heightOf, place.current, box.clientHeight);
    if (wantedStart < range.current[0] || wantedEnd > range.current[1]) redraw();
    if (top < 800) onTop();
  };

  /** The reader takes over: nothing follows until they are back at the end. */
  const leave = (): void => {
    const box = scroller.current;
    if (box === null || box.scrollHeight <= box.clientHeight + 1) return;
    gesture.current = performance.now();
    if (!place.current.pinned) return;
    place.current = { pinned: false, ...anchorAt(box, box.scrollTop, all.current, heightOf) };
    tellBehind();
  };
  const moved = (): void => {
    gesture.current = performance.now();
  };

  const toEnd = useCallback(() => {
    place.current = { pinned: true, key: null, offset: 0 };
    tellBehind();
    redraw();
  }, [tellBehind]);
  useImperativeHandle(
    handle,
    () => ({
      toEnd,
      toKey(key) {
        place.current = { pinned: false, key, offset: 72 };
        redraw();
      },
    }),
    [toEnd],
  );

  useEffect(() => {
    const onSelect = (): void => {
      const selection = document.getSelection();
      if (selection === null || selection.isCollapsed || scroller.current?.contains(selection.anchorNode) !== true) return;
      leave();
    };
    document.addEventListener("selectionchange", onSelect);
    return () => document.removeEventListener("selectionchange", onSelect);
  });

  return (
    <div
      ref={scroller}
      role="log"
      aria-label="Conversation"
      aria-live="off"
      tabIndex={0}
      className="quiet-scroll relative min-h-0 flex-1 overflow-x-hidden overflow-y-auto [overflow-anchor:none] -outline-offset-2"
      onScroll={onScroll}
      onWheel={(event) => (event.deltaY < 0 ? leave() : moved())}
      onTouchMove={() => leave()}
      onPointerDown={(event) => {
        if (event.target === scroller.current) leave();
      }}
      onKeyDown={(event) => {
        if (event.target !== scroller.current) return;
        if (["PageUp", "ArrowUp", "Home"].includes(event.key)) leave();
        else moved();
      }}
    >
      <div ref={before} />
      {start === 0 ? head : null}
      <div className="pb-4">
        {shown.map((item) => (
          <div key={item.key} data-key={item.key} className="lane">
            {render(item)}
          </div>
        ))}
      </div>
      <div ref={after} />
    </div>
  );
}

function mapOf(name: string): Map<string, number> {
  let map = measured.get(name);
  if (map === undefined) {
    map = new Map();
    measured.set(name, map);
  }
  return map;
}

function rowsIn(box: HTMLElement): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>("[data-key]")];
}

/** First and past-last row to draw for where the reader is. */
function windowOf<Item extends Keyed>(
  items: readonly Item[],
  heightOf: (item: Item) => number,
  place: Place,
  view: number,
): [number, number] {
  if (items.length === 0) return [0, 0];
  const at = place.pinned ? -1 : items.findIndex((item) => item.key === place.key);
  if (at < 0) {
    let start = items.length;
    for (let room = view + OVERSCAN; start > 0 && room > 0; start -= 1) room -= heightOf(items[start - 1] as Item);
    return [start, items.length];
  }
  let [start, end] = [at, at];
  for (let room = OVERSCAN + Math.max(0, place.offset); start > 0 && room > 0; start -= 1) room -= heightOf(items[start - 1] as Item);
  for (let room = view + OVERSCAN - Math.min(0, place.offset); end < items.length && room > 0; end += 1)
    room -= heightOf(items[end] as Item);
  return [start, Math.min(items.length, end + 1)];
}

/** The first row that reaches below the top edge; far jumps are found by the sums. */
function anchorAt<Item extends Keyed>(
  box: HTMLElement,
  top: number,
  items: readonly Item[],
  heightOf: (item: Item) => number,
): { key: string | null; offset: number } {
  const rows = rowsIn(box);
  const [first, last] = [rows[0], rows.at(-1)];
  if (first !== undefined && last !== undefined && top >= first.offsetTop - 1 && top <= last.offsetTop + last.offsetHeight) {
    const row = rows.find((other) => other.offsetTop + other.offsetHeight > top + 1) ?? last;
    return { key: row.dataset["key"] ?? null, offset: row.offsetTop - top };
  }
  let y = 0;
  for (const item of items) {
    const height = heightOf(item);
    if (y + height > top) return { key: item.key, offset: y - top };
    y += height;
  }
  return { key: items.at(-1)?.key ?? null, offset: 0 };
}
