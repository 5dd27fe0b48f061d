/** A block of code: what is complete is never drawn again; colours come later, from a file of their own. */
import { memo, useEffect, useState } from "react";
import { CopyButton } from "../frame/copy.tsx";
import type { Piece } from "./highlight.ts";

export const CodeBlock = memo(
  function CodeBlock({ lang, chunks, open }: { lang: string; chunks: readonly string[]; open: boolean }) {
    return (
      <div className="code">
        <div className="flex h-7 items-center justify-between pl-3 pr-1 text-tiny text-ink-3">
          <span>{lang === "" ? "text" : lang}</span>
          <CopyButton text={() => chunks.join("")} what="code" />
        </div>
        <pre className="quiet-scroll" tabIndex={0} aria-label={`Code, ${lang === "" ? "text" : lang}`}>
          <code>
            {chunks.map((chunk, at) => (
              <Chunk key={at} text={chunk} lang={lang} colour={!open || at < chunks.length - 1} />
            ))}
          </code>
        </pre>
      </div>
    );
  },
  (before, after) =>
    before.lang === after.lang &&
    before.open === after.open &&
    before.chunks.length === after.chunks.length &&
    before.chunks.every((chunk, at) => chunk === after.chunks[at]),
);

const Chunk = memo(function Chunk({ text, lang, colour }: { text: string; lang: string; colour: boolean }) {
  const [pieces, setPieces] = useState<Piece[] | null>(null);
  useEffect(() => {
    if (!colour || lang === "" || lang === "text") return undefined;
    let gone = false;
    void import("./highlight.ts").then(({ highlight }) => {
      if (!gone) setPieces(highlight(text, lang));
    });
    return () => {
      gone = true;
    };
  }, [text, lang, colour]);
  if (pieces === null) return text;
  return pieces.map((piece, at) =>
    piece.tone === null ? (
      piece.text
    ) : (
      <span key={at} className={`hl-${piece.tone}`}>
        {piece.text}
      </span>
    ),
  );
});
