/**
 * Markdown to tokens: the blocks models write (headings, lists, tasks, quotes, code, GFM tables) and what stands inside them.
 * Small on purpose; HTML stays text. `raw` is the exact source of a block, so blocks laid end to end give the text back.
 */
import { inline, type Inline } from "./markdown-inline.ts";

export type Align = "left" | "right" | "center" | null;
export interface Cell {
  tokens: Inline[];
  align: Align;
}
export interface ListItem {
  raw: string;
  task: boolean | null;
  tokens: Token[];
}
export type Token =
  | { type: "space"; raw: string }
  | { type: "heading"; raw: string; depth: number; tokens: Inline[] }
  | { type: "paragraph"; raw: string; tokens: Inline[] }
  | { type: "text"; raw: string; tokens: Inline[] }
  | { type: "code"; raw: string; lang: string; text: string }
  | { type: "quote"; raw: string; tokens: Token[] }
  | { type: "hr"; raw: string }
  | ListToken
  | { type: "table"; raw: string; head: Cell[]; rows: Cell[][] };
export interface ListToken {
  type: "list";
  raw: string;
  ordered: boolean;
  start: number;
  loose: boolean;
  items: ListItem[];
}

export const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$/u;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/u;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/u;
const QUOTE = /^ {0,3}> ?/u;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( +(?=\S)|[ \t]*$)/u;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/u;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/u;

export function lex(source: string): Token[] {
  const lines = source.match(/[^\n]*\n|[^\n]+$/gu) ?? [];
  const bare = lines.map((line) => line.replace(/\n$/u, ""));
  const tokens: Token[] = [];
  const raw = (from: number, to: number): string => lines.slice(from, to).join("");
  let at = 0;
  while (at < lines.length) {
    const line = bare[at] as string;
    const from = at;
    if (line.trim() === "") {
      while (at < lines.length && bare[at]?.trim() === "") at += 1;
      tokens.push({ type: "space", raw: raw(from, at) });
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence !== null) {
      const end = closingFence(bare, at + 1, fence[1] as string);
      tokens.push({ type: "code", raw: raw(from, end + 1), lang: wordOf(fence[2]), text: bare.slice(at + 1, end).join("\n") });
      at = end + 1;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading !== null) {
      at += 1;
      tokens.push({ type: "heading", raw: raw(from, at), depth: (heading[1] as string).length, tokens: inline(heading[2] ?? "") });
      continue;
    }
    if (RULE.test(line)) {
      at += 1;
      tokens.push({ type: "hr", raw: raw(from, at) });
      continue;
    }
    if (QUOTE.test(line)) {
      while (at < lines.length && (QUOTE.test(bare[at] as string) || (bare[at]?.trim() !== "" && !starts(bare, at)))) at += 1;
      tokens.push({
        type: "quote",
        raw: raw(from, at),
        tokens: lex(
          bare
            .slice(from, at)
            .map((quoted) => quoted.replace(QUOTE, ""))
            .join("\n"),
        ),
      });
      continue;
    }
    if (ITEM.test(line)) {
      const list = listFrom(bare, lines, at);
      tokens.push(list.token);
      at = list.end;
      continue;
    }
    if (isTable(bare, at)) {
      const aligns = cellsOf(bare[at + 1] as string).map(alignOf);
      const row = (text: string): Cell[] =>
        cellsOf(text)
          .concat(aligns.map(() => ""))
          .slice(0, aligns.length)
          .map((cell, index) => ({ tokens: inline(cell), align: aligns[index] ?? null }));
      at += 2;
      const first = at;
      while (at < lines.length && bare[at]?.trim() !== "" && !starts(bare, at)) at += 1;
      tokens.push({ type: "table", raw: raw(from, at), head: row(line), rows: bare.slice(first, at).map(row) });
      continue;
    }
    if (/^(?: {4}|\t)/u.test(line)) {
      while (
        at < lines.length &&
        (/^(?: {4}|\t)/u.test(bare[at] as string) || (bare[at]?.trim() === "" && /^(?: {4}|\t)/u.test(bare[at + 1] ?? "")))
      )
        at += 1;
      tokens.push({
        type: "code",
        raw: raw(from, at),
        lang: "",
        text: bare
          .slice(from, at)
          .map((code) => code.replace(/^(?: {4}|\t)/u, ""))
          .join("\n"),
      });
      continue;
    }
    at += 1;
    let depth = 0;
    while (at < lines.length && bare[at]?.trim() !== "") {
      const underline = UNDERLINE.exec(bare[at] as string);
      if (underline !== null) depth = underline[1]?.startsWith("=") === true ? 1 : 2;
      if (depth > 0 || starts(bare, at)) break;
      at += 1;
    }
    const words = inline(
      bare
        .slice(from, at)
        .map((text) => text.replace(/^[ \t]+/u, ""))
        .join("\n")
        .trimEnd(),
    );
    if (depth > 0) at += 1;
    tokens.push(
      depth > 0 ? { type: "heading", raw: raw(from, at), depth, tokens: words } : { type: "paragraph", raw: raw(from, at), tokens: words },
    );
  }
  return tokens;
}

/** May this line begin another block in the middle of a paragraph? */
function starts(lines: readonly string[], at: number): boolean {
  const line = lines[at] as string;
  const item = ITEM.exec(line);
  if (
    item !== null &&
    item[3]?.trim() === "" &&
    line.trim() !== item[2] &&
    (!/^\d/u.test(item[2] as string) || /^1[.)]/u.test(item[2] as string))
  )
    return true;
  return HEADING.test(line) || FENCE.test(line) || RULE.test(line) || QUOTE.test(line) || isTable(lines, at);
}

function closingFence(lines: readonly string[], from: number, marker: string): number {
  const close = new RegExp(`^ {0,3}${marker[0] === "`" ? "`" : "~"}{${marker.length},}[ \\t]*$`, "u");
  const found = lines.findIndex((line, at) => at >= from && close.test(line));
  return found < 0 ? lines.length : found;
}

export const wordOf = (info: string | undefined): string => (info ?? "").trim().split(/\s/u)[0] ?? "";

function listFrom(bare: readonly string[], lines: readonly string[], from: number): { token: ListToken; end: number } {
  const marker = ITEM.exec(bare[from] as string)?.[2] as string;
  const kind = kindOf(marker);
  const items: ListItem[] = [];
  let loose = false;
  let at = from;
  let end = from;
  while (at < bare.length) {
    const opened = ITEM.exec(bare[at] as string);
    if (opened === null || kindOf(opened[2] as string) !== kind || (items.length > 0 && RULE.test(bare[at] as string))) break;
    const begun = at;
    const indent = (opened[1] as string).length + (opened[2] as string).length + Math.min(4, Math.max(1, opened[3]?.length ?? 1));
    const content = [(bare[at] as string).slice(indent)];
    at += 1;
    let blank = false;
    let last = at;
    for (; at < bare.length; at += 1) {
      const line = bare[at] as string;
      if (line.trim() === "") {
        blank = true;
        content.push("");
        continue;
      }
      const deep = /^[ \t]*/u.exec(line)?.[0].replaceAll("\t", "    ").length ?? 0;
      if (deep < indent && (ITEM.test(line) || blank || starts(bare, at))) break;
      if (blank && deep >= indent && !ITEM.test(line.trimStart())) loose = true;
      content.push(deep >= indent ? line.replaceAll("\t", "    ").slice(indent) : line);
      blank = false;
      last = at + 1;
    }
    const next = at < bare.length ? ITEM.exec(bare[at] as string) : null;
    const goesOn = next !== null && kindOf(next[2] as string) === kind;
    if (goesOn && blank) loose = true;
    end = goesOn ? at : last;
    const text = content.join("\n").trimEnd();
    const task = /^\[([ xX])\][ \t]+/u.exec(text);
    items.push({
      raw: lines.slice(begun, end).join(""),
      task: task === null ? null : task[1] !== " ",
      tokens: lex(task === null ? text : text.slice(task[0].length)).filter((token) => token.type !== "space"),
    });
    at = end;
    if (!goesOn) break;
  }
  if (!loose)
    for (const item of items)
      item.tokens = item.tokens.map((token) => (token.type === "paragraph" ? { ...token, type: "text" as const } : token));
  return {
    token: {
      type: "list",
      raw: lines.slice(from, end).join(""),
      ordered: /^\d/u.test(marker),
      start: Number.parseInt(marker, 10) || (marker.startsWith("0") ? 0 : 1),
      loose,
      items,
    },
    end,
  };
}

/** Bullets of one sign, or numbers of one bracket, are one list. */
const kindOf = (marker: string): string => (marker.length === 1 ? marker : marker.endsWith(".") ? "1." : "1)");

function isTable(lines: readonly string[], at: number): boolean {
  const [head, below] = [lines[at] as string, lines[at + 1]];
  return (
    below !== undefined &&
    head.includes("|") &&
    below.includes("-") &&
    DELIMITERS.test(below) &&
    cellsOf(head).length === cellsOf(below).length
  );
}

function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/u, "")
    .replace(/(?<!\\)\|$/u, "");
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function alignOf(cell: string): Align {
  if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "right";
  return cell.startsWith(":") ? "left" : null;
}
