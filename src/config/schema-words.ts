/** A Zod schema in words: which keys are known at a place, what a place allows, its default. For errors and reference pages. */
import { z } from "zod";

/** Without defaults, optional and the like. */
export function bare(schema: z.ZodType): z.ZodType {
  let here: z.ZodType = schema;
  for (;;) {
    if (
      here instanceof z.ZodDefault ||
      here instanceof z.ZodPrefault ||
      here instanceof z.ZodOptional ||
      here instanceof z.ZodNullable ||
      here instanceof z.ZodCatch
    ) {
      here = here.unwrap() as z.ZodType;
    } else return here;
  }
}

/** The schema at a path; null when the path leaves it. */
function schemaAt(schema: z.ZodType, path: readonly (string | number)[]): z.ZodType | null {
  let here = bare(schema);
  for (const part of path) {
    let next: unknown;
    if (here instanceof z.ZodObject) next = (here.shape as Record<string, unknown>)[String(part)];
    else if (here instanceof z.ZodRecord) next = here.valueType;
    else if (here instanceof z.ZodArray) next = here.element;
    if (!(next instanceof z.ZodType)) return null;
    here = bare(next);
  }
  return here;
}

export function keysAt(schema: z.ZodType, path: readonly (string | number)[]): string[] {
  const here = schemaAt(schema, path);
  return here instanceof z.ZodObject ? Object.keys(here.shape) : [];
}

export function allowedAt(schema: z.ZodType, path: readonly (string | number)[]): string {
  const here = schemaAt(schema, path);
  return here === null ? "nothing here" : allowedWords(here);
}

function allowedWords(schema: z.ZodType): string {
  const here = bare(schema);
  if (here instanceof z.ZodEnum) return here.options.join(" | ");
  if (here instanceof z.ZodLiteral) return [...here.values].map(String).join(" | ");
  if (here instanceof z.ZodBoolean) return "true | false";
  if (here instanceof z.ZodNumber) {
    const kind = here.isInt ? "a whole number" : "a number";
    const low = here.minValue;
    const high = here.maxValue;
    const bounded = high !== null && Number.isFinite(high) && high < Number.MAX_SAFE_INTEGER;
    if (low !== null && Number.isFinite(low) && low > Number.MIN_SAFE_INTEGER)
      return bounded ? `${kind} from ${low} to ${high}` : `${kind}, ${low} or more`;
    return bounded ? `${kind}, ${high} or less` : kind;
  }
  if (here instanceof z.ZodString) return here.minLength !== null && here.minLength > 0 ? "a text that is not empty" : "a text";
  if (here instanceof z.ZodURL) return "a web address";
  if (here instanceof z.ZodArray) return `a list: ${allowedWords(here.element as z.ZodType)}`;
  if (here instanceof z.ZodObject) return `a group with the keys ${Object.keys(here.shape).join(", ")}`;
  if (here instanceof z.ZodRecord) return "a group of named entries";
  return "JSON";
}

export interface KeyWords {
  key: string;
  allowed: string;
  /** JSON; null when there is none. */
  default: string | null;
  required: boolean;
  about: string;
}

/** Every key of a schema, dotted; `<name>` stands for a name of the person's own, `[]` for the entries of a list. */
export function describeKeys(schema: z.ZodType, prefix = ""): KeyWords[] {
  const here = bare(schema);
  if (here instanceof z.ZodObject) {
    return Object.entries(here.shape as Record<string, z.ZodType>).flatMap(([name, child]) =>
      describeKey(child, prefix === "" ? name : `${prefix}.${name}`),
    );
  }
  if (here instanceof z.ZodRecord) return describeKeys(here.valueType as z.ZodType, `${prefix}.<name>`);
  if (here instanceof z.ZodArray) return describeKeys(here.element as z.ZodType, `${prefix}[]`);
  return [];
}

function describeKey(schema: z.ZodType, key: string): KeyWords[] {
  const below = describeKeys(schema, key);
  const inner = bare(schema);
  const groups = below.length > 0;
  const line: KeyWords = {
    key,
    allowed: inner instanceof z.ZodArray && groups ? "a list of groups" : allowedWords(schema),
    default: schema instanceof z.ZodDefault ? JSON.stringify(schema.def.defaultValue) : null,
    required: !schema.safeParse(undefined).success,
    about: describedAs(schema),
  };
  if (groups && inner instanceof z.ZodObject) return line.about === "" ? below : [{ ...line, allowed: "a group" }, ...below];
  return [line, ...below];
}

function describedAs(schema: z.ZodType): string {
  let here: z.ZodType = schema;
  for (;;) {
    if (here.description !== undefined) return here.description;
    const inside = bare(here);
    if (inside === here) return "";
    here = inside;
  }
}
