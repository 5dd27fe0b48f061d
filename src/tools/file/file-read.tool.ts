/** file_read: numbered lines of a text file, page by page. */
import { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import { defineTool } from "../define-tool.ts";
import { pageOf, textOf } from "./text-page.ts";

export const fileRead = defineTool({
  name: "file_read",
  toolset: "file",
  description:
    "Read a text file. Lines come with their numbers (`12: text`; the number and the colon are not part of the file). Long files come in pages: go on with the offset that the summary names. Prefer this to cat, head or sed in a shell. For a folder use file_list, to find text in many files use file_search.",
  input: z.object({
    path: z.string().min(1).describe("Path of the file: absolute, from ~, or relative to the session's folder"),
    offset: z.number().int().min(0).default(0).describe("Lines to skip from the beginning"),
    limit: z.number().int().min(1).default(2_000).describe("How many lines to return"),
  }),
  needs: ["files"],
  repeatable: true,
  limits: { maxResultSizeChars: 250_000 },
  async run({ path, offset, limit }, { files }) {
    const { path: real, bytes } = await files.read(path);
    const kind = pictureKind(bytes);
    if (kind !== null)
      throw new SomoraError("FILE_BINARY", `${path} is a ${kind}, not text.`, {
        hint: "Look at it with analyze_file where that tool is offered, or inspect it with exec (file, strings).",
      });
    const text = textOf(bytes);
    if (text === null)
      throw new SomoraError("FILE_BINARY", `${path} is a binary file (${bytes.length} bytes), not text.`, {
        hint: "Inspect it with exec (file, xxd, strings) where that tool is offered.",
      });
    const page = pageOf(text, offset, limit);
    return { path: real, workspace_relative: files.shown(real), bytes: bytes.length, ...page };
  },
  summary: ({ range, lines }) =>
    range.to - range.from + 1 >= lines ? `${count(lines)}` : `lines ${range.from} to ${range.to} of ${count(lines)}`,
});

function count(lines: number): string {
  return lines === 1 ? "1 line" : `${lines.toLocaleString("en-US")} lines`;
}

const SIGNATURES: [string, string][] = [
  ["89504e470d0a1a0a", "PNG picture"],
  ["ffd8ff", "JPEG picture"],
  ["474946383", "GIF picture"],
  ["25504446", "PDF document"],
];

function pictureKind(bytes: Buffer): string | null {
  const start = bytes.subarray(0, 12).toString("hex");
  if (start.startsWith("52494646") && start.endsWith("57454250")) return "WebP picture";
  return SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1] ?? null;
}
