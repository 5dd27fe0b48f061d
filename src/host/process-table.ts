/**
 * Who runs on this computer now: pid, parent, group, session, start, and on Linux the environment a process began with.
 * One reading is shared by all who ask for one of its age, so that many stops side by side cost one scan.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { hasCode } from "./files.ts";

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** Start, in the system's own ticks; with the pid it names one process. */
  started: string;
  zombie: boolean;
  command: string;
  /** On its way out, or between two programs (exec): no memory, command line or environment now. The first answer stays. */
  ending(): boolean;
  /** Value of a variable in its first environment; null when absent or unreadable. */
  env(name: string): string | null;
}
export type ProcessTable = ReadonlyMap<number, ProcessEntry>;

/** `cost`: how long the reading took. */
let shared: { began: number; cost: number; table: ProcessTable } | null = null;

/**
 * A reading that began at `since` (`performance.now()`) or later; without it a fresh one. Who waits for something to be gone
 * asks for one that is younger than the last signal: an older one could miss what was forked in between.
 */
export function readProcesses({ since = Number.POSITIVE_INFINITY }: { since?: number } = {}): ProcessTable {
  if (shared !== null && shared.began >= since) return shared.table;
  const began = performance.now();
  const table = process.platform === "linux" ? fromProc() : fromPs();
  shared = { began, cost: performance.now() - began, table };
  return table;
}

/** How long the last reading took: who looks again and again waits longer than that in between. */
export function readingCost(): number {
  return shared?.cost ?? 0;
}

/**
 * A fresh reading of what may have been started since `pid` was: a fraction of the work while numbers only grow. Where they
 * may have wrapped round since, it is everything.
 */
export function readProcessesSince(pid: number): ProcessTable {
  if (process.platform !== "linux") return readProcesses();
  const newest = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
  return newest >= pid ? fromProc(pid) : readProcesses();
}

function fromProc(from = 0): ProcessTable {
  const table = new Map<number, ProcessEntry>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/u.test(name) || Number(name) < from) continue;
    const entry = procEntry(Number(name));
    if (entry !== null) table.set(entry.pid, entry);
  }
  return table;
}

/** One process, asked now; null when it is gone. */
function procEntry(pid: number): ProcessEntry | null {
  const stat = readProc(pid, "stat");
  if (stat === null) return null;
  // `pid (comm) state ppid pgrp session …`; comm may hold spaces and brackets, so fields are counted from its end.
  const close = stat.lastIndexOf(")");
  const fields = stat.slice(close + 2).split(" ");
  let environment: string | null | undefined;
  let ending: boolean | undefined;
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    started: fields[19] ?? "",
    zombie: fields[0] === "Z" || fields[0] === "X",
    get command() {
      return (readProc(pid, "cmdline") ?? "").split("\0").join(" ").trim().slice(0, 200) || stat.slice(stat.indexOf("(") + 1, close);
    },
    ending: () => (ending ??= (readProc(pid, "cmdline") ?? "") === ""),
    env(name) {
      environment ??= `\0${readProc(pid, "environ") ?? ""}\0`;
      const at = environment.indexOf(`\0${name}=`);
      if (at < 0) return null;
      const from = at + name.length + 2;
      return environment.slice(from, environment.indexOf("\0", from));
    },
  };
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return null;
    throw error;
  }
}

/** Without /proc there is no environment to ask: group, session and descent must do. */
function fromPs(): ProcessTable {
  const table = new Map<number, ProcessEntry>();
  const output = execFileSync("ps", ["-axo", "pid=,ppid=,pgid=,sess=,stat=,lstart=,command="], {
    encoding: "utf8",
    maxBuffer: 32 * 1024 * 1024,
  });
  for (const line of output.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/u.exec(line);
    if (match === null) continue;
    const pid = Number(match[1]);
    table.set(pid, {
      pid,
      parent: Number(match[2]),
      group: Number(match[3]),
      session: Number(match[4]) || 0,
      started: match[6] ?? "",
      zombie: (match[5] ?? "").startsWith("Z"),
      command: (match[7] ?? "").slice(0, 200),
      ending: () => false,
      env: () => null,
    });
  }
  return table;
}

/** The same process as before, still running (a zombie has ended). */
export function stillRuns(entry: ProcessEntry, table: ProcessTable): boolean {
  const now = table.get(entry.pid);
  return now !== undefined && now.started === entry.started && !now.zombie;
}

/** The given ones with everything that descends from them. */
export function withDescendants(table: ProcessTable, roots: ReadonlySet<number>): Set<number> {
  const found = new Set(roots);
  const memo = new Map<number, boolean>();
  const descends = (pid: number, depth: number): boolean => {
    if (found.has(pid)) return true;
    const known = memo.get(pid);
    if (known !== undefined) return known;
    const entry = table.get(pid);
    const answer = entry !== undefined && depth < 200 && entry.parent > 1 && descends(entry.parent, depth + 1);
    memo.set(pid, answer);
    return answer;
  };
  const below = [...table.keys()].filter((pid) => descends(pid, 0));
  for (const pid of below) found.add(pid);
  return found;
}

/** This process and all above it: never ended by us. */
export function ourselves(table: ProcessTable): Set<number> {
  const line = new Set<number>();
  for (let pid = process.pid; pid > 0 && !line.has(pid); pid = table.get(pid)?.parent ?? 0) line.add(pid);
  return line;
}
