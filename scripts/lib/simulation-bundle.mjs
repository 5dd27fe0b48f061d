/**
 * The simulation as one file that Node runs, made from the sources; with `patches`, from sources changed on the way: each is a file,
 * a text that stands in it exactly once, and what takes its place. The sources themselves are never touched.
 */
import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { root } from "./files.mjs";

/** Where bundles go: beside the packages, so that what stays outside is found. */
export const bundles = join(root, "node_modules", ".somora-simulation");

/** Gives the file to import. Rejects when a patch does not fit. */
export async function bundleSimulation(name, patches = []) {
  const outDir = join(bundles, name);
  mkdirSync(outDir, { recursive: true });
  const fitted = new Set();
  const plugin = {
    name: "planted",
    enforce: "pre",
    transform(code, id) {
      const file = relative(root, id.split("?")[0]).split("\\").join("/");
      let changed = code;
      for (const patch of patches) {
        if (patch.file !== file) continue;
        const parts = changed.split(patch.find);
        if (parts.length !== 2) throw new Error(`${name}: "${patch.find}" stands ${parts.length - 1} times in ${file}, not once`);
        changed = parts.join(patch.put);
        fitted.add(patch);
      }
      return changed === code ? null : { code: changed, map: null };
    },
  };
  await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: "error",
    plugins: [plugin],
    ssr: { noExternal: true, external: ["@duckdb/node-api", "@duckdb/node-bindings"] },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: "node20",
      minify: false,
      rolldownOptions: {
        input: { simulation: join(root, "src/simulation/index.ts") },
        output: { format: "esm", entryFileNames: "[name].js" },
      },
    },
  });
  const missed = patches.find((patch) => !fitted.has(patch));
  if (missed) throw new Error(`${name}: ${missed.file} is no part of the simulation`);
  return pathToFileURL(join(outDir, "simulation.js")).href;
}
