/** Files that survive a power cut: written aside, synced, renamed, folder synced. And text that is well-formed. */
import { createHash, randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Makes a created, renamed or removed name durable. Systems that cannot sync a folder (EINVAL, EISDIR, EPERM) are let pass. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!hasCode(error, "EINVAL", "EISDIR", "EPERM")) throw error;
  }
}

/** Writes and syncs a new file; fails when it exists. */
export async function writeSynced(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  const handle = await open(path, "wx", mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces a file as a whole: readers see the old or the new content, never a part. */
export async function writeFileAtomic(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  const aside = join(dirname(path), asideName());
  try {
    await writeSynced(aside, content, mode);
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** A name nobody else uses, for the file beside the one that is replaced. */
export function asideName(): string {
  return `.somora-${process.pid}-${randomBytes(6).toString("hex")}.tmp`;
}

export function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}

/** UTF-8 with U+FFFD for what is not; a byte order mark is kept. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** A NUL within the first 8 KB: not text. */
export function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0);
}
