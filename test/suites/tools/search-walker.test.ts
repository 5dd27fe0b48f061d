/** Would catch: answers that depend on whether ripgrep is installed. */
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPathPolicy } from "../../../src/host/path-policy.ts";
import { searchFiles } from "../../../src/host/search-files.ts";
import { listFolder } from "../../../src/host/list-folder.ts";
import type { SearchRequest } from "../../../src/ports/host.port.ts";
import { openTestRoom, type TestRoom } from "../../support/tool-room.ts";

let test: TestRoom;
beforeAll(async () => {
  test = await openTestRoom();
  await mkdir(join(test.cwd, "src/deep"), { recursive: true });
  await writeFile(join(test.cwd, "src/a.ts"), "alpha\nbeta ä€ gamma\r\nalpha gamma\n\ngamma");
  await writeFile(join(test.cwd, "src/deep/b.md"), "Alpha\nalpha.beta\n");
  await writeFile(join(test.cwd, "src/wide.txt"), `${"x".repeat(3_000)}alpha${"y".repeat(3_000)}\n`);
  await writeFile(join(test.cwd, "src/.hidden"), "alpha\n");
});
afterAll(() => test.end());

const hasRipgrep = (): boolean => {
  try {
    execFileSync("rg", ["--version"]);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
};

const requests: Record<string, Partial<SearchRequest>> = {
  "plain text": { pattern: "alpha.beta", regex: false },
  "a regular expression": { pattern: "al\\w+ g" },
  "with context": { pattern: "gamma", context: 1 },
  "ignoring case": { pattern: "ALPHA", caseInsensitive: true },
  "in files of a glob": { pattern: "alpha", include: "*.md" },
  "in all but files of a glob": { pattern: "alpha", include: "!*.md" },
  "file names only": { pattern: "alpha", filesOnly: true },
  "with a limit": { pattern: "a", limit: 2 },
  nothing: { pattern: "zebra" },
};

describe("a search without ripgrep", () => {
  for (const [title, request] of Object.entries(requests)) {
    it(`answers like ripgrep: ${title}`, async (ctx) => {
      if (!hasRipgrep()) ctx.skip("ripgrep is not installed");
      const whole: SearchRequest = {
        pattern: "",
        regex: true,
        path: test.cwd,
        limit: 50,
        include: null,
        caseInsensitive: false,
        context: 0,
        filesOnly: false,
        ...request,
      };
      const scope = {
        policy: createPathPolicy({ home: test.home, userHome: test.userHome }),
        agent: "ada",
        signal: new AbortController().signal,
      };
      const [byRipgrep, byWalker] = await Promise.all([
        searchFiles(scope, whole),
        searchFiles({ ...scope, ripgrep: "/no/such/rg" }, whole),
      ]);
      expect([byRipgrep.by, byWalker.by]).toEqual(["ripgrep", "walker"]);
      expect({ ...byWalker, by: "any" }).toEqual({ ...byRipgrep, by: "any" });
    });
  }
  it("says that .gitignore was not honoured, and lists the same names else", async () => {
    const scope = {
      policy: createPathPolicy({ home: test.home, userHome: test.userHome }),
      agent: "ada",
      signal: new AbortController().signal,
      ripgrep: "/no/such/rg",
    };
    const listing = await listFolder(scope, test.cwd, { recursive: true, glob: null, respectGitignore: true, max: 100 });
    expect(listing.ignoreHonoured).toBe(false);
    expect(listing.entries.map((entry) => entry.path.slice(test.cwd.length + 1)).sort()).toEqual([
      "src",
      "src/a.ts",
      "src/deep",
      "src/deep/b.md",
      "src/wide.txt",
    ]);
  });
});
