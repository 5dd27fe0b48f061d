/** Writes the reference pages, or compares them. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { referencePages } from "./pages.ts";
import { toolListings } from "./tool-listings.ts";

/** Resolves with the pages that differed. */
export async function makeDocs(root: string, mode: "write" | "check"): Promise<string[]> {
  const differing: string[] = [];
  for (const [path, text] of referencePages(toolListings())) {
    const file = join(root, path);
    const committed = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (committed === text) continue;
    differing.push(path);
    if (mode === "check") continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return differing;
}
