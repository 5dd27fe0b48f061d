/** A result over its cap is shortened, says so, and lies whole in a file (P11). */
import type { Json } from "../protocol/json.ts";
import { wellFormed } from "../protocol/well-formed.ts";

export const DEFAULT_CAP = 100_000;
/** Room for the marker around the preview. */
const MARKER = 200;

/** Data as plain JSON: `undefined` left out, text well-formed. Throws what cannot be JSON. */
export function toJson(data: unknown): { value: Json; text: string } {
  const text = JSON.stringify(data, (_, value: unknown) => (typeof value === "string" ? wellFormed(value) : value)) ?? "null";
  return { value: JSON.parse(text) as Json, text };
}

export async function capResult(data: unknown, cap: number, save: (text: string) => Promise<string | null>): Promise<Json> {
  const { value, text } = toJson(data);
  if (text.length <= cap) return value;
  const file = await save(text);
  return {
    truncated: true,
    original_size_chars: text.length,
    cap_chars: cap,
    preview: `${wellFormed(text.slice(0, Math.max(0, cap - MARKER)))}… [cut here]`,
    hint:
      file === null
        ? "The result was cut and the whole could not be stored. Ask for less: a smaller limit, a narrower path or pattern."
        : `The whole result is in ${file}. Page it with file_read or search it with file_search, or ask for less.`,
    ...(file === null ? {} : { full_output_file: file }),
  };
}
