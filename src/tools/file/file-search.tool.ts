/** file_search: text in files. */
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

const MOST_TEXT = 150_000;

export const fileSearch = defineTool({
  name: "file_search",
  toolset: "file",
  description:
    "Search for text in files: a regular expression, or plain text with regex: false. Gives file, line and column of each hit. Files that .gitignore leaves out and hidden files are not searched. Prefer this to grep or rg in a shell. To list files by name use file_list with a glob.",
  input: z.object({
    pattern: z.string().min(1).max(10_000).describe("What to look for, within one line"),
    regex: z.boolean().default(true).describe("false: the pattern is plain text"),
    path: z.string().min(1).default(".").describe("Folder or file to search in; default: the session's folder"),
    limit: z.number().int().min(1).max(500).default(50).describe("How many hits (or files) to return"),
    include: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe("Only files that match this glob, such as *.ts; with ! in front: all but these"),
    case_insensitive: z.boolean().default(false).describe("Treat upper and lower case alike"),
    context: z.number().int().min(0).max(5).default(0).describe("Lines to show before and after each hit"),
    files_only: z.boolean().default(false).describe("Only the names of files with a hit"),
  }),
  needs: ["files"],
  repeatable: true,
  limits: { maxResultSizeChars: 200_000 },
  async run({ pattern, regex, path, limit, include, case_insensitive, context, files_only }, { files }) {
    const found = await files.search({
      pattern,
      regex,
      path,
      limit,
      include: include ?? null,
      caseInsensitive: case_insensitive,
      context,
      filesOnly: files_only,
    });
    const note = found.by === "walker" ? { note: "Searched without ripgrep (rg is not installed): .gitignore was not honoured." } : {};
    if (files_only)
      return {
        count: found.files.length,
        truncated: found.truncated,
        hits: [],
        files: found.files.map((file) => files.shown(file)),
        ...note,
      };
    let room = MOST_TEXT;
    const hits = found.hits
      .map((hit) => ({
        path: files.shown(hit.path),
        line: hit.line,
        text: hit.text,
        col: hit.col,
        ...(hit.truncated ? { truncated: true } : {}),
        ...(context > 0 ? { before: hit.before, after: hit.after } : {}),
      }))
      .filter((hit, index) => {
        room -= JSON.stringify(hit).length;
        return index === 0 || room >= 0;
      });
    const truncated = found.truncated || hits.length < found.hits.length;
    return {
      count: hits.length,
      truncated,
      hits,
      ...(truncated ? { hint: "There are more hits. Narrow with path, include or a longer pattern, or raise limit." } : {}),
      ...note,
    };
  },
  summary: ({ count, truncated }) => `${count}${truncated ? "+" : ""} ${count === 1 ? "hit" : "hits"}`,
});
