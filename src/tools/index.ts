/** The tool room: one registry, one runner. */
import type { Clock } from "../ports/clock.port.ts";
import type { ToolHost } from "../ports/host.port.ts";
import type { SettingsPort } from "../ports/settings.port.ts";
import type { ToolListing, ToolRoom } from "../ports/tools.port.ts";
import { DEFAULT_CAP } from "./cap-result.ts";
import type { Tool } from "./define-tool.ts";
import { docsTools } from "./docs/index.ts";
import { execTools } from "./exec/index.ts";
import { fileTools } from "./file/index.ts";
import { isOffered } from "./gating.ts";
import { createRegistry } from "./registry.ts";
import { createRunner, limitFor, rulesOf } from "./run-tool.ts";
import { timeTools } from "./time/index.ts";

export interface ToolRoomOptions {
  settings: SettingsPort;
  clock: Clock;
  /** `createToolHost` of `src/host`. */
  host: ToolHost;
  /** Markdown for `somora_docs_*`; a folder that is not there hides the two. */
  docsFolder: string;
  log?: (line: string, fields: Record<string, unknown>) => void;
}

const GENERAL_LIMIT_MS = 30_000;

export function createToolRoom({ settings, clock, host, docsFolder, log = () => {} }: ToolRoomOptions): ToolRoom {
  const registry = createRegistry([...timeTools, ...fileTools, ...docsTools, ...execTools]);
  const docs = host.docs(docsFolder);
  const runner = createRunner({ registry, settings, clock, host, shared: docs === null ? {} : { docs }, log });
  return {
    all: () => registry.all.map(listingOf),
    offered(name) {
      const agent = settings.agent(name);
      return agent === null
        ? []
        : registry.all.filter((tool) => isOffered(tool, rulesOf(agent)) && runner.isAvailable(tool)).map(listingOf);
    },
    isRepeatable: (name) => registry.get(name)?.repeatable ?? false,
    limitOf(name, input) {
      const tool = registry.get(name);
      const parsed = tool?.parse(input);
      return tool === null || parsed?.success !== true ? GENERAL_LIMIT_MS : limitFor(tool, parsed.input, GENERAL_LIMIT_MS);
    },
    run: runner.run,
    recover: runner.recover,
    undo: (agent, changeId) => host.undo(agent, changeId),
  };
}

function listingOf(tool: Tool): ToolListing {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    toolset: tool.toolset,
    maxResultSizeChars: tool.limits.maxResultSizeChars ?? DEFAULT_CAP,
  };
}
