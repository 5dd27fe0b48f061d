/**
 * Moves inline `<think>…</think>` at the beginning of an answer to the thinking channel, wherever the tags are cut between
 * pieces. Further on in a text the tag is a word like any other: an answer may speak of it.
 */
export interface SplitPiece {
  kind: "text" | "thinking";
  text: string;
}

export interface ThinkSplitter {
  push(text: string): SplitPiece[];
  /** The stream has ended: what was held back because it might have become a tag. */
  end(): SplitPiece[];
}

const OPEN = ["<think>", "<thinking>"];
const CLOSE = ["</think>", "</thinking>"];

export function createThinkSplitter(): ThinkSplitter {
  /** `before`: only white space so far, a tag may come. `inside`: thinking. `after`: text for good. */
  let state: "before" | "inside" | "after" = "before";
  let held = "";
  /** A thought was closed: the white space between it and the answer is dropped. */
  let thought = false;

  function push(text: string): SplitPiece[] {
    const pieces: SplitPiece[] = [];
    let rest = held + text;
    held = "";
    while (rest !== "") {
      if (state === "after") {
        pieces.push({ kind: "text", text: rest });
        break;
      }
      if (state === "before") {
        const start = rest.trimStart();
        const tag = OPEN.find((candidate) => start.startsWith(candidate));
        if (tag !== undefined) {
          state = "inside";
          rest = start.slice(tag.length);
        } else if (start === "" || OPEN.some((candidate) => candidate.startsWith(start))) {
          held = rest;
          break;
        } else {
          state = "after";
          rest = thought ? start : rest;
        }
        continue;
      }
      const close = firstOf(rest, CLOSE);
      if (close !== null) {
        if (close.at > 0) pieces.push({ kind: "thinking", text: rest.slice(0, close.at) });
        rest = rest.slice(close.at + close.tag.length);
        state = "before";
        thought = true;
        continue;
      }
      const keep = tailOf(rest, CLOSE);
      if (keep < rest.length) pieces.push({ kind: "thinking", text: rest.slice(0, rest.length - keep) });
      held = keep === 0 ? "" : rest.slice(-keep);
      break;
    }
    return pieces;
  }

  return {
    push,
    end() {
      const left = held;
      held = "";
      if (left === "") return [];
      if (state === "inside") return [{ kind: "thinking", text: left }];
      return thought && left.trim() === "" ? [] : [{ kind: "text", text: left }];
    },
  };
}

function firstOf(text: string, tags: string[]): { at: number; tag: string } | null {
  let best: { at: number; tag: string } | null = null;
  for (const tag of tags) {
    const at = text.indexOf(tag);
    if (at !== -1 && (best === null || at < best.at)) best = { at, tag };
  }
  return best;
}

/** How many characters at the end may be the beginning of a tag. */
function tailOf(text: string, tags: string[]): number {
  const longest = Math.max(...tags.map((tag) => tag.length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    if (tags.some((tag) => tag.startsWith(text.slice(-length)))) return length;
  }
  return 0;
}
