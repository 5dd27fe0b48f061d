/** somora.env, and filling `${NAME}` and `${NAME:-default}` from it, then from the environment. */

export type Lookup = (name: string) => string | undefined;

/** Lines `NAME=value`; `export ` before it, quotes around the value and `#` lines are allowed. What is no such line is left out. */
export function parseSecrets(text: string): Map<string, string> {
  const secrets = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (!match) continue;
    const [, name, raw] = match as unknown as [string, string, string];
    const quoted = /^"((?:[^"\\]|\\.)*)"$|^'([^']*)'$/.exec(raw);
    const value = quoted ? (quoted[2] ?? (quoted[1] ?? "").replace(/\\n/g, "\n").replace(/\\(.)/g, "$1")) : raw.replace(/\s+#.*$/, "");
    secrets.set(name, value);
  }
  return secrets;
}

/** Puts `name=value` into the text of somora.env, in place of an earlier line of that name. */
export function withSecret(text: string, name: string, value: string): string {
  const plain = /^[A-Za-z0-9_./:@+=-]*$/.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"`;
  const line = `${name}=${plain}`;
  const lines = text.split("\n");
  const at = lines.findIndex((other) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(other));
  if (at >= 0) lines[at] = line;
  else if (lines.at(-1) === "") lines.splice(-1, 0, line);
  else lines.push(line, "");
  return lines.join("\n");
}

interface Filled {
  value: string;
  /** Names without a value and without a default. */
  missing: string[];
  /** The text was one `${…}` and nothing else. */
  whole: boolean;
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** An empty value counts as set for `${NAME}`, as missing for `${NAME:-default}`, as shells have it. */
export function fillReferences(text: string, lookup: Lookup): Filled {
  const missing: string[] = [];
  const value = text.replace(REFERENCE, (_, name: string, fallback: string | undefined) => {
    const found = lookup(name);
    if (fallback !== undefined) return found === undefined || found === "" ? fallback : found;
    if (found === undefined) missing.push(name);
    return found ?? "";
  });
  return { value, missing, whole: /^\$\{[^}]*\}$/.test(text) };
}
