import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { buildDist } from "../support/server-process.ts";

const folder = fileURLToPath(new URL("../../dist/ui/", import.meta.url));
const KB = 1000;

describe("the built page", () => {
  it("loads at most 120 KB of JavaScript and 14 KB of CSS first, gzip, and no font or script from elsewhere", async () => {
    await buildDist();
    const index = await readFile(`${folder}index.html`, "utf8");
    const first = new Set([...index.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/gu)].map((match) => match[1] ?? ""));
    const sizeOf = async (file: string): Promise<number> => gzipSync(await readFile(`${folder}${file}`)).length;
    // What the entry imports at once is preloaded by the index; an import it misses would be a chunk more.
    for (const file of first) {
      const code = await readFile(`${folder}${file}`, "utf8");
      for (const [, name] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/gu)) first.add(`assets/${name}`);
    }
    const script = (await Promise.all([...first].map(sizeOf))).reduce((sum, size) => sum + size, 0);
    const sheets = (await readdir(`${folder}assets`)).filter((name) => name.endsWith(".css"));
    const css = (await Promise.all(sheets.map((name) => readFile(`${folder}assets/${name}`, "utf8")))).join("");
    expect(script).toBeGreaterThan(60 * KB);
    expect(script).toBeLessThanOrEqual(120 * KB);
    expect(gzipSync(css).length).toBeLessThanOrEqual(14 * KB);
    expect(index).not.toMatch(/(?:src|href)="(?:https?:)?\/\//u);
    expect(css.match(/url\((?!data:)[^)]*\)/gu)?.filter((url) => url.includes("//")) ?? []).toEqual([]);
  });
});
