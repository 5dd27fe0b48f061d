/** All tools by name. A name twice is an error at start. */
import type { Tool } from "./define-tool.ts";

export interface Registry {
  get(name: string): Tool | null;
  readonly all: readonly Tool[];
  readonly names: readonly string[];
}

export function createRegistry(tools: readonly Tool[]): Registry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name))
      throw new Error(
        `The tool name ${tool.name} is registered twice (toolsets ${byName.get(tool.name)?.toolset ?? "?"} and ${tool.toolset}). Every tool needs a name of its own.`,
      );
    byName.set(tool.name, tool);
  }
  return { get: (name) => byName.get(name) ?? null, all: [...tools], names: [...byName.keys()] };
}
