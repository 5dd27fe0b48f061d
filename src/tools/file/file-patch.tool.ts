/** file_patch: exact text in a file replaced by other text. */
import { z } from "zod";
import type { PlannedChange } from "../../ports/host.port.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { wellFormed } from "../../protocol/well-formed.ts";
import { defineTool } from "../define-tool.ts";
import { patchText, type PatchData } from "./patch-text.ts";

export const filePatch = defineTool({
  name: "file_patch",
  toolset: "file",
  description:
    "Change a part of a text file: old_string is replaced by new_string, everything else stays as it is, line breaks included. old_string has to stand in the file exactly once (add lines around it), or pass replace_all. Copy it from file_read without the line numbers. The former content is kept for undo. Prefer this to sed and to writing whole files.",
  input: z.object({
    path: z.string().min(1).describe("Path of the file: absolute, from ~, or relative to the session's folder"),
    old_string: z.string().min(1).describe("The exact text to replace, tabs and blanks included"),
    new_string: z.string().describe("What stands there afterwards; empty removes it"),
    replace_all: z.boolean().default(false).describe("Replace every place where old_string stands"),
  }),
  needs: ["files"],
  repeatable: false,
  async run({ path, old_string, new_string, replace_all }, { files }) {
    const { path: real, data, change } = await files.change(path, (before) => plan(path, before, old_string, new_string, replace_all));
    return { path: real, workspace_relative: files.shown(real), ...data, diff: shortDiff(change.diff) };
  },
  async recover({ path, old_string, new_string, replace_all }, { files }) {
    const found = await files.recoverChange(path, (before) => plan(path, before, old_string, new_string, replace_all));
    if (found.kind === "unknown") return { kind: "unknown", known: { path } };
    if (found.kind === "not-started") return found;
    const { path: real, data, change } = found.outcome;
    return { kind: "done", data: { path: real, workspace_relative: files.shown(real), ...data, diff: shortDiff(change.diff) } };
  },
  summary: ({ workspace_relative, replacements, lines }) =>
    `${workspace_relative}, ${replacements === 1 ? `line ${lines.from}` : `${replacements} places`}`,
});

const MOST_DIFF_LINES = 60;

/** Enough for the model to see what it did; people get the whole diff with the change. */
function shortDiff(diff: string): string {
  const lines = diff.split("\n").slice(2);
  return lines.length <= MOST_DIFF_LINES
    ? lines.join("\n")
    : `${lines.slice(0, MOST_DIFF_LINES).join("\n")}\n… ${lines.length - MOST_DIFF_LINES} more lines`;
}

function plan(path: string, before: Buffer | null, oldText: string, newText: string, all: boolean): PlannedChange<PatchData> {
  if (before === null)
    throw new SomoraError("FILE_NOT_FOUND", `There is no file ${path}.`, {
      hint: "Make it with file_write, or look with file_list what is there.",
    });
  if (before.subarray(0, 8_192).includes(0))
    throw new SomoraError("FILE_BINARY", `${path} is a binary file (or UTF-16), not text that file_patch can change.`, {
      hint: "Use exec for it.",
    });
  return patchText(path, before, wellFormed(oldText), wellFormed(newText), all);
}
