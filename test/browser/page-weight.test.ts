import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Rollup } from "vite";
import { describe, expect, it } from "vitest";
import { asShipped } from "../support/browser-page.ts";

const configFile = fileURLToPath(new URL("../../ui/vite.config.ts", import.meta.url));
const KB = 1000;

describe("the built page", () => {
  it("loads at most 120 KB of JavaScript and 14 KB of CSS first, gzip, and no font or script from elsewhere", async () => {
    const { output } = (await asShipped(() => build({ configFile, logLevel: "silent", build: { write: false } }))) as Rollup.RollupOutput;
    const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])));
    const entry = [...chunks.values()].find((chunk) => chunk.isEntry);
    const first = new Set<string>();
    const follow = (name: string): void => {
      if (first.has(name)) return;
      first.add(name);
      for (const next of chunks.get(name)?.imports ?? []) follow(next);
    };
    follow(entry?.fileName ?? "");
    const script = [...first].reduce((sum, name) => sum + gzipSync(chunks.get(name)?.code ?? "").length, 0);
    const css = output.flatMap((file) => (file.type === "asset" && file.fileName.endsWith(".css") ? [String(file.source)] : [])).join("");
    expect(script).toBeGreaterThan(60 * KB);
    expect(script).toBeLessThanOrEqual(120 * KB);
    expect(gzipSync(css).length).toBeLessThanOrEqual(14 * KB);
    expect(css.match(/url\((?!data:)[^)]*\)/gu)?.filter((url) => url.includes("//")) ?? []).toEqual([]);
  });
});
