/** What you did and may want to know or undo: one at a time, six seconds, at the bottom. */
import { useEffect, useState } from "react";

interface Said {
  text: string;
  undo?: { word: string; run: () => void };
}
let show: ((said: Said | null) => void) | null = null;

export function say(text: string, undo?: { word: string; run: () => void }): void {
  show?.(undo === undefined ? { text } : { text, undo });
}

export function Toast() {
  const [said, setSaid] = useState<Said | null>(null);
  useEffect(() => {
    show = setSaid;
    return () => {
      show = null;
    };
  }, []);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = setTimeout(() => setSaid(null), 6000);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 bottom-12 z-30 flex justify-center px-4">
      {said === null ? null : (
        <div className="pointer-events-auto flex max-w-[26rem] items-center gap-2.5 rounded-3 border border-line-2 bg-raised py-2 pr-2.5 pl-3.5 shadow-pop">
          <span className="[overflow-wrap:anywhere]">{said.text}</span>
          {said.undo === undefined ? null : (
            <button
              type="button"
              className="btn small"
              onClick={() => {
                said.undo?.run();
                setSaid(null);
              }}
            >
              {said.undo.word}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
