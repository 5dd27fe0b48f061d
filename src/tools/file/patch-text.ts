/**
 * Replacing exact text in a file and nothing else. Works on bytes (as latin1 text), so that what is not UTF-8, a byte order
 * mark and the final newline stay as they are. Line breaks are neutral when matching (`\n`, `\r\n`, a lone `\r`) and kept when
 * writing: a line that is not changed keeps its own, a new one takes its neighbour's.
 */
import { SomoraError } from "../../protocol/errors.ts";
import { alignLines } from "./align-lines.ts";
import { nearLines } from "./near-lines.ts";

export interface PatchData {
  replacements: number;
  bytes: number;
  strategy: "exact";
  lines: { from: number; to: number };
}

const MOST_SHOWN = 5;

/** Pure. Throws PATCH_NO_CHANGE, PATCH_NOT_FOUND, PATCH_AMBIGUOUS. */
export function patchText(path: string, file: Buffer, oldText: string, newText: string, all: boolean): { after: Buffer; data: PatchData } {
  const wanted = normal(bytesOf(oldText));
  const fresh = normal(bytesOf(newText));
  if (wanted === fresh) {
    const onlyBreaks = oldText !== newText;
    throw new SomoraError(
      "PATCH_NO_CHANGE",
      `old_string and new_string are the same${onlyBreaks ? " but for their line breaks, which file_patch keeps as the file has them" : ""}; ${path} was not changed.`,
      {
        hint: onlyBreaks
          ? "To change line breaks write the file as a whole with file_write."
          : "Give the text as it should become in new_string.",
      },
    );
  }
  const original = file.toString("latin1");
  const text = normal(original);
  const places = allPlaces(text, wanted);
  if (places.length === 0) throw notFound(path, text, wanted);
  if (places.length > 1 && !all) throw ambiguous(path, text, places);
  const toOriginal = offsetsOf(original);
  const style = breakStyle(original);
  let result = "";
  let from = 0;
  for (const place of places) {
    const begin = toOriginal(place);
    const end = toOriginal(place + wanted.length);
    result += original.slice(from, begin) + replacement(original, begin, end, fresh, style);
    from = end;
  }
  result += original.slice(from);
  const after = Buffer.from(result, "latin1");
  const first = places[0] ?? 0;
  const line = lineAt(text, first);
  return {
    after,
    data: {
      replacements: places.length,
      bytes: after.length,
      strategy: "exact",
      lines: { from: line, to: line + breaksIn(wanted.replace(/\n$/u, "")) },
    },
  };
}

function bytesOf(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
function normal(text: string): string {
  return text.replace(/\r\n?/gu, "\n");
}
function breaksIn(text: string): number {
  return text.split("\n").length - 1;
}
function lineAt(text: string, place: number): number {
  return breaksIn(text.slice(0, place)) + 1;
}

/** Not overlapping, in order. */
function allPlaces(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

/** From a place in the text with `\n` only to the place in the file: one more for each `\r\n` before it. */
function offsetsOf(original: string): (place: number) => number {
  const pairs: number[] = [];
  for (let at = original.indexOf("\r\n"); at >= 0; at = original.indexOf("\r\n", at + 2)) pairs.push(at - pairs.length);
  return (place) => {
    let low = 0;
    let high = pairs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[middle] as number) < place) low = middle + 1;
      else high = middle;
    }
    return place + low;
  };
}

/** The kind of line break a file mostly has; `\n` when it has none. */
function breakStyle(original: string): string {
  const counts = new Map<string, number>();
  for (const [found] of original.matchAll(/\r\n|\n|\r/gu)) counts.set(found, (counts.get(found) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "\n";
}

/** The new text for one place, each line break in the right kind. */
function replacement(original: string, begin: number, end: number, fresh: string, style: string): string {
  const oldSpan = original.slice(begin, end);
  // Whole lines are compared, so that a line of which only a part lies in the span counts as the line it is.
  const lineBegin = lastBreakBefore(original, begin);
  const lineEnd = nextBreakFrom(original, end);
  const head = original.slice(lineBegin, begin);
  const tail = original.slice(end, lineEnd);
  const oldPieces = oldSpan.split(/\r\n|\n|\r/u);
  const oldBreaks = oldSpan.match(/\r\n|\n|\r/gu) ?? [];
  const newPieces = fresh.split("\n");
  if (newPieces.length === 1) return fresh;
  const partners = alignLines(withEnds(oldPieces, head, tail), withEnds(newPieces, head, tail));
  const breakBefore = breakEndingAt(original, lineBegin);
  const breakAfter = breakBeginningAt(original, lineEnd);
  let previous = breakBefore ?? oldBreaks[0] ?? breakAfter ?? style;
  let result = newPieces[0] ?? "";
  for (let index = 1; index < newPieces.length; index += 1) {
    const partner = partners[index - 1];
    const own = partner === undefined ? undefined : (oldBreaks[partner] ?? (partner === oldPieces.length - 1 ? breakAfter : undefined));
    previous = own ?? previous;
    result += previous + (newPieces[index] ?? "");
  }
  return result;
}

function withEnds(pieces: readonly string[], head: string, tail: string): string[] {
  return pieces.map((piece, index) => `${index === 0 ? head : ""}${piece}${index === pieces.length - 1 ? tail : ""}`);
}

function lastBreakBefore(text: string, at: number): number {
  return at === 0 ? 0 : Math.max(text.lastIndexOf("\n", at - 1), text.lastIndexOf("\r", at - 1)) + 1;
}
function nextBreakFrom(text: string, at: number): number {
  const places = [text.indexOf("\n", at), text.indexOf("\r", at)].filter((place) => place >= 0);
  return places.length === 0 ? text.length : Math.min(...places);
}
function breakEndingAt(text: string, at: number): string | undefined {
  if (at === 0) return undefined;
  return text.slice(at - 2, at) === "\r\n" ? "\r\n" : text.slice(at - 1, at);
}
function breakBeginningAt(text: string, at: number): string | undefined {
  if (at >= text.length) return undefined;
  return text.startsWith("\r\n", at) ? "\r\n" : text.charAt(at);
}

function shown(latin: string): string {
  const text = Buffer.from(latin, "latin1").toString("utf8");
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

function notFound(path: string, text: string, wanted: string): SomoraError {
  const lines = text.split("\n");
  const near = nearLines(lines, wanted.split("\n")).map(({ line, why }) => ({ line, text: shown(lines[line - 1] ?? ""), why }));
  const numbered = wanted
    .split("\n")
    .filter((line) => line !== "")
    .every((line) => /^\d+: /u.test(line));
  return new SomoraError(
    "PATCH_NOT_FOUND",
    `old_string is not in ${path}; nothing was changed.${near.length > 0 ? ` Nearest: ${near.map((entry) => `line ${entry.line}: ${entry.text}`).join(" | ")}` : ""}`,
    {
      hint: numbered
        ? "old_string begins with line numbers; they are file_read's and not in the file. Leave them out."
        : near.some((entry) => entry.why === "white space")
          ? "The nearest lines differ only in white space. Copy old_string exactly as file_read shows it, tabs and blanks included."
          : "Read that part of the file again with file_read and copy old_string exactly.",
      details: { near },
    },
  );
}

function ambiguous(path: string, text: string, places: readonly number[]): SomoraError {
  const lines = text.split("\n");
  const at = places.map((place) => lineAt(text, place));
  const near = at.slice(0, MOST_SHOWN).map((line) => ({ line, text: shown(lines[line - 1] ?? "") }));
  return new SomoraError(
    "PATCH_AMBIGUOUS",
    `old_string stands ${places.length} times in ${path}, at ${at.length > 1 ? "lines" : "line"} ${at.slice(0, 20).join(", ")}${at.length > 20 ? ", …" : ""}; nothing was changed.`,
    {
      hint: "Add lines around it to old_string until it is the only one, or pass replace_all: true to change them all.",
      details: { near, count: places.length },
    },
  );
}
