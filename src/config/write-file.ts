/** Writes a whole file: aside, synced, renamed. A reader sees the old text or the new one, never half of it. */
import { open, rename, rm } from "node:fs/promises";
import { randomBytes } from "node:crypto";

export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString("hex")}.part`;
  try {
    const file = await open(aside, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
