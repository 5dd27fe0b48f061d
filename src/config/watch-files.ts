/**
 * Says when something in the home's settings may have changed: `fs.watch` where the system gives it, and a cheap look at
 * sizes and times now and then, since watches miss changes on some file systems. Owns its watchers and its timer until `close`.
 */
import { watch, type FSWatcher } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { HomePaths } from "./home.ts";

export type SetTimer = (ms: number, callback: () => void) => () => void;

export interface Watch {
  /** Follows folders that are new. Call after each load. */
  follow(folders: readonly string[]): void;
  close(): void;
}

const QUIET_MS = 60;
const RESCAN_MS = 2_000;

export function watchHome(paths: HomePaths, setTimer: SetTimer, changed: () => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  let closed = false;
  let cancelQuiet: (() => void) | null = null;
  let cancelScan: (() => void) | null = null;
  let seen: string | null = null;

  const poke = (): void => {
    if (closed) return;
    cancelQuiet?.();
    cancelQuiet = setTimer(QUIET_MS, changed);
  };
  const drop = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const follow = (folders: readonly string[]): void => {
    const wanted = new Set([paths.home, paths.agents, paths.rehearsals, ...folders]);
    for (const folder of watchers.keys()) if (!wanted.has(folder)) drop(folder);
    for (const folder of wanted) {
      if (closed || watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (name === null || matters(name)) poke();
        });
        watcher.on("error", () => drop(folder));
        watchers.set(folder, watcher);
      } catch {
        // Not there, or no watches left on this machine: the look below sees the change all the same.
        continue;
      }
    }
  };
  const scan = (): void => {
    cancelScan = setTimer(RESCAN_MS, () => {
      void printOf(paths).then((print) => {
        if (closed) return;
        if (seen !== null && print !== seen) poke();
        seen = print;
        scan();
      });
    });
  };
  follow([]);
  scan();
  return {
    follow,
    close() {
      closed = true;
      cancelQuiet?.();
      cancelScan?.();
      for (const folder of watchers.keys()) drop(folder);
    },
  };
}

/** In the home itself much happens that is not settings. */
function matters(name: string): boolean {
  return /\.(yaml|md|env)$/.test(name) || !name.includes(".");
}

/** Never rejects; what cannot be looked at is part of the print. */
async function printOf(paths: HomePaths): Promise<string> {
  const files = [paths.config, paths.secrets];
  for (const name of await namesOf(paths.agents)) files.push(join(paths.agents, name, "AGENTS.md"), join(paths.agents, name, "agent.yaml"));
  for (const name of await namesOf(paths.rehearsals)) files.push(join(paths.rehearsals, name));
  const prints = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size, mtimeMs, ino }) => `${file} ${size} ${mtimeMs} ${ino}`,
        (error: NodeJS.ErrnoException) => `${file} ${error.code ?? ""}`,
      ),
    ),
  );
  return prints.join("\n");
}

async function namesOf(folder: string): Promise<string[]> {
  return readdir(folder).then(
    (names) => names.sort(),
    () => [],
  );
}
