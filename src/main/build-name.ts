/** What this build was made from, as `scripts/build.mjs` wrote it beside the code; null when it runs from sources. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { packageFolder } from "./version.ts";

const stampSchema = z.record(z.string(), z.string());

export function buildName(): string | null {
  try {
    const stamp = stampSchema.parse(JSON.parse(readFileSync(join(packageFolder, "dist", ".build.json"), "utf8")));
    return stamp["server"] ?? null;
  } catch {
    return null;
  }
}
