/** Builds the page into `dist/ui`; in development it proxies to a running server (`SOMORA_DEV_SERVER`). */
import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const target = process.env["SOMORA_DEV_SERVER"] ?? "http://127.0.0.1:18737";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  plugins: [react(), tailwind()],
  build: {
    outDir: "../dist/ui",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What both the first load and a later piece need is one file, not a dozen small ones that are packed worse.
        codeSplitting: {
          groups: [
            {
              name: "shared",
              test: /node_modules|ui\/(?:marks|hooks)\/|ui\/frame\/(?:copy|ask|keys|menu|toast|page-state|new-agent|actions)\.|src\/client\/(?:words|api|sentence|marks)\./u,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": { target, changeOrigin: true }, "/live": { target, ws: true, changeOrigin: true } } },
});
