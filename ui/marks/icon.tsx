/** Icons: drawn on the same 16 grid as the marks. An icon stands beside a word, except search, more, close, copy, attach. */

const PATHS = {
  send: "M8 13V3.4M3.9 7.3 8 3.2l4.1 4.1",
  queue: "M2.8 4.5h10.4M2.8 8H9M2.8 11.5h5M12 8.6v5.2M9.4 11.2h5.2",
  steer: "M2.5 4h3.3c2.6 0 3.2 8 5.9 8h1.6M11.2 9.5 13.7 12l-2.5 2.5M9.6 4h3.9",
  back: "M6 4 2.8 7.2 6 10.4M3 7.2h6.4a3.4 3.4 0 0 1 0 6.8H7.5",
  right: "m6.2 3.8 4.2 4.2-4.2 4.2",
  left: "m9.8 3.8-4.2 4.2 4.2 4.2",
  down: "m3.8 6.2 4.2 4.2 4.2-4.2",
  up: "m3.8 9.8 4.2-4.2 4.2 4.2",
  search: "M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0ZM10 10l3.4 3.4",
  tree: "M4 5.4V13h6M4 8h6M5.6 3.8a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0ZM13.2 8a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0ZM13.2 13a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0Z",
  plus: "M8 3.4v9.2M3.4 8h9.2",
  copy: "M5.4 6.8A1.4 1.4 0 0 1 6.8 5.4H12a1.4 1.4 0 0 1 1.4 1.4V12a1.4 1.4 0 0 1-1.4 1.4H6.8A1.4 1.4 0 0 1 5.4 12ZM10.6 5.2V3.9a1.3 1.3 0 0 0-1.3-1.3H3.9a1.3 1.3 0 0 0-1.3 1.3v5.4a1.3 1.3 0 0 0 1.3 1.3h1.3",
  open: "M9.4 2.8h3.8v3.8M13 3 7.6 8.4M7 3.6H3.8A1.2 1.2 0 0 0 2.6 4.8v7.4a1.2 1.2 0 0 0 1.2 1.2h7.4a1.2 1.2 0 0 0 1.2-1.2V9",
  more: "M3.6 8h.1M8 8h.1M12.4 8h.1",
  close: "m4.4 4.4 7.2 7.2M11.6 4.4l-7.2 7.2",
  restart: "M13 8a5 5 0 1 1-1.6-3.7M11.6 1.8v2.8H8.8",
  model: "M8 2.4 13 5v6l-5 2.6L3 11V5ZM3.2 5.2 8 7.8l4.8-2.6M8 7.8v5.6",
  wake: "M8 2v2M3.4 4l1.4 1.4M12.6 4l-1.4 1.4M2.4 12.6h11.2M4.6 10.4a3.4 3.4 0 0 1 6.8 0",
  clock: "M13.4 8A5.4 5.4 0 1 1 2.6 8a5.4 5.4 0 0 1 10.8 0ZM8 5v3.2l2 1.4",
  pencil: "m3 13 .6-2.8 7-7 2.2 2.2-7 7ZM9.4 4.4l2.2 2.2",
  pause: "M5.8 4v8M10.2 4v8",
  play: "M5.4 3.6 12 8l-6.6 4.4Z",
  keys: "M2.4 4.4h11.2v7.2H2.4ZM4.8 6.8h.1M7.2 6.8h.1M9.6 6.8h.1M5.6 9.4h4.8",
  note: "M8 7.4v3.4M8 5.2v.1M13.4 8A5.4 5.4 0 1 1 2.6 8a5.4 5.4 0 0 1 10.8 0Z",
} as const;
export type IconName = keyof typeof PATHS | "stop";

export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  return (
    <svg
      className={`ic ${className}`}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.2 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {name === "stop" ? <rect x="4" y="4" width="8" height="8" rx="1.2" fill="currentColor" stroke="none" /> : <path d={PATHS[name]} />}
    </svg>
  );
}
