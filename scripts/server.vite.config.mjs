/**
 * The server and the command line as a few files with their packages inside: a start loads three files instead of seven
 * hundred, which is most of the time from a kill to serving. Types are checked by `npm run check`, not here.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const entry = (path) => fileURLToPath(new URL(`../src/${path}`, import.meta.url));

export default defineConfig({
  root,
  configFile: false,
  publicDir: false,
  // What is native, or looked for only in case it is there, stays outside.
  ssr: { noExternal: true, external: ["@duckdb/node-api", "@duckdb/node-bindings", "bufferutil", "utf-8-validate"] },
  build: {
    ssr: true,
    outDir: "dist/main",
    emptyOutDir: true,
    target: "node20",
    minify: false,
    rolldownOptions: {
      input: {
        server: entry("main/server.ts"),
        cli: entry("main/cli.ts"),
        serve: entry("main/serve.ts"),
        somora: entry("main/somora.ts"),
        store: entry("store/index.ts"),
      },
      output: { format: "esm", entryFileNames: "[name].js", chunkFileNames: "chunk-[name]-[hash].js" },
    },
  },
});
