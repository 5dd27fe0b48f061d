/** One timer ticks every clock on the page, once a second; it rests while nobody looks or nothing is live. */
import { useEffect, useRef, useState, useSyncExternalStore } from "react";

const ticks = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function onTick(run: (now: number) => void): () => void {
  ticks.add(run);
  timer ??= setInterval(() => {
    const now = Date.now();
    for (const tick of ticks) tick(now);
  }, 1000);
  return () => {
    ticks.delete(run);
    if (ticks.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** The time in whole steps of `step` ms: new only when the next one begins. */
export function useNowIn(step: number): number {
  return useSyncExternalStore(onTick, () => Math.floor(Date.now() / step) * step);
}

/** The time, new each second while `live`; stands still at `frozenAt` otherwise. */
export function useNow(live: boolean, frozenAt: number | null = null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => (live ? onTick(setNow) : undefined), [live]);
  return frozenAt ?? (live ? now : Math.max(now, 0));
}

/** Writes a clock straight into a text node, without React. */
export function useClockText(text: (now: number) => string, live: boolean): React.RefObject<HTMLSpanElement | null> {
  const ref = useRef<HTMLSpanElement>(null);
  const say = useRef(text);
  say.current = text;
  useEffect(() => {
    if (!live) return undefined;
    return onTick((now) => {
      if (ref.current !== null) ref.current.textContent = say.current(now);
    });
  }, [live]);
  return ref;
}
