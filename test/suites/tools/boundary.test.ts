/** Would catch: a path that leads where it must not (G18): links, dangling links, `..`, and swaps between check and use. */
import { spawn } from "node:child_process";
import { existsSync, renameSync, symlinkSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCallFiles } from "../../../src/host/call-files.ts";
import { createQueues } from "../../../src/host/one-at-a-time.ts";
import { createPathPolicy } from "../../../src/host/path-policy.ts";
import { systemClock } from "../../../src/host/system-clock.ts";
import type { Json } from "../../../src/protocol/json.ts";
import { dataOf, errorOf, openTestRoom, type TestRoom } from "../../support/tool-room.ts";

const SECRET = "the-secret-of-the-house";
let test: TestRoom;
beforeAll(async () => {
  test = await openTestRoom({ ada: {}, bob: {} });
  await writeFile(join(test.home, "key"), SECRET);
  await writeFile(join(test.home, "config.yaml"), "server: {}\n");
  await writeFile(join(test.home, "agents/ada/agent.yaml"), "kind: chat\n");
  await writeFile(join(test.home, "agents/bob/memory/note.md"), SECRET);
  await mkdir(join(test.home, "store"));
  await writeFile(join(test.home, "store/x.txt"), SECRET);
  await mkdir(join(test.userHome, ".ssh"));
  await writeFile(join(test.userHome, ".ssh/id"), SECRET);
  await symlink(join(test.home, "key"), join(test.cwd, "to-key"));
  await symlink(join(test.home, "store"), join(test.cwd, "to-store"));
  await symlink(join(test.home, "agents/bob/memory"), join(test.cwd, "to-bob"));
  await symlink(join(test.home, "store/new.txt"), join(test.cwd, "dangling"));
  await symlink(join(test.home, "run"), join(test.cwd, "dangling-folder"));
  await symlink(join(test.home, "config.yaml"), join(test.cwd, "to-config"));
  await symlink(join(test.home, "agents/ada/agent.yaml"), join(test.cwd, "to-rules"));
});
afterAll(() => test.end());

const closed: Record<string, () => string> = {
  "a secret by its path": () => join(test.home, "key"),
  "a secret over `..`": () => `../work/../home/key`,
  "a secret from ~": () => "~/.ssh/id",
  "a secret through a link": () => "to-key",
  "a folder of secrets through a link": () => "to-store/x.txt",
  "another agent's notes": () => join(test.home, "agents/bob/memory/note.md"),
  "another agent's notes through a link": () => "to-bob/note.md",
  "a dangling link into the store": () => "dangling",
  "a new file below a dangling link": () => "dangling-folder/a/b.txt",
  "the process table": () => "/proc/self/environ",
};
const operations: Record<string, (path: string) => [string, Json]> = {
  read: (path) => ["file_read", { path }],
  write: (path) => ["file_write", { path, content: "x" }],
  create: (path) => ["file_write", { path, content: "x", mode: "create" }],
  append: (path) => ["file_write", { path, content: "x", mode: "append" }],
  patch: (path) => ["file_patch", { path, old_string: "secret", new_string: "x" }],
  search: (path) => ["file_search", { path, pattern: "secret" }],
  list: (path) => ["file_list", { path }],
};

describe("a closed path", () => {
  for (const [what, pathOf] of Object.entries(closed)) {
    for (const [name, call] of Object.entries(operations)) {
      it(`${what} is refused for ${name}`, async () => {
        const result = await test.call(...call(pathOf()));
        expect(errorOf(result).code).toBe("PATH_DENIED");
        expect(JSON.stringify(result)).not.toContain(SECRET);
      });
    }
  }
  it("stays as it was after all of that", async () => {
    expect(await readFile(join(test.home, "key"), "utf8")).toBe(SECRET);
    expect(existsSync(join(test.home, "store/new.txt")) || existsSync(join(test.home, "run"))).toBe(false);
  });
});

describe("the agent's own rules", () => {
  for (const [what, path] of [
    ["config.yaml", "to-config"],
    ["agent.yaml", "to-rules"],
  ] as const) {
    it(`${what} can be read and not written, also through a link`, async () => {
      expect(dataOf(await test.call("file_read", { path }))["lines"]).toBe(1);
      expect(errorOf(await test.call("file_write", { path, content: "x" }))).toMatchObject({
        code: "PATH_DENIED",
        hint: expect.stringContaining("person") as string,
      });
      expect(errorOf(await test.call("file_patch", { path, old_string: "c", new_string: "x", replace_all: true })).code).toBe(
        "PATH_DENIED",
      );
    });
  }
});

describe("a search or listing of an open folder", () => {
  it("shows nothing of closed ones below it, and counts what it shows", async () => {
    await writeFile(join(test.userHome, "open.txt"), `${SECRET}\n`);
    const found = dataOf(await test.call("file_search", { path: "~", pattern: SECRET }));
    expect([found["count"], (found["hits"] as Json[]).length]).toEqual([1, 1]);
    const inHome = dataOf(await test.call("file_search", { path: test.home, pattern: SECRET }));
    expect(inHome["count"]).toBe(0);
    const listed = JSON.stringify(dataOf(await test.call("file_list", { path: test.home, recursive: true })));
    expect(listed).not.toMatch(/store|"[^"]*\/key"|note\.md/u);
  });
});

describe("a folder that is swapped for a link between check and use", () => {
  it("is noticed by a write: nothing is made behind the link", async () => {
    await mkdir(join(test.cwd, "swap"));
    await writeFile(join(test.cwd, "swap/f.txt"), "a");
    const scope = { ...test.request("file_write", {}), signal: new AbortController().signal, progress: () => {} };
    const files = createCallFiles(
      { policy: createPathPolicy({ home: test.home, userHome: test.userHome }), clock: systemClock, queue: createQueues() },
      scope,
    );
    const change = files.change("swap/f.txt", () => {
      renameSync(join(test.cwd, "swap"), join(test.cwd, "swapped"));
      symlinkSync(join(test.home, "store"), join(test.cwd, "swap"));
      return { after: Buffer.from("b"), data: {} };
    });
    await expect(change).rejects.toMatchObject({ code: "PATH_DENIED" });
    expect(existsSync(join(test.home, "store/f.txt"))).toBe(false);
    expect(await readFile(join(test.cwd, "swapped/f.txt"), "utf8")).toBe("a");
  });
  it("never shows a secret to reads and searches while another program swaps without a pause", async () => {
    await mkdir(join(test.cwd, "race"));
    await writeFile(join(test.cwd, "race/x.txt"), "open");
    const swapper = spawn(
      process.execPath,
      [
        "-e",
        `const fs = require("fs"); for (;;) { fs.renameSync("race", "race-kept"); fs.symlinkSync(${JSON.stringify(join(test.home, "store"))}, "race"); fs.unlinkSync("race"); fs.renameSync("race-kept", "race"); }`,
      ],
      { cwd: test.cwd, stdio: "ignore" },
    );
    try {
      const results: string[] = [];
      for (let round = 0; round < 250; round += 1)
        results.push(JSON.stringify((await test.call("file_read", { path: "race/x.txt" })).output));
      expect(results.filter((text) => text.includes(SECRET))).toEqual([]);
      expect(results.some((text) => text.includes("open"))).toBe(true);
    } finally {
      swapper.kill("SIGKILL");
    }
  });
});

describe("an odd path", () => {
  for (const path of ["\0", "a\0b", "   "]) {
    it(`${JSON.stringify(path)} is refused in words`, async () => {
      expect(errorOf(await test.call("file_read", { path })).code).toBe("PATH_DENIED");
    });
  }
  it("of 5,000 characters is refused by the system, not by a crash", async () => {
    expect(errorOf(await test.call("file_read", { path: "x".repeat(5_000) }))).toMatchObject({
      code: "FILE_FAILED",
      message: expect.stringContaining("too long") as string,
    });
  });
});
