/** State marks on a 16 grid, stroke 1.5: circle = moves or rests, diamond = waits for a move, square = is being ended, stroke = has ended. */
import type { ReactNode } from "react";
import type { MarkName, Move } from "../../src/client/index.ts";

const solid = { fill: "currentColor", stroke: "none" } as const;
const diamond = <path d="M8 2.5 13.5 8 8 13.5 2.5 8Z" strokeLinejoin="round" />;
const ring = <circle cx="8" cy="8" r="5" />;
const square = <rect x="3" y="3" width="10" height="10" rx="1.5" />;

const SHAPES: Record<MarkName, ReactNode> = {
  idle: <circle cx="8" cy="8" r="3" />,
  queued: <path d="M3.5 4.75h9M3.5 8h9M3.5 11.25h5" />,
  preparing: <circle cx="8" cy="8" r="5" strokeDasharray="2.6 2.64" />,
  thinking: (
    <>
      {ring}
      <circle className="breathe" cx="8" cy="8" r="2" {...solid} />
    </>
  ),
  writing: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path className="breathe" d="M5.6 6.9h4.8M5.6 9.4h2.7" strokeWidth="1.4" />
    </>
  ),
  tool: (
    <>
      {ring}
      <path className="hand" d="M8 8V3a5 5 0 0 1 5 5Z" {...solid} />
    </>
  ),
  you: <path d="M8 2 14 8l-6 6-6-6Z" fill="currentColor" strokeLinejoin="round" />,
  viaYou: diamond,
  agent: diamond,
  clock: (
    <>
      {diamond}
      <path d="M8 5.6V8.2l1.5 1" strokeWidth="1.3" />
    </>
  ),
  slot: (
    <>
      {diamond}
      <path d="M5.2 8h5.6" />
    </>
  ),
  settling: <path d="M8 3a5 5 0 1 1-5 5M8 5.5V8h2" />,
  working: <circle cx="8" cy="8" r="4.5" {...solid} />,
  done: <path d="m3.4 8.6 3.1 3 6.1-7" />,
  partial: <path d="m3.4 8.6 3.1 3 2.2-2.5M10.3 7.2l1-1.1M12.5 4.7l.1-.1" />,
  degraded: <path d="M2.7 9.2c1.5-2.7 3.3-2.7 5.3-1.3s3.8 1.5 5.3-1.2" />,
  failed: <path d="m4 4 8 8M12 4l-8 8" strokeWidth="1.8" />,
  cancelled: (
    <>
      {ring}
      <path d="m4.6 11.4 6.8-6.8" />
    </>
  ),
  removed: <path d="M4 8h8" />,
  interrupted: <path d="M2 8h3.3M10.7 8H14M7.3 5.2l-1 5.6M9.8 5.2l-1 5.6" />,
  cut: <path d="M2 8h6M8.6 4.4v7.2M11 8h.1M13.4 8h.1" />,
  parked: (
    <>
      {ring}
      <path d="M6.6 6v4M9.4 6v4" />
    </>
  ),
  held: (
    <>
      {ring}
      <path d="M6.6 6v4M9.4 6v4" />
    </>
  ),
  stopping: (
    <>
      {square}
      <rect className="breathe" x="6" y="6" width="4" height="4" {...solid} />
    </>
  ),
  stopfail: (
    <>
      {square}
      <path d="M8 5.6v2.9M8 10.5v.1" strokeWidth="1.8" />
    </>
  ),
  stuck: (
    <>
      <path d="M8 2.5 13.5 8 8 13.5 2.5 8Z" strokeDasharray="2.2 1.7" />
      <path d="m5.9 5.9 4.2 4.2M10.1 5.9l-4.2 4.2" />
    </>
  ),
};

export function Mark({ name, move, still, className = "" }: { name: MarkName; move?: Move; still?: boolean; className?: string }) {
  return (
    <svg
      className={`ic text-mark ${className}`}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      aria-hidden="true"
      data-move={move}
      {...(still === true ? { "data-still": "" } : {})}
    >
      {SHAPES[name]}
    </svg>
  );
}
