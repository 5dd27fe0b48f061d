/** `{{path}}` in a script: a look-up by dots and numbers, no code. */
import type { Json, JsonObject } from "../../protocol/json.ts";

const PLACE = /\{\{\s*([^{}]+?)\s*\}\}/g;
const WHOLE = /^\{\{\s*([^{}]+?)\s*\}\}$/;

/** `ls.data.entries.0.path`; undefined when there is nothing. */
export function lookUp(root: Json, path: string): Json | undefined {
  let value: Json | undefined = root;
  for (const part of path.split(".")) {
    if (Array.isArray(value)) value = part === "length" ? value.length : value[Number(part)];
    else if (value !== null && typeof value === "object") value = Object.hasOwn(value, part) ? value[part] : undefined;
    else return undefined;
  }
  return value;
}

/** Every place filled once; what a value holds is not filled again. A place without a value says so. */
export function fill(text: string, found: JsonObject): string {
  return text.replace(PLACE, (_all, path: string) => {
    const value = lookUp(found, path);
    if (value === undefined) return `(nothing at ${path})`;
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/** The same in every string of a value; a string that is one place alone becomes the value itself. */
export function fillDeep(value: Json, found: JsonObject): Json {
  if (typeof value === "string") {
    const alone = WHOLE.exec(value)?.[1];
    const looked = alone === undefined ? undefined : lookUp(found, alone);
    return looked === undefined ? fill(value, found) : looked;
  }
  if (Array.isArray(value)) return value.map((item) => fillDeep(item, found));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillDeep(item, found)]));
  }
  return value;
}
