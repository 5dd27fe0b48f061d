/**
 * Cuts a growing Markdown text into blocks. What is complete is parsed once and kept; only the last block is parsed again,
 * and a last block that grows long is cut too, so the work for one more piece of text does not grow with the answer.
 */
import { lex, wordOf, type Cell, type Token } from "./markdown.ts";

export type Block =
  | { kind: "token"; id: number; token: Token; joined: boolean }
  | { kind: "code"; id: number; lang: string; chunks: readonly string[]; open: boolean }
  | { kind: "table"; id: number; head: Cell[]; rows: readonly Cell[][] };

const CHUNK_LINES = 60;
const LONG_PARAGRAPH = 2_000;
const LONG_LIST = 24;
const LONG_TABLE = 40;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n/u;
/** A line that may yet become a list's next item. */
const MAY_BE_ITEM = /^ {0,3}(?:\d{1,9}[.)]?|[-*+])$/u;
/** A fence whose first line is not whole yet. */
const OPENING = /^ {0,3}(?:`{3,}[^\n`]*|~{3,}[^\n]*)$/u;

export class MarkdownBlocks {
  #text = "";
  /** Everything before it is in `#done`, or in an open fence's chunks. */
  #offset = 0;
  #done: Block[] = [];
  #next = 0;
  #fence: { id: number; close: RegExp; lang: string; chunks: string[] } | null = null;
  #table: { id: number; head: string; cells: Cell[]; rows: Cell[][] } | null = null;
  #joined = false;
  /** Characters parsed so far, for the test of that promise. */
  parsed = 0;

  /** `whole` is the text so far; `final`: no more will come. */
  feed(whole: string, final: boolean): readonly Block[] {
    const text = whole.includes("\r") ? whole.replaceAll("\r\n", "\n") : whole;
    if (text.length < this.#text.length || (this.#offset > 0 && !sameBefore(text, this.#text, this.#offset))) this.#reset();
    this.#text = text;
    for (;;) {
      const before = this.#offset;
      const tail = this.#fence === null ? this.#rest(final) : this.#inFence(final);
      if (this.#offset === before || tail !== null) return tail === null ? this.#done.slice() : [...this.#done, ...tail];
    }
  }

  #reset(): void {
    this.#offset = 0;
    this.#done = [];
    this.#fence = null;
    this.#table = null;
    this.#joined = false;
  }

  /** Gives the blocks of what is not final yet, or null when it moved on and wants another look. */
  #rest(final: boolean): Block[] | null {
    const tail = this.#text.slice(this.#offset);
    if (tail === "")
      return this.#table === null ? [] : [{ kind: "table", id: this.#table.id, head: this.#table.cells, rows: this.#table.rows }];
    if (!final && OPENING.test(tail)) return [{ kind: "code", id: this.#next, lang: "", chunks: [""], open: true }];
    const opened = this.#table === null ? FENCE.exec(tail) : null;
    if (opened !== null) {
      const marker = opened[1] as string;
      const character = marker[0] === "`" ? "`" : "~";
      this.#fence = {
        id: this.#next++,
        close: new RegExp(`^ {0,3}${character}{${marker.length},}[ \\t]*$`, "mu"),
        lang: wordOf(opened[2]),
        chunks: [],
      };
      this.#offset += opened[0].length;
      this.#joined = false;
      return null;
    }
    const head = this.#table?.head ?? "";
    this.parsed += tail.length + head.length;
    const tokens = lex(head + tail);
    let last = tokens.length - 1;
    while (last > 0 && tokens[last]?.type === "space") last -= 1;
    if (MAY_BE_ITEM.test(tokens[last]?.raw ?? "")) {
      const before = tokens[last - 1]?.type === "space" ? last - 2 : last - 1;
      if (tokens[before]?.type === "list") last = before;
    }
    let used = -head.length;
    for (const token of tokens.slice(0, final ? tokens.length : last)) {
      if (token.type === "code" && this.#fencedAt(head + tail, used + head.length)) break;
      this.#keep(token);
      used += token.raw.length;
    }
    const open = tokens[final ? tokens.length : last];
    if (used > 0) {
      this.#offset += used;
      return null;
    }
    if (open === undefined) return [];
    return this.#cutLong(open, tail) ? null : this.#show(open);
  }

  #fencedAt(source: string, at: number): boolean {
    return at > 0 && FENCE.test(source.slice(at, at + 200));
  }

  #keep(token: Token): void {
    if (token.type === "space") {
      this.#joined = false;
      return;
    }
    if (token.type === "table") {
      this.#done.push({
        kind: "table",
        id: this.#table?.id ?? this.#next++,
        head: token.head,
        rows: [...(this.#table?.rows ?? []), ...token.rows],
      });
      this.#table = null;
    } else if (token.type === "code") {
      this.#done.push({ kind: "code", id: this.#next++, lang: token.lang, chunks: chunksOf(token.text), open: false });
    } else this.#done.push({ kind: "token", id: this.#next++, token, joined: this.#joined });
    this.#joined = false;
  }

  /** A growing block as it is drawn now. Its id is the one it will keep. */
  #show(token: Token): Block[] {
    if (token.type === "space") return [];
    if (token.type === "table") {
      return [{ kind: "table", id: this.#table?.id ?? this.#next, head: token.head, rows: [...(this.#table?.rows ?? []), ...token.rows] }];
    }
    if (token.type === "code") return [{ kind: "code", id: this.#next, lang: token.lang, chunks: chunksOf(token.text), open: true }];
    return [{ kind: "token", id: this.#next, token, joined: this.#joined }];
  }

  #cutLong(token: Token, tail: string): boolean {
    if (token.type === "list" && token.items.length > LONG_LIST) {
      const items = token.items.slice(0, -1);
      const raw = items.map((item) => item.raw).join("");
      if (!tail.startsWith(raw)) return false;
      this.#done.push({ kind: "token", id: this.#next++, token: { ...token, items, raw }, joined: this.#joined });
      this.#offset += raw.length;
      this.#joined = true;
      return true;
    }
    if (token.type === "table" && token.rows.length > LONG_TABLE) {
      const table = token;
      const lines = table.raw.split("\n");
      const head = this.#table?.head ?? `${lines.slice(0, 2).join("\n")}\n`;
      const kept = lines.slice(0, 2 + table.rows.length - 1).join("\n").length + 1;
      this.#table = {
        id: this.#table?.id ?? this.#next++,
        head,
        cells: table.head,
        rows: [...(this.#table?.rows ?? []), ...table.rows.slice(0, -1)],
      };
      this.#offset += kept - (kept > head.length && tail.startsWith(head) ? 0 : head.length);
      return true;
    }
    if (token.type === "paragraph" && tail.length > LONG_PARAGRAPH * 2) {
      const cut = sentenceEnd(tail, LONG_PARAGRAPH);
      if (cut <= 0) return false;
      const part = lex(tail.slice(0, cut))[0] as Token;
      this.#done.push({ kind: "token", id: this.#next++, token: part, joined: this.#joined });
      this.#offset += cut;
      return true;
    }
    return false;
  }

  #inFence(final: boolean): Block[] | null {
    const fence = this.#fence;
    if (fence === null) return null;
    const tail = this.#text.slice(this.#offset);
    this.parsed += tail.length;
    const closed = fence.close.exec(tail);
    const complete = closed !== null && (final || closed.index + closed[0].length < tail.length);
    const body = complete ? tail.slice(0, closed.index).replace(/\n$/u, "") : tail;
    if (complete || final) {
      const text = complete ? body : body.replace(/\n$/u, "");
      this.#done.push({ kind: "code", id: fence.id, lang: fence.lang, chunks: [...fence.chunks, ...chunksOf(text)], open: false });
      this.#offset += complete ? closed.index + closed[0].length : tail.length;
      this.#fence = null;
      return null;
    }
    const end = nthLine(tail, CHUNK_LINES);
    if (end > 0 && end < tail.length) {
      fence.chunks.push(tail.slice(0, end));
      this.#offset += end;
      return null;
    }
    const shown = closed === null ? body : tail.slice(0, closed.index).replace(/\n$/u, "");
    return [{ kind: "code", id: fence.id, lang: fence.lang, chunks: [...fence.chunks, shown], open: true }];
  }
}

/** The last few characters before `at` are enough to notice that another text was given. */
function sameBefore(a: string, b: string, at: number): boolean {
  const from = Math.max(0, at - 40);
  return a.slice(from, at) === b.slice(from, at);
}

function nthLine(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const next = text.indexOf("\n", at);
    if (next < 0) return -1;
    at = next + 1;
  }
  return at;
}

function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let rest = text;
  for (let end = nthLine(rest, CHUNK_LINES); end > 0 && end < rest.length; end = nthLine(rest, CHUNK_LINES)) {
    chunks.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...chunks, rest];
}

/** Where a paragraph may be parted: after a sentence at or beyond `from`, else after a space. */
function sentenceEnd(text: string, from: number): number {
  const after = text.slice(from, from + LONG_PARAGRAPH);
  const sentence = /[.!?。！？]["»”)]?\s|[。！？]/u.exec(after);
  if (sentence !== null) return from + sentence.index + sentence[0].length;
  const space = after.indexOf(" ");
  return space >= 0 ? from + space + 1 : -1;
}
