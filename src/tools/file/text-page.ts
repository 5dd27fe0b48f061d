/** A page of numbered lines, with exact numbers for the next one. */
import { wellFormed } from "../../protocol/well-formed.ts";

const MOST_LINE = 2_000;
const MOST_CONTENT = 200_000;

export interface TextPage {
  lines: number;
  content: string;
  range: { from: number; to: number };
  truncated: boolean;
  truncated_reason: "limit" | "size" | undefined;
  next_offset: number | undefined;
  summary: string;
}

/** Null when it is not text. A byte order mark is not shown. */
export function textOf(bytes: Buffer): string | null {
  if (bytes.subarray(0, 8_192).includes(0)) return null;
  return new TextDecoder("utf-8").decode(bytes);
}

/** A final newline makes no empty line. */
export function pageOf(text: string, offset: number, limit: number): TextPage {
  const lines = text === "" ? [] : text.split(/\r\n|\n|\r/u);
  if (lines.at(-1) === "") lines.pop();
  const shown: string[] = [];
  let size = 0;
  for (const [index, line] of lines.slice(offset, offset + limit).entries()) {
    const numbered = `${offset + index + 1}: ${cut(line)}`;
    if (shown.length > 0 && size + numbered.length + 1 > MOST_CONTENT) break;
    shown.push(numbered);
    size += numbered.length + 1;
  }
  const end = offset + shown.length;
  const more = end < lines.length && offset < lines.length;
  const reason = !more ? undefined : shown.length < limit ? "size" : "limit";
  return {
    lines: lines.length,
    content: shown.join("\n"),
    range: shown.length === 0 ? { from: 0, to: 0 } : { from: offset + 1, to: end },
    truncated: more,
    truncated_reason: reason,
    next_offset: more ? end : undefined,
    summary: summaryOf(lines.length, offset, end, reason),
  };
}

function summaryOf(total: number, offset: number, end: number, reason: "limit" | "size" | undefined): string {
  if (total === 0) return "The file is empty.";
  if (offset >= total) return `Offset ${offset} is past the end: the file has ${total} lines, valid offsets are 0 to ${total - 1}.`;
  if (reason === "size")
    return `Lines ${offset + 1} to ${end} of ${total}; the page is full (${MOST_CONTENT} characters). Go on with offset ${end}.`;
  if (reason === "limit") return `Lines ${offset + 1} to ${end} of ${total}. Go on with offset ${end}.`;
  return `End of the file, ${total} ${total === 1 ? "line" : "lines"} in all.`;
}

function cut(line: string): string {
  return line.length <= MOST_LINE ? line : `${wellFormed(line.slice(0, MOST_LINE))} [line cut, ${line.length - MOST_LINE} more characters]`;
}
