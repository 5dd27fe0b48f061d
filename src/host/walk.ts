/** An own walker over a folder: no links followed, blocked and unreadable folders skipped, order by name. */
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "./files.ts";
import type { PathPolicy } from "./path-policy.ts";

export interface Walked {
  path: string;
  /** Relative to the root, with `/`. */
  inside: string;
  kind: "file" | "dir" | "other";
}
export interface WalkOptions {
  policy: PathPolicy;
  agent: string;
  signal: AbortSignal;
  recursive: boolean;
  hidden: boolean;
}

/** Depth first in order of names, as `ripgrep --sort path` goes. */
export async function* walk(root: string, options: WalkOptions, inside = ""): AsyncGenerator<Walked> {
  for (const entry of await entriesOf(root, inside, options)) {
    options.signal.throwIfAborted();
    yield entry;
    if (entry.kind === "dir" && options.recursive && entry.inside.split("/").at(-1) !== ".git")
      yield* walk(entry.path, options, entry.inside);
  }
}

async function entriesOf(folder: string, inside: string, { policy, agent, hidden }: WalkOptions): Promise<Walked[]> {
  const found: Walked[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (!hidden && entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      if (policy.refusal(path, "read", agent) !== null) continue;
      found.push({
        path,
        inside: inside === "" ? entry.name : `${inside}/${entry.name}`,
        kind: entry.isFile() ? "file" : entry.isDirectory() ? "dir" : "other",
      });
    }
  } catch (error) {
    if (!hasCode(error, "EACCES", "EPERM", "ENOENT", "ENOTDIR")) throw error;
  }
  return found.sort((a, b) => (a.inside < b.inside ? -1 : 1));
}
