/**
 * Ending processes for good: TERM, a grace, KILL, and watching until they are really gone. The set is asked for again and
 * again, so that what is forked meanwhile is ended too. What lives past the kill is named, never called ended.
 */
import type { Clock } from "../ports/clock.port.ts";
import type { NamedProcess } from "../ports/host.port.ts";
import { hasCode } from "./files.ts";
import { readingCost, readProcesses, stillRuns, type ProcessEntry, type ProcessTable } from "./process-table.ts";

export const GRACE_MS = 2_000;
/** Alive this long past the kill: lost. */
const LOST_AFTER_MS = 5_000;
const LOOK_EVERY_MS = 25;
/** A dying process loses its environment, and with it our marker, before it is gone: it is waited for this long. */
const DYING_MS = 500;

export interface EndRequest {
  /** Who is to end, as things stand now. */
  find(table: ProcessTable): ProcessEntry[];
  graceMs: number;
  /** Seen before the first signal: counted and named also when the signal ends them before the next look. */
  known?: readonly ProcessEntry[];
  /** A group to signal as a whole, so that nothing in it slips through between looking and signalling. */
  group?: number;
  /** For tests of what cannot be killed. */
  signal?: (pid: number, signal: NodeJS.Signals) => void;
}
export interface EndResult {
  ended: NamedProcess[];
  lost: NamedProcess[];
}

export async function endProcesses(clock: Clock, request: EndRequest): Promise<EndResult> {
  const send = request.signal ?? sendSignal;
  const seen = new Map<string, ProcessEntry & { shown: string }>();
  for (const entry of request.known ?? []) seen.set(`${entry.pid} ${entry.started}`, Object.assign(entry, { shown: entry.command }));
  const began = clock.monotonic();
  let signalled = new Set<string>();
  let killing = request.graceMs <= 0;
  let killedAt = killing ? began : null;
  let noneSince: number | null = null;
  if (request.group !== undefined) send(-request.group, killing ? "SIGKILL" : "SIGTERM");
  let since = performance.now();
  // Others that end now as well send their signals first; then one reading serves all.
  if (request.group !== undefined) await pause(clock);
  for (;;) {
    const table = readProcesses({ since });
    const living = request.find(table).filter((entry) => !entry.zombie);
    for (const entry of living) {
      const key = `${entry.pid} ${entry.started}`;
      if (!seen.has(key)) seen.set(key, Object.assign(entry, { shown: entry.command }));
      if (signalled.has(key) && !killing) continue;
      signalled.add(key);
      // Already sent to the group as a whole; a second TERM could be taken for impatience.
      if (!killing && entry.group === request.group) continue;
      send(entry.pid, killing ? "SIGKILL" : "SIGTERM");
    }
    const now = clock.monotonic();
    if (living.length === 0) {
      noneSince ??= now;
      const dying = [...seen.values()].some((entry) => stillRuns(entry, table));
      if (!dying || now - noneSince >= DYING_MS) break;
    } else noneSince = null;
    if (!killing && now - began >= request.graceMs) {
      killing = true;
      killedAt = now;
      signalled = new Set();
      if (request.group !== undefined) send(-request.group, "SIGKILL");
      continue;
    }
    if (killedAt !== null && now - killedAt >= LOST_AFTER_MS) break;
    since = performance.now();
    await pause(clock);
  }
  const table = readProcesses({ since });
  const all = [...seen.values()];
  const named = (entry: { pid: number; shown: string }): NamedProcess => ({ pid: entry.pid, command: entry.shown });
  return {
    ended: all.filter((entry) => !stillRuns(entry, table)).map(named),
    lost: all.filter((entry) => stillRuns(entry, table)).map(named),
  };
}

/** On a starved machine a reading takes long; then the looks are further apart. */
function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.setTimer(Math.max(LOOK_EVERY_MS, readingCost()), resolve));
}

/** What is gone already needs no signal; what is not ours to signal shows as lost. */
function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH", "EPERM")) throw error;
  }
}
