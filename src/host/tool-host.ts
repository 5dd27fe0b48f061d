/** This computer for the tool room: files under the policy, commands, documentation, kept copies. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../ports/clock.port.ts";
import type { ToolHost } from "../ports/host.port.ts";
import { createCallFiles } from "./call-files.ts";
import { changesFolder, KEEP_CHANGES_MS, sweepFolder, undoChange } from "./changes.ts";
import { createDocs } from "./docs.ts";
import { hasCode } from "./files.ts";
import { homeIdOf } from "./leftovers.ts";
import { createQueues } from "./one-at-a-time.ts";
import { saveOverflow } from "./overflow.ts";
import { createPathPolicy } from "./path-policy.ts";
import { createCallProcesses } from "./processes.ts";

/** Longer than any foreground command may run. */
const KEEP_EFFECTS_MS = 24 * 3_600_000;

export interface ToolHostOptions {
  home: string;
  clock: Clock;
  /** Environment that commands inherit: the server's own. */
  environment: NodeJS.ProcessEnv;
  userHome?: string;
  /** Another ripgrep than the one on the path (`RG_BIN`). */
  ripgrep?: string;
  /** False: do without perl. */
  perl?: boolean;
}

export function createToolHost({ home, clock, environment, userHome, ripgrep, perl }: ToolHostOptions): ToolHost {
  const policy = createPathPolicy({ home, ...(userHome === undefined ? {} : { userHome }) });
  const queue = createQueues();
  const homeId = homeIdOf(home);
  return {
    files: (scope) => createCallFiles({ policy, clock, queue, ...(ripgrep === undefined ? {} : { ripgrep }) }, scope),
    processes: (scope) =>
      createCallProcesses({ home: policy.home, homeId, clock, environment, ...(perl === undefined ? {} : { perl }) }, scope),
    docs: createDocs,
    saveOverflow: (agent, tool, text, extension) => saveOverflow(policy.home, agent, tool, text, extension, clock.now()),
    undo: (agent, changeId) => undoChange(policy, agent, changeId),
    async sweep() {
      let removed = await sweepFolder(join(policy.home, "run", "effects"), KEEP_EFFECTS_MS, clock.now());
      for (const agent of await agentFolders(policy.home)) {
        removed += await sweepFolder(changesFolder(policy.home, agent), KEEP_CHANGES_MS, clock.now());
        removed += await sweepFolder(join(policy.home, "agents", agent, "tool-output"), KEEP_CHANGES_MS, clock.now());
      }
      return { removed };
    },
  };
}

async function agentFolders(home: string): Promise<string[]> {
  try {
    const entries = await readdir(join(home, "agents"), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
