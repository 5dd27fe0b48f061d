/** Where in a file the wanted text nearly stands. */
import { editDistance } from "../../protocol/close-names.ts";

const MOST = 3;
const LIKE = 0.6;
const MOST_COMPARED = 20_000;
const MOST_LENGTH = 300;

export interface NearLine {
  line: number;
  why: "white space" | "like it";
}

/** Compares the first telling line of the wanted text. White space aside it is the same, or it is much like it; best first. */
export function nearLines(lines: readonly string[], wanted: readonly string[]): NearLine[] {
  const telling = wanted.map(folded).find((line) => line.length > 2) ?? folded(wanted[0] ?? "");
  if (telling === "") return [];
  const found: { line: number; score: number }[] = [];
  for (const [index, line] of lines.slice(0, MOST_COMPARED).entries()) {
    const score = likeness(folded(line), telling);
    if (score >= LIKE) found.push({ line: index + 1, score });
  }
  found.sort((a, b) => b.score - a.score || a.line - b.line);
  return found.slice(0, MOST).map(({ line, score }) => ({ line, why: score >= 1 ? "white space" : "like it" }));
}

function folded(line: string): string {
  return line.replace(/\s+/gu, " ").trim().slice(0, MOST_LENGTH);
}

function likeness(a: string, b: string): number {
  if (a === b) return 1;
  if (a === "" || b === "") return 0;
  if (a.includes(b) || (a.length > 5 && b.includes(a))) return 0.9;
  const longest = Math.max(a.length, b.length);
  const distance = editDistance(a, b, Math.floor(longest * (1 - LIKE)));
  return distance === Number.POSITIVE_INFINITY ? 0 : 1 - distance / longest;
}
