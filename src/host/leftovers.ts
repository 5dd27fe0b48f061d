/** What a dead run of this home left running: found by marker, ended before the doors open. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Clock } from "../ports/clock.port.ts";
import type { NamedProcess } from "../ports/host.port.ts";
import { endProcesses, GRACE_MS } from "./end-processes.ts";
import { hasCode, sha256 } from "./files.ts";
import { ourselves, withDescendants, type ProcessEntry, type ProcessTable } from "./process-table.ts";
import { systemClock } from "./system-clock.ts";

/** Names a home in the environment of its processes; the same at every start. */
export function homeIdOf(home: string): string {
  let real = resolve(home);
  try {
    real = realpathSync.native(real);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  return sha256(real).slice(0, 16);
}

/**
 * Ends every process that carries the home's marker, with what descends from it, never ourselves. Runners are killed first:
 * they must not write an exit code for a signal of ours.
 */
export async function endLeftovers(homeId: string, clock: Clock = systemClock): Promise<{ ended: NamedProcess[]; lost: NamedProcess[] }> {
  const find = (table: ProcessTable): ProcessEntry[] => {
    const never = ourselves(table);
    const marked = new Set([...table.values()].filter((entry) => entry.env("SOMORA_HOME_ID") === homeId).map((entry) => entry.pid));
    for (const pid of never) marked.delete(pid);
    return [...withDescendants(table, marked)].flatMap((pid) => table.get(pid) ?? []).filter((entry) => !never.has(entry.pid));
  };
  const isRunner = (entry: ProcessEntry): boolean => entry.env("SOMORA_RUNNER") !== null && entry.env("SOMORA_EFFECT") === null;
  await endProcesses(clock, { find: (table) => find(table).filter(isRunner), graceMs: 0 });
  return endProcesses(clock, { find, graceMs: GRACE_MS });
}
