/** somora_docs_list: the pages that explain somora. */
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

export const docsList = defineTool({
  name: "somora_docs_list",
  toolset: "memory",
  description:
    "List the pages of somora's own documentation. Call it when a person asks how somora works or how to set something up, then read the fitting page with somora_docs_read.",
  input: z.object({}),
  needs: ["docs"],
  repeatable: true,
  async run(_, { docs }) {
    const pages = await docs.list();
    return { count: pages.length, pages };
  },
  summary: ({ count }) => `${count} pages`,
});
