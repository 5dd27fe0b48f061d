import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { referencePages } from "../../scripts/docs/pages.ts";
import { toolListings } from "../../scripts/docs/tool-listings.ts";

describe("the reference pages", () => {
  it.each([...referencePages(toolListings())])("%s is as the code makes it (else: npm run docs)", async (path, text) => {
    expect(await readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8")).toBe(text);
  });

  it("get one on tools as soon as there are some", () => {
    const pages = referencePages([
      {
        name: "file_read",
        toolset: "file",
        description: "Read a file.",
        maxResultSizeChars: 100_000,
        inputSchema: { type: "object", properties: { path: { type: "string", description: "Which | where" } }, required: ["path"] },
      },
    ]);
    expect(pages.get("docs/reference/tools.md")).toContain("| `path` | string | required | Which \\| where |");
  });
});
