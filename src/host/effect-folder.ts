/**
 * The folder of one command, `run/effects/<hash of the effect key>/`: made and synced before the spawn, so that a folder that
 * is missing after a crash means "not started". `stdout` and `stderr` hold the first part of each stream, `*.tail` its end and
 * `*.total` how much it was, `exit` the shell's exit code, `ended` why we ended it.
 */
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode, sha256, syncFolder, writeSynced } from "./files.ts";

export interface EffectFolder {
  readonly path: string;
  file(name: "meta.json" | "stdout" | "stderr" | "exit" | "ended"): string;
}

export function effectFolder(home: string, effectKey: string): EffectFolder {
  const path = join(home, "run", "effects", sha256(effectKey).slice(0, 32));
  return { path, file: (name) => join(path, name) };
}

/** On disk when it resolves. A folder of the same key left by an earlier attempt is replaced. */
export async function makeEffectFolder(
  folder: EffectFolder,
  meta: { key: string; command: string; cwd: string; at: number },
): Promise<void> {
  await rm(folder.path, { recursive: true, force: true });
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  await writeSynced(folder.file("meta.json"), `${JSON.stringify(meta)}\n`);
  for (const name of ["stdout", "stderr"] as const) await (await open(folder.file(name), "a", 0o600)).close();
  await syncFolder(folder.path);
  await syncFolder(dirname(folder.path));
  await syncFolder(dirname(dirname(folder.path)));
}

export async function readMeta(folder: EffectFolder): Promise<string | null> {
  return readOrNull(folder.file("meta.json"));
}

/** The shell's exit code; null while there is none. */
export async function readExit(folder: EffectFolder): Promise<number | null> {
  const text = await readOrNull(folder.file("exit"));
  return text !== null && /^\d+\n/u.test(text) ? Number.parseInt(text, 10) : null;
}

export async function noteEnded(folder: EffectFolder, why: "timeout" | "cancelled"): Promise<void> {
  try {
    await writeFile(folder.file("ended"), why);
  } catch (error) {
    // Only a note for a later start; a full disk must not keep a stop from working.
    if (!hasCode(error, "ENOSPC", "EDQUOT", "ENOENT", "EIO", "EROFS")) throw error;
  }
}
export async function readEnded(folder: EffectFolder): Promise<"timeout" | "cancelled" | null> {
  const text = await readOrNull(folder.file("ended"));
  return text === "timeout" || text === "cancelled" ? text : null;
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}
