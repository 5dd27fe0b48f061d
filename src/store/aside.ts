/**
 * Keeps the bytes of a store that does not open, before anybody touches them: a copy in `aside-<time>/` beside it. The
 * same bytes are copied once, however often a start is tried. Only called while nothing in this process has the file open
 * (reading it by path would drop DuckDB's lock).
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { constants, copyFile, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";

const SUM_FILE = "sums.json";

/** Copies those of `files` that exist; answers with the folder that holds the copies. */
export async function keepAside(storeFolder: string, files: readonly string[], now: number): Promise<string> {
  const sums: Record<string, string> = {};
  for (const file of files) if (await exists(file)) sums[basename(file)] = await sumOf(file);
  const wanted = JSON.stringify(sums);
  const earlier = await findEarlier(storeFolder, wanted);
  if (earlier !== null) return earlier;
  const folder = await makeFolder(storeFolder, now);
  for (const file of files) {
    if (sums[basename(file)] !== undefined) await copyFile(file, join(folder, basename(file)), constants.COPYFILE_EXCL);
  }
  await writeFile(join(folder, SUM_FILE), wanted);
  return folder;
}

async function findEarlier(storeFolder: string, wanted: string): Promise<string | null> {
  for (const name of await readdir(storeFolder)) {
    if (!name.startsWith("aside-")) continue;
    const sums = await readFile(join(storeFolder, name, SUM_FILE), "utf8").catch(() => null);
    if (sums === wanted) return join(storeFolder, name);
  }
  return null;
}

async function makeFolder(storeFolder: string, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(":", "-");
  for (let number = 1; ; number++) {
    const folder = join(storeFolder, `aside-${stamp}${number === 1 ? "" : `-${number}`}`);
    const made = await mkdir(folder, { mode: 0o700 }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "EEXIST") return false;
        throw error;
      },
    );
    if (made) return folder;
  }
}

async function sumOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
