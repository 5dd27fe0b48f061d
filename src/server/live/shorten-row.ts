/** Tool outputs as watchers get them: at most 4,000 characters of JSON, their shape kept as far as it goes; the whole is at `/api/chat/row`. */
import type { HistoryRow } from "../../protocol/history.ts";
import type { Json } from "../../protocol/json.ts";

const SHOWN_CHARS = 4_000;

export function shortenRow(row: HistoryRow): HistoryRow {
  if (row.kind !== "tool_result" || row.data.shortened) return row;
  const whole = JSON.stringify(row.data.output);
  if (whole.length <= SHOWN_CHARS) return row;
  const output = shortenJson(row.data.output, whole);
  return { ...row, data: { ...row.data, output, shortened: { chars: whole.length, shown: JSON.stringify(output).length } } };
}

/** Cuts long texts first, then long lists, ever harder until it fits. */
function shortenJson(value: Json, whole: string): Json {
  for (const [text, list] of [
    [3_000, 200],
    [1_500, 100],
    [800, 50],
    [300, 25],
    [100, 10],
    [40, 5],
  ] as const) {
    const cut = cutTo(value, text, list);
    if (JSON.stringify(cut).length <= SHOWN_CHARS) return cut;
  }
  return wellCut(whole, SHOWN_CHARS - 500);
}

function cutTo(value: Json, text: number, list: number): Json {
  if (typeof value === "string") return value.length > text ? `${wellCut(value, text)}…` : value;
  if (Array.isArray(value)) return value.slice(0, list).map((entry) => cutTo(entry, text, list));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, cutTo(entry, text, list)]));
  return value;
}

function wellCut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
