/** A folder of Markdown pages that explain somora itself. */
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DocPage, Docs } from "../ports/host.port.ts";
import { closeNames } from "../protocol/close-names.ts";
import { SomoraError } from "../protocol/errors.ts";

/** Null when the folder is not there. Pages are named by their path below it, without `.md`. */
export function createDocs(folder: string): Docs | null {
  if (!existsSync(folder)) return null;

  async function names(): Promise<string[]> {
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    const pages = found.filter((entry) => entry.isFile() && entry.name.endsWith(".md"));
    return pages
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length)
          .replace(/^[\\/]+/u, "")
          .replaceAll("\\", "/")
          .slice(0, -3),
      )
      .sort();
  }

  async function load(name: string): Promise<DocPage & { text: string }> {
    const text = await readFile(join(folder, `${name}.md`), "utf8");
    return { name, title: titleOf(text) ?? name, bytes: Buffer.byteLength(text), text };
  }

  return {
    async list() {
      const pages = await Promise.all((await names()).map(load));
      return pages.map(({ name, title, bytes }) => ({ name, title, bytes }));
    },
    async read(name) {
      const wanted = name.replace(/^\.?\//u, "").replace(/\.md$/iu, "");
      const known = await names();
      // Only what the listing holds is opened: a name can lead nowhere else.
      if (known.includes(wanted)) return load(wanted);
      const near = closeNames(wanted, known);
      const byEnd = known.filter((page) => page.split("/").at(-1) === wanted);
      throw new SomoraError("DOC_UNKNOWN", `There is no page ${JSON.stringify(name)} in the documentation.`, {
        hint:
          byEnd.length + near.length > 0
            ? `Close names: ${[...new Set([...byEnd, ...near])].join(", ")}.`
            : "List the pages with somora_docs_list.",
      });
    },
  };
}

function titleOf(text: string): string | null {
  return /^#\s+(.+)$/mu.exec(text)?.[1]?.trim() ?? null;
}
