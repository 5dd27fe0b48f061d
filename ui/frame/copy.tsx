/** Copies a text and says so in its own place for a moment. */
import { useState } from "react";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";

export function CopyButton({ text, what, word = false }: { text: () => string; what: string; word?: boolean }) {
  const [said, setSaid] = useState<"copied" | "not allowed" | null>(null);
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text())) ? "copied" : "not allowed");
    setTimeout(() => setSaid(null), 1500);
  };
  return (
    <button
      type="button"
      className={word ? "link inline-flex items-center gap-1 text-meta" : "icon-btn !size-6 max-rail:!size-9"}
      onClick={() => void copy()}
      aria-label={said ?? `Copy ${what}`}
      title={said ?? `Copy ${what}`}
    >
      {word ? (said ?? "Copy") : said === "copied" ? <Mark name="done" /> : <Icon name="copy" />}
    </button>
  );
}

/** The clipboard port is closed to pages on plain HTTP of another machine; the old way still works there. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "fixed opacity-0";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
