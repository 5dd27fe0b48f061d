/** file_list: what is in a folder. */
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

const MOST_COLLECTED = 5_000;

export const fileList = defineTool({
  name: "file_list",
  toolset: "file",
  description:
    "List a folder: names, kinds, sizes, times. With recursive everything below; files that .gitignore leaves out and hidden names are not shown unless a glob asks for them. Prefer this to ls or find in a shell. To find text inside files use file_search.",
  input: z.object({
    path: z.string().min(1).describe("Folder: absolute, from ~, or relative to the session's folder; `.` is that folder"),
    recursive: z.boolean().default(false).describe("Everything below, not only the first level"),
    sortBy: z.enum(["name", "mtime", "size"]).default("name").describe("name; mtime: newest first; size: largest first"),
    limit: z.number().int().min(1).max(MOST_COLLECTED).default(200).describe("How many entries to return"),
    glob: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe(
        "Only matching entries: *, **, ?. Without a slash it matches names (*.ts), with one the path below the folder (src/**/*.ts)",
      ),
    respect_gitignore: z.boolean().default(true).describe("Leave out what .gitignore names; only for recursive"),
  }),
  needs: ["files"],
  repeatable: true,
  limits: { maxResultSizeChars: 250_000 },
  async run({ path, recursive, sortBy, limit, glob, respect_gitignore }, { files }) {
    const listing = await files.list(path, { recursive, glob: glob ?? null, respectGitignore: respect_gitignore, max: MOST_COLLECTED });
    const sorted = listing.entries.sort(
      (a, b) => (sortBy === "mtime" ? b.mtime - a.mtime : sortBy === "size" ? b.size - a.size : 0) || (a.path < b.path ? -1 : 1),
    );
    const entries = sorted
      .slice(0, limit)
      .map(({ path: full, ...entry }) => ({ path: full, workspace_relative: files.shown(full), ...entry }));
    const truncated = listing.truncated || sorted.length > limit;
    return {
      root: listing.root,
      count: entries.length,
      truncated,
      entries,
      ...(truncated
        ? {
            hint: `${listing.truncated ? `More than ${MOST_COLLECTED}` : sorted.length} entries; raise limit, or narrow with path or glob.`,
          }
        : {}),
      ...(listing.ignoreHonoured ? {} : { note: ".gitignore was not honoured: ripgrep (rg) is not installed." }),
    };
  },
  summary: ({ count, truncated }) => `${count}${truncated ? "+" : ""} ${count === 1 ? "entry" : "entries"}`,
});
