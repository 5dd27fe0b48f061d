/** somora_docs_read: one page of the documentation. */
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

const PAGE_LINES = 400;

export const docsRead = defineTool({
  name: "somora_docs_read",
  toolset: "memory",
  description:
    "Read one page of somora's own documentation by the name that somora_docs_list gave. Answer questions about somora from these pages and not from memory.",
  input: z.object({
    name: z.string().min(1).max(300).describe("Name of the page, as listed, with or without .md"),
    offset: z.number().int().min(0).default(0).describe("Lines to skip"),
    limit: z.number().int().min(1).max(2_000).default(PAGE_LINES).describe("Lines to return"),
  }),
  needs: ["docs"],
  repeatable: true,
  async run({ name, offset, limit }, { docs }) {
    const page = await docs.read(name);
    const lines = page.text.replace(/\n$/u, "").split("\n");
    const next = offset + limit < lines.length ? offset + limit : undefined;
    return {
      name: page.name,
      title: page.title,
      lines: lines.length,
      content: lines.slice(offset, offset + limit).join("\n"),
      truncated: next !== undefined,
      next_offset: next,
      summary:
        next === undefined
          ? `End of the page, ${lines.length} lines.`
          : `Lines ${offset + 1} to ${next} of ${lines.length}. Go on with offset ${next}.`,
    };
  },
  summary: ({ title, lines }) => `${title}, ${lines} lines`,
});
