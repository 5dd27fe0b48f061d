/** The generation of cookies in a small file, so that ended sessions stay ended after a restart. */
import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import type { Generation } from "./pairing.ts";

export function generationFile(path: string): Generation {
  let value = 1;
  try {
    const stored = Number(readFileSync(path, "utf8"));
    if (Number.isSafeInteger(stored) && stored > 0) value = stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return {
    get: () => value,
    async grow() {
      value += 1;
      const file = await open(`${path}.part`, "w", 0o600);
      try {
        await file.writeFile(`${value}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.part`, path);
    },
  };
}
