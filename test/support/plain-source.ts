/** Rooms of `src` as plain JavaScript in a throw-away folder, for tests that need a second process to kill. */
import { mkdtempSync } from "node:fs";
import { mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import ts from "typescript";

const ROOT = join(import.meta.dirname, "..", "..");

export async function plainSource(rooms: readonly string[]): Promise<{ folder: string; end(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "somora-plain-"));
  await writeFile(join(folder, "package.json"), `{"type":"module"}`);
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const room of rooms) {
    for (const entry of await readdir(join(ROOT, "src", room), { recursive: true })) {
      if (!entry.endsWith(".ts") || entry.endsWith(".test.ts")) continue;
      const target = join(folder, "src", room, entry.replace(/\.ts$/u, ".js"));
      const { outputText } = ts.transpileModule(await readFile(join(ROOT, "src", room, entry), "utf8"), {
        compilerOptions: {
          target: ts.ScriptTarget.ES2023,
          module: ts.ModuleKind.ESNext,
          verbatimModuleSyntax: true,
          rewriteRelativeImportExtensions: true,
        },
      });
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, outputText);
    }
  }
  return { folder, end: () => rm(folder, { recursive: true, force: true }) };
}
