/** Fields that several routes take. */
import { z } from "zod";
import { AGENT_NAME, SESSION_SLUG } from "../protocol/ids.ts";

export const agentField = z.string().regex(AGENT_NAME, "an agent name: letters, digits, `_`, `.`, `-`");
export const sessionField = z.string().regex(SESSION_SLUG, "a session slug: letters, digits, `_`, `-`");
export const addressField = z.string().regex(/^\/(?:[^/]+(?:\/[^/]+)*)?$/, "an address such as `/agents/guide/sessions/main`");

/** One line that can be read: control characters and those that turn the reading direction become spaces; nothing left is no title. */
export const titleField = z
  .string()
  .max(300)
  .transform((text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\s]+/gu, " ").trim() || null);

/** A whole number in a query. */
export const numberField = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `a whole number from ${low} to ${high}`)
    .transform(Number)
    .refine((value) => value >= low && value <= high, `a whole number from ${low} to ${high}`);

export const LONGEST_WAIT_MS = 3_600_000;
export const LONGEST_TEXT = 262_144;
