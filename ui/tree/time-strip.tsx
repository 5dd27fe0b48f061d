/** The time strip: what happened over the last hour, and the way into the past. Drag, `[` and `]`, arrows; Escape is back to live. */
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import {
  type Activity,
  activityWords,
  barsOf,
  BUCKET_MS,
  clockTime,
  FINE_MS,
  hourBefore,
  spanOf,
  spanWords,
  stepFrom,
  tenthTime,
} from "../../src/client/index.ts";
import { onKeys } from "../frame/keys.ts";
import { useActors, useClient, useFrozenAt, usePast } from "../hooks/use-client.ts";
import { useNowIn } from "../hooks/use-now.ts";
import { Icon } from "../marks/icon.tsx";

/** The tree tells that something was committed; so often the bars follow it at most. */
const FOLLOW_MS = 5_000;
const NOTHING: readonly Activity[] = [];

function useActivity(held: boolean): {
  buckets: readonly Activity[];
  to: number;
  refused: string | null;
  refresh: () => Promise<readonly Activity[]>;
} {
  const client = useClient();
  const actors = useActors();
  const live = useFrozenAt() === null;
  const [buckets, setBuckets] = useState<readonly Activity[]>(NOTHING);
  const [refused, setRefused] = useState<string | null>(null);
  const running = useNowIn(BUCKET_MS);
  const kept = useRef(running);
  if (!held) kept.current = running;
  const refresh = useCallback(async () => {
    const { from, to } = hourBefore(Date.now());
    try {
      const found = await client.api.activity(from, to, BUCKET_MS);
      setBuckets(found);
      setRefused(null);
      return found;
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
      return NOTHING;
    }
  }, [client]);
  const last = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    if (held || !live || timer.current !== null) return;
    timer.current = setTimeout(
      () => {
        timer.current = null;
        last.current = Date.now();
        void refresh();
      },
      Math.max(0, last.current + FOLLOW_MS - Date.now()),
    );
  }, [actors, held, live, refresh]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return { buckets, to: hourBefore(kept.current).to, refused, refresh };
}

export function TimeStrip() {
  const client = useClient();
  const { past } = client;
  const { at } = usePast();
  const [open, setOpen] = useState(false);
  const { buckets, to, refused, refresh } = useActivity(at !== null);
  const span = useMemo(() => spanOf(buckets, to), [buckets, to]);
  const fine = useCallback((from: number, until: number) => client.api.activity(from, until, FINE_MS), [client]);
  const stepping = useRef(false);

  const step = useCallback(
    async (by: 1 | -1): Promise<void> => {
      if (stepping.current || (by === 1 && past.at === null)) return;
      stepping.current = true;
      try {
        const known = past.at === null ? await refresh() : buckets;
        const next = await stepFrom(past.at ?? Date.now(), by, known, fine);
        if (next !== null) past.to(next);
        else if (by === 1) past.live();
      } catch {
        // the next press asks again; the connection strip says what is wrong
      } finally {
        stepping.current = false;
      }
    },
    [past, buckets, fine, refresh],
  );
  const isPast = at !== null;
  useEffect(() => onKeys({ "[": () => void step(-1), "]": () => void step(1) }), [step]);
  useEffect(() => (isPast ? onKeys({ Escape: past.live, l: past.live, L: past.live }) : undefined), [isPast, past]);

  const toMoment = (moment: number): void => {
    if (moment >= Math.min(Date.now(), span.to)) past.live();
    else past.to(Math.round(Math.max(span.from, moment)));
  };
  const bucket = at === null ? undefined : buckets.find((one) => at >= one.at && at < one.at + BUCKET_MS);
  const words = at === null ? "now, live" : `${tenthTime(at)}, ${spanWords(Date.now() - at)} ago`;
  const happened = activityWords(bucket);
  return (
    <section className="flex-none border-t border-line bg-rail px-4 max-rail:pb-[env(safe-area-inset-bottom)]" aria-label="Time strip">
      <div className="flex h-8 items-center gap-1 text-tiny text-ink-3 max-rail:h-11">
        <button type="button" className="flex h-full items-center gap-1.5 rail:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "right"} />
          <span className="text-small text-ink-2">Time</span>
        </button>
        <Icon name="clock" className="max-rail:!hidden" />
        <span className="min-w-0 flex-1 truncate pl-1">
          {at === null ? <b className="font-medium text-ink-2">Now</b> : happened === "" ? tenthTime(at) : happened}
        </span>
        <button
          type="button"
          className="icon-btn !h-6"
          aria-label="Step back in time"
          title="Step back in time  ["
          onClick={() => void step(-1)}
        >
          <Icon name="left" />
        </button>
        <button
          type="button"
          className="icon-btn !h-6 disabled:opacity-40"
          aria-label="Step on in time"
          title="Step on in time  ]"
          disabled={at === null}
          onClick={() => void step(1)}
        >
          <Icon name="right" />
        </button>
        <span className="whitespace-nowrap max-rail:hidden">
          {clockTime(span.from)} to {at === null ? "now" : clockTime(span.to)}
        </span>
      </div>
      <Track
        className={open ? "" : "max-rail:hidden"}
        buckets={buckets}
        span={span}
        at={at}
        words={happened === "" ? words : `${words}, ${happened}`}
        refused={buckets.length === 0 ? refused : null}
        onMoment={toMoment}
        onLive={past.live}
      />
    </section>
  );
}

interface TrackProps {
  className: string;
  buckets: readonly Activity[];
  span: { from: number; to: number };
  at: number | null;
  words: string;
  refused: string | null;
  onMoment: (at: number) => void;
  onLive: () => void;
}

function Track({ className, buckets, span, at, words, refused, onMoment, onLive }: TrackProps) {
  const wide = span.to - span.from;
  const bars = useMemo(() => barsOf(buckets), [buckets]);
  const place = (moment: number): string => `${(Math.min(1, Math.max(0, (moment - span.from) / wide)) * 100).toFixed(2)}%`;
  const drag = (event: PointerEvent<HTMLDivElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    onMoment(span.from + ((event.clientX - box.left) / box.width) * wide);
  };
  const onKey = (event: KeyboardEvent): void => {
    const from = at ?? Date.now();
    const keys: Record<string, () => void> = {
      ArrowLeft: () => onMoment(from - 5_000),
      ArrowDown: () => onMoment(from - 5_000),
      ArrowRight: () => onMoment(from + 5_000),
      ArrowUp: () => onMoment(from + 5_000),
      PageDown: () => onMoment(from - 300_000),
      PageUp: () => onMoment(from + 300_000),
      Home: () => onMoment(span.from),
      End: onLive,
    };
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  };
  return (
    <div
      className={`relative mb-2 h-9 cursor-ew-resize touch-none select-none max-rail:h-14 ${className}`}
      role="slider"
      tabIndex={0}
      aria-label="Moment of the tree"
      aria-valuemin={span.from}
      aria-valuemax={span.to}
      aria-valuenow={at ?? span.to}
      aria-valuetext={words}
      onKeyDown={onKey}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        drag(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event);
      }}
    >
      <svg
        className="absolute inset-x-0 bottom-0 h-6 w-full max-rail:h-9"
        viewBox={`0 0 ${wide / BUCKET_MS} 1`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <path fill="var(--line-2)" d={pathOf(bars, span.from, at ?? Infinity, false)} />
        <path fill="var(--line)" d={at === null ? "" : pathOf(bars, span.from, at, true)} />
      </svg>
      <i className="absolute inset-x-0 bottom-0 h-px bg-line-2" aria-hidden="true" />
      {buckets.map((bucket) => (
        <Ticks key={bucket.at} bucket={bucket} left={place(bucket.at + BUCKET_MS / 2)} />
      ))}
      {at === null ? null : (
        <i className="pointer-events-none absolute inset-y-0 w-0.5 -translate-x-1/2 bg-ink" style={{ left: place(at) }} aria-hidden="true">
          <i className="absolute -top-0.5 left-1/2 size-2.5 -translate-x-1/2 rounded-full bg-ink" />
        </i>
      )}
      {refused === null ? null : <span className="absolute inset-x-0 top-1 truncate text-tiny text-ink-3">{refused}</span>}
    </div>
  );
}

/** One path for all bars before, or after, a moment. */
function pathOf(bars: readonly { at: number; height: number }[], from: number, moment: number, after: boolean): string {
  return bars
    .filter((bar) => bar.at > moment === after)
    .map(({ at, height }) => `M${(at - from) / BUCKET_MS + 0.12} 1v${(-Math.max(0.08, height)).toFixed(3)}h.76V1Z`)
    .join("");
}

/** Shape beside colour: a question is a diamond, a failed turn a cross, a start of the server a ring. */
function Ticks({ bucket, left }: { bucket: Activity; left: string }) {
  const look = "pointer-events-none absolute top-0 bottom-0 w-0 -translate-x-1/2 border-l";
  const text = `${activityWords(bucket)}, ${clockTime(bucket.at)}`;
  return (
    <>
      {bucket.restarts > 0 ? (
        <i className={`${look} border-dashed border-ink-3`} style={{ left }} title={text} aria-hidden="true">
          <i className="absolute top-0 -left-1 size-2 rounded-full border-[1.5px] border-ink-3 bg-rail" />
        </i>
      ) : null}
      {bucket.questions > 0 ? (
        <i className={`${look} border-[var(--you-mark)]`} style={{ left }} title={text} aria-hidden="true">
          <i className="absolute top-0 -left-[0.28rem] size-2 rotate-45 bg-[var(--you-mark)]" />
        </i>
      ) : null}
      {bucket.failures > 0 ? (
        <i className={`${look} border-bad`} style={{ left }} title={text} aria-hidden="true">
          <svg className="absolute top-0 -left-1 size-2 bg-rail text-bad" viewBox="0 0 8 8" stroke="currentColor" strokeWidth="1.8">
            <path d="m1 1 6 6M7 1 1 7" />
          </svg>
        </i>
      ) : null}
    </>
  );
}
