/** A long output as numbered lines, only those in sight drawn; find with hits marked in a narrow map. */
import { useMemo, useRef, useState } from "react";
import { grouped } from "../../src/client/index.ts";
import { Icon } from "../marks/icon.tsx";

const LINE = 19;
const TALL = 342;

export function Lines({ text }: { text: string }) {
  const lines = useMemo(() => text.split("\n"), [text]);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [find, setFind] = useState("");
  const [at, setAt] = useState(0);
  const hits = useMemo(() => {
    const wanted = find.toLowerCase();
    return wanted === "" ? [] : lines.flatMap((line, index) => (line.toLowerCase().includes(wanted) ? [index] : []));
  }, [lines, find]);
  const first = Math.max(0, Math.floor(top / LINE) - 10);
  const shown = lines.slice(first, first + Math.ceil(TALL / LINE) + 20);
  const hit = new Set(hits);
  const wide = String(lines.length).length + 2;
  const jump = (step: number): void => {
    if (hits.length === 0) return;
    const next = (at + step + hits.length) % hits.length;
    setAt(next);
    if (box.current !== null) box.current.scrollTop = Math.max(0, (hits[next] ?? 0) * LINE - TALL / 2);
  };
  return (
    <div className="border-t border-line">
      <div className="flex items-center gap-2 px-2.5 py-1.5 text-small text-ink-3">
        <Icon name="search" />
        <input
          className="field !h-7 flex-1 text-small max-rail:!h-10"
          value={find}
          placeholder={`Find in ${grouped(lines.length)} lines`}
          aria-label="Find in this output"
          onChange={(event) => {
            setFind(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
          }}
        />
        <span className="min-w-14 text-right" role="status">
          {find === "" ? "" : `${hits.length === 0 ? 0 : at + 1} of ${grouped(hits.length)}`}
        </span>
        <button type="button" className="icon-btn" aria-label="Previous hit" onClick={() => jump(-1)}>
          <Icon name="up" />
        </button>
        <button type="button" className="icon-btn" aria-label="Next hit" onClick={() => jump(1)}>
          <Icon name="down" />
        </button>
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)_12px] border-t border-line">
        <div
          ref={box}
          className="out quiet-scroll overflow-auto text-ink-2"
          style={{ height: Math.min(TALL, lines.length * LINE + 8) }}
          tabIndex={0}
          role="region"
          aria-label="Output"
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        >
          <div className="relative" style={{ height: lines.length * LINE, width: "max-content", minWidth: "100%" }}>
            <div className="absolute inset-x-0" style={{ top: first * LINE }}>
              {shown.map((line, index) => {
                const number = first + index;
                const isHit = hit.has(number);
                return (
                  <div key={number} className={`flex whitespace-pre ${isHit ? "bg-run-tint" : ""}`} style={{ height: LINE }}>
                    <span
                      className={`sticky left-0 shrink-0 pr-3 text-right text-ink-3 select-none ${isHit ? "bg-run-tint" : "bg-raised"}`}
                      style={{ width: `${wide + 1}ch` }}
                    >
                      {grouped(number + 1)}
                    </span>
                    <span className="pr-3">{isHit ? <Marked line={line} find={find} /> : line}</span>
                  </div>
                );
              })}
            </div>
          </div>
        </div>
        <div className="relative border-l border-line bg-fill" aria-hidden="true">
          {hits.slice(0, 400).map((line) => (
            <i key={line} className="absolute inset-x-0.5 h-0.5 bg-run" style={{ top: `${(line / lines.length) * 100}%` }} />
          ))}
          <i
            className="absolute inset-x-0 h-4 bg-line-2 opacity-70"
            style={{ top: `${(top / Math.max(1, lines.length * LINE)) * 100}%` }}
          />
        </div>
      </div>
    </div>
  );
}

function Marked({ line, find }: { line: string; find: string }) {
  const from = line.toLowerCase().indexOf(find.toLowerCase());
  return (
    <>
      {line.slice(0, from)}
      <b className="font-strong text-run">{line.slice(from, from + find.length)}</b>
      {line.slice(from + find.length)}
    </>
  );
}
