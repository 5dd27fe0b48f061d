/** file_write: a whole file, or text at its end. */
import { basename } from "node:path";
import { z } from "zod";
import type { PlannedChange } from "../../ports/host.port.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { wellFormed } from "../../protocol/well-formed.ts";
import { defineTool } from "../define-tool.ts";

type Mode = "create" | "overwrite" | "append";
const INPUT = z.object({
  path: z.string().min(1).describe("Path of the file: absolute, from ~, or relative to the session's folder. Missing folders are made"),
  content: z.string().describe("The text, written as it stands"),
  mode: z
    .enum(["create", "overwrite", "append"])
    .default("overwrite")
    .describe("create: refuse when the file exists; overwrite: replace the whole file; append: add at the end, on a line of its own"),
});

export const fileWrite = defineTool({
  name: "file_write",
  toolset: "file",
  description:
    "Write a text file as a whole, or append to it. The file is replaced in one step and its former content is kept for undo. To change a part of an existing file use file_patch: it keeps everything else as it is. Read a file before you overwrite it. Prefer this to echo, cat or heredocs in a shell.",
  input: INPUT,
  needs: ["files"],
  repeatable: false,
  async run({ path, content, mode }, { files, cwd }) {
    const { path: real, data } = await files.change(path, (before) => plan(path, content, mode, before));
    return { path: real, workspace_relative: files.shown(real), ...data, warning: nesting(path, cwd) };
  },
  async recover({ path, content, mode }, { files, cwd }) {
    const found = await files.recoverChange(path, (before) => plan(path, content, mode, before));
    if (found.kind === "unknown") return { kind: "unknown", known: { path } };
    if (found.kind === "not-started") return found;
    const { path: real, data } = found.outcome;
    return { kind: "done", data: { path: real, workspace_relative: files.shown(real), ...data, warning: nesting(path, cwd) } };
  },
  summary: ({ workspace_relative, bytes, created }) =>
    `${created ? "new" : "wrote"} ${workspace_relative}, ${bytes.toLocaleString("en-US")} bytes`,
});

/** Pure, so that after a crash it gives the same again. */
function plan(
  path: string,
  content: string,
  mode: Mode,
  before: Buffer | null,
): PlannedChange<{ mode: Mode; bytes: number; created: boolean }> {
  if (mode === "create" && before !== null) {
    throw new SomoraError("FILE_EXISTS", `${path} exists already (${before.length} bytes); mode create does not replace it.`, {
      hint: "Use mode overwrite to replace it, append to add to it, or file_patch to change a part.",
    });
  }
  const text = Buffer.from(wellFormed(content), "utf8");
  const after = mode === "append" && before !== null ? Buffer.concat([before, Buffer.from(lineBreakFor(before)), text]) : text;
  return { after, data: { mode, bytes: after.length, created: before === null } };
}

/** What is appended begins on a line of its own, with the file's own kind of line break. */
function lineBreakFor(before: Buffer): string {
  const last = before.at(-1);
  if (last === undefined || last === 10 || last === 13) return "";
  return before.includes("\r\n") ? "\r\n" : "\n";
}

/** A path that begins with the folder's own name is mostly a slip. */
function nesting(path: string, cwd: string): string | undefined {
  const own = basename(cwd);
  return own !== "" && path.startsWith(`${own}/`)
    ? `The path begins with the folder's own name, so the file is now in ${own}/${own}. Leave the first part out if that was not meant.`
    : undefined;
}
