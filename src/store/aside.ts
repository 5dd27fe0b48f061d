/**
 * Copies of the store's files beside it, made before anybody touches them: `aside-<time>/` of files that are damaged,
 * `copy-<time>/` before another build writes for the first time. The same bytes are copied once, however often a start is
 * tried. Only called while nothing in this process has the database open (reading it by path would drop DuckDB's lock).
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { constants, copyFile, link, mkdir, readFile, readdir, rm, stat, statfs, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type StoreFiles, whenAbsent } from "./files.ts";

export type AsideKind = "aside" | "copy";

const SUM_FILE = "sums.json";
const BLOBS = "blobs";
/** What must stay free beside the copies. */
const SPARE_BYTES = 8 * 1024 * 1024;

/** Answers with the folder that holds the copies. Throws when there is no room, and leaves nothing half then. */
export async function keepAside(files: StoreFiles, now: number, kind: AsideKind = "aside"): Promise<string> {
  const there: { path: string; name: string; size: number }[] = [];
  for (const path of [files.database, files.wal, files.mark, files.report]) {
    const found = await stat(path).catch(whenAbsent(null));
    if (found !== null) there.push({ path, name: basename(path), size: found.size });
  }
  const sums: Record<string, string> = {};
  for (const { path, name } of there) if (path === files.database || path === files.wal) sums[name] = await sumOf(path);
  const wanted = JSON.stringify(sums);
  const earlier = await findEarlier(files.folder, kind, wanted);
  if (earlier !== null) return earlier;
  await checkRoom(
    files.folder,
    there.reduce((sum, { size }) => sum + size, 0),
  );
  const folder = await makeFolder(files.folder, kind, now);
  try {
    // A clone where the file system can: it costs no room.
    for (const { path, name } of there) await copyFile(path, join(folder, name), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    if (kind === "copy") await linkBlobs(files.blobs, join(folder, BLOBS));
    await writeFile(join(folder, SUM_FILE), wanted);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

/** Folders of copies, oldest first. */
export async function asideFolders(storeFolder: string, kind: AsideKind): Promise<string[]> {
  const names = await readdir(storeFolder).catch(whenAbsent([] as string[]));
  return names
    .filter((name) => name.startsWith(`${kind}-`))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .map((name) => join(storeFolder, name));
}

/** Removes all but the newest `keep` copies. Only those made before an update: what was damaged stays until a person removes it. */
export async function dropOldCopies(storeFolder: string, keep: number): Promise<string[]> {
  const old = (await asideFolders(storeFolder, "copy")).slice(0, -keep);
  for (const folder of old) await rm(folder, { recursive: true, force: true });
  return old;
}

/** A file of `blobs/` is never changed, only added or removed: a second name for it is a copy. */
async function linkBlobs(from: string, to: string): Promise<void> {
  const names = await readdir(from).catch(whenAbsent([] as string[]));
  if (names.length === 0) return;
  await mkdir(to, { mode: 0o700 });
  for (const name of names) {
    if (/^[0-9a-f]{64}$/.test(name)) await link(join(from, name), join(to, name)).catch(() => copyFile(join(from, name), join(to, name)));
  }
}

async function checkRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free < bytes + SPARE_BYTES) throw new Error(`copies need ${megabytes(bytes + SPARE_BYTES)}, ${megabytes(free)} are free`);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0)} MB`;
}

async function findEarlier(storeFolder: string, kind: AsideKind, wanted: string): Promise<string | null> {
  for (const folder of await asideFolders(storeFolder, kind)) {
    const sums = await readFile(join(folder, SUM_FILE), "utf8").catch(() => null);
    if (sums === wanted) return folder;
  }
  return null;
}

async function makeFolder(storeFolder: string, kind: AsideKind, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(":", "-");
  for (let number = 1; ; number++) {
    const folder = join(storeFolder, `${kind}-${stamp}${number === 1 ? "" : `-${number}`}`);
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
