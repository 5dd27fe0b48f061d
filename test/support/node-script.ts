/**
 * Makes a TypeScript file runnable by a plain `node` process: bundles it with everything of ours it imports into one file
 * below node_modules (so that packages are found). For tests that need a real process to kill.
 */
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface NodeScript {
  path: string;
  remove(): Promise<void>;
}

/** `entry` is a path or file URL of a `.ts` file. */
export async function nodeScript(entry: URL): Promise<NodeScript> {
  const cache = join(root, "node_modules", ".somora-test");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "script-"));
  await build({
    root,
    configFile: false,
    logLevel: "error",
    build: {
      ssr: fileURLToPath(entry),
      outDir: folder,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "script.mjs", format: "esm" } },
    },
  });
  return { path: join(folder, "script.mjs"), remove: () => rm(folder, { recursive: true }) };
}
