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

export async function* walk(root: string, options: WalkOptions): AsyncGenerator<Walked> {
  const stack: { path: string; inside: string }[] = [{ path: root, inside: "" }];
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    const found = await entriesOf(folder.path, folder.inside, options);
    const below: { path: string; inside: string }[] = [];
    for (const entry of found) {
      options.signal.throwIfAborted();
      if (entry.kind === "dir" && options.recursive && !entry.inside.endsWith(".git")) below.push(entry);
      yield entry;
    }
    stack.push(...below.reverse());
  }
}

async function entriesOf(folder: string, inside: string, { policy, agent, hidden }: WalkOptions): Promise<Walked[]> {
  const found: Walked[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (!hidden && entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      if (policy.refusal(path, "read", agent) !== null) continue;
      found.push({ path, inside: inside === "" ? entry.name : `${inside}/${entry.name}`, kind: entry.isFile() ? "file" : entry.isDirectory() ? "dir" : "other" });
    }
  } catch (error) {
    if (!hasCode(error, "EACCES", "EPERM", "ENOENT", "ENOTDIR")) throw error;
  }
  return found.sort((a, b) => (a.inside < b.inside ? -1 : 1));
}
