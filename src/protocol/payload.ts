/** Text does not travel in context, mail or story: an event brings payloads, charts hold references to them. */

/** What a door or a driver hands in beside an event. `text` is well-formed (no lone surrogates). */
export interface PayloadInput {
  /** What it is, for readers: `message`, `answer`, `thinking`, `arguments`, `result`. */
  kind: string;
  text: string;
}

/** What a chart sees and keeps: the text itself stands in the store under `id`. */
export interface PayloadRef {
  /** `<event id>:<number>`, unique in the store. */
  id: string;
  kind: string;
  /** UTF-16 units of the whole text. */
  size: number;
  /** The first 160 characters, white space folded. */
  preview: string;
}

const PREVIEW = 160;

export function previewOf(text: string): string {
  const folded = text
    .slice(0, PREVIEW * 4)
    .replace(/\s+/gu, " ")
    .trim();
  const characters = [...folded];
  return characters.length > PREVIEW ? `${characters.slice(0, PREVIEW - 1).join("")}…` : folded;
}
