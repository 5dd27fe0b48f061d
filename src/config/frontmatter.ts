/** Splits AGENTS.md into its frontmatter and its text. A frontmatter that cannot be read counts as none and breaks nothing. */
import { parse } from "yaml";
import { frontmatterSchema, type Frontmatter } from "./agent.schema.ts";

const NOTHING: Frontmatter = frontmatterSchema.parse({});

interface Persona {
  front: Frontmatter;
  text: string;
  /** Why the frontmatter was not used. */
  fault: string | null;
}

export function splitPersona(whole: string): Persona {
  const text = whole.startsWith("\uFEFF") ? whole.slice(1) : whole;
  const match = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match) return { front: NOTHING, text, fault: null };
  const rest = text.slice(match[0].length);
  try {
    const parsed: unknown = parse(match[1] ?? "", { logLevel: "silent" });
    const result = frontmatterSchema.safeParse(parsed ?? {});
    if (result.success) return { front: result.data, text: rest, fault: null };
    return { front: NOTHING, text: rest, fault: "the frontmatter is no list of keys" };
  } catch (error) {
    return { front: NOTHING, text: rest, fault: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}
