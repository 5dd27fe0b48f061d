/** Would catch: wrong page numbers, a write that is not whole, a change without a copy, a lost edit (G19). */
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, readdir, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCallFiles } from "../../../src/host/call-files.ts";
import { createQueues } from "../../../src/host/one-at-a-time.ts";
import { createPathPolicy } from "../../../src/host/path-policy.ts";
import { systemClock } from "../../../src/host/system-clock.ts";
import { createToolHost } from "../../../src/host/tool-host.ts";
import { dataOf, errorOf, openTestRoom, type TestRoom } from "../../support/tool-room.ts";

let test: TestRoom;
beforeAll(async () => {
  test = await openTestRoom({ ada: {}, bob: {} });
});
afterAll(() => test.end());
const at = (name: string): string => join(test.cwd, name);
const text = (name: string): Promise<string> => readFile(at(name), "utf8");

describe("file_read", () => {
  it("numbers only real lines, with and without a final newline", async () => {
    await writeFile(at("two.txt"), "a\nb\n");
    await writeFile(at("open.txt"), "a\nb");
    for (const path of ["two.txt", "open.txt"])
      expect(dataOf(await test.call("file_read", { path }))).toMatchObject({
        lines: 2,
        content: "1: a\n2: b",
        range: { from: 1, to: 2 },
        truncated: false,
        workspace_relative: path,
      });
  });
  it("pages with exact offsets and absolute numbers", async () => {
    await writeFile(at("long.txt"), Array.from({ length: 5_000 }, (_, index) => `l${index + 1}`).join("\n"));
    const first = dataOf(await test.call("file_read", { path: "long.txt" }));
    expect([first["next_offset"], first["truncated_reason"], first["range"]]).toEqual([2_000, "limit", { from: 1, to: 2_000 }]);
    const last = dataOf(await test.call("file_read", { path: "long.txt", offset: 4_998 }));
    expect([last["content"], last["truncated"], last["summary"]]).toEqual([
      "4999: l4999\n5000: l5000",
      false,
      "End of the file, 5000 lines in all.",
    ]);
    expect(dataOf(await test.call("file_read", { path: "long.txt", offset: 9_000 }))).toMatchObject({
      content: "",
      range: { from: 0, to: 0 },
      truncated: false,
      summary: expect.stringContaining("0 to 4999") as string,
    });
  });
  it("cuts a long line with a mark and leaves the next one whole", async () => {
    await writeFile(at("wide.txt"), `${"x".repeat(5_000)}\nnext\n`);
    const { content } = dataOf(await test.call("file_read", { path: "wide.txt" }));
    expect(content).toMatch(/^1: x{2000} \[line cut, 3000 more characters\]\n2: next$/u);
  });
  it("ends a page between lines when it is full and goes on exactly there", async () => {
    await writeFile(at("full.txt"), Array.from({ length: 300 }, () => "y".repeat(1_500)).join("\n"));
    const page = dataOf(await test.call("file_read", { path: "full.txt" }));
    expect(page["truncated_reason"]).toBe("size");
    const next = page["next_offset"] as number;
    expect(dataOf(await test.call("file_read", { path: "full.txt", offset: next }))["range"]).toMatchObject({ from: next + 1 });
  });
  it("says that a file is empty", async () => {
    await writeFile(at("empty.txt"), "");
    expect(dataOf(await test.call("file_read", { path: "empty.txt" }))).toMatchObject({
      lines: 0,
      content: "",
      summary: "The file is empty.",
    });
  });
  it("suggests near names for a file that is not there, none for nonsense", async () => {
    expect(errorOf(await test.call("file_read", { path: "lomg.txt" }))).toMatchObject({
      code: "FILE_NOT_FOUND",
      close: expect.arrayContaining(["long.txt"]) as string[],
    });
    expect(errorOf(await test.call("file_read", { path: "zzzzqqqqwwww-k" }))["close"]).toBeUndefined();
  });
  it("points to the fitting tool for folders, pictures and binaries", async () => {
    expect(errorOf(await test.call("file_read", { path: "." }))).toMatchObject({
      code: "FILE_IS_FOLDER",
      hint: expect.stringContaining("file_list") as string,
    });
    await writeFile(at("p.png"), Buffer.from("89504e470d0a1a0a00", "hex"));
    expect(errorOf(await test.call("file_read", { path: "p.png" }))).toMatchObject({
      code: "FILE_BINARY",
      message: expect.stringContaining("PNG") as string,
    });
    await writeFile(at("b.bin"), Buffer.from([1, 0, 2]));
    expect(errorOf(await test.call("file_read", { path: "b.bin" })).code).toBe("FILE_BINARY");
  });
  it("gives well-formed text for bytes that are no UTF-8", async () => {
    await writeFile(at("latin.txt"), Buffer.from([0x67, 0xfc, 0x6e]));
    expect(dataOf(await test.call("file_read", { path: "latin.txt" }))["content"]).toBe("1: g\u{FFFD}n");
  });
  it("does not hang on a pipe and refuses a device", async () => {
    await promisify(execFile)("mkfifo", [at("pipe")]);
    expect(errorOf(await test.call("file_read", { path: "pipe" })).code).toBe("FILE_FAILED");
    expect(errorOf(await test.call("file_read", { path: "/dev/zero" })).code).toBe("FILE_FAILED");
  });
});

describe("file_write", () => {
  it("makes missing folders, keeps nothing aside, and names the change", async () => {
    const result = await test.call("file_write", { path: "a/b/c.txt", content: "hi\n" });
    expect(dataOf(result)).toMatchObject({ mode: "overwrite", bytes: 3, workspace_relative: "a/b/c.txt" });
    expect(result.filesWritten).toEqual([at("a/b/c.txt")]);
    expect(result.changes).toMatchObject([{ kind: "created", added: 1, removed: 0, path: at("a/b/c.txt") }]);
    expect(await readdir(at("a/b"))).toEqual(["c.txt"]);
  });
  it("refuses create on a file that is there and names the other modes", async () => {
    await writeFile(at("there.txt"), "old");
    expect(errorOf(await test.call("file_write", { path: "there.txt", content: "new", mode: "create" }))).toMatchObject({
      code: "FILE_EXISTS",
      hint: expect.stringContaining("append") as string,
    });
    expect(await text("there.txt")).toBe("old");
  });
  it("appends on a line of its own, with the file's own line break", async () => {
    await writeFile(at("log.txt"), "a\r\nb");
    await test.call("file_write", { path: "log.txt", content: "c\n", mode: "append" });
    await test.call("file_write", { path: "log.txt", content: "d\n", mode: "append" });
    expect(await text("log.txt")).toBe("a\r\nb\r\nc\nd\n");
  });
  it("keeps the mode of a file it replaces", async () => {
    await writeFile(at("run.sh"), "x");
    await chmod(at("run.sh"), 0o755);
    await test.call("file_write", { path: "run.sh", content: "y" });
    expect((await stat(at("run.sh"))).mode & 0o777).toBe(0o755);
  });
  it("warns when the path begins with the folder's own name", async () => {
    expect(dataOf(await test.call("file_write", { path: "work/x.txt", content: "" }))["warning"]).toContain("work/work");
  });
  it("turns lone surrogates into U+FFFD", async () => {
    await test.call("file_write", { path: "sur.txt", content: "a\ud800b" });
    expect(await text("sur.txt")).toBe("a\u{FFFD}b");
  });
  it("keeps a copy beside persona Markdown, five at most", async () => {
    const persona = join(test.home, "agents", "ada", "SOUL.md");
    await writeFile(persona, "before");
    await test.call("file_write", { path: persona, content: "after" });
    const copies = (await readdir(join(test.home, "agents", "ada"))).filter((name) => name.startsWith("SOUL.md.bak-"));
    expect(await readFile(join(test.home, "agents", "ada", copies[0] as string), "utf8")).toBe("before");
  });
});

describe("file_patch", () => {
  it("changes one place and reports line and diff", async () => {
    await writeFile(at("code.ts"), "one\r\ntwo\r\nthree");
    const result = await test.call("file_patch", { path: "code.ts", old_string: "two", new_string: "zwei" });
    expect(dataOf(result)).toMatchObject({
      replacements: 1,
      strategy: "exact",
      lines: { from: 2, to: 2 },
      diff: expect.stringContaining("-two\n+zwei") as string,
    });
    expect(await text("code.ts")).toBe("one\r\nzwei\r\nthree");
    expect(result.changes).toMatchObject([{ kind: "changed", added: 1, removed: 1 }]);
  });
  it("leaves the file and no copy when it does not fit", async () => {
    const before = await readdir(join(test.home, "agents", "ada", "changes"));
    expect(errorOf(await test.call("file_patch", { path: "code.ts", old_string: "nothing like it", new_string: "x" })).code).toBe(
      "PATCH_NOT_FOUND",
    );
    expect(errorOf(await test.call("file_patch", { path: "code.ts", old_string: "e", new_string: "x" })).code).toBe("PATCH_AMBIGUOUS");
    expect(errorOf(await test.call("file_patch", { path: "code.ts", old_string: "e", new_string: "e" })).code).toBe("PATCH_NO_CHANGE");
    expect(await readdir(join(test.home, "agents", "ada", "changes"))).toEqual(before);
  });
  it("names close files for one that is not there", async () => {
    expect(errorOf(await test.call("file_patch", { path: "cod.ts", old_string: "a", new_string: "b" }))).toMatchObject({
      code: "FILE_NOT_FOUND",
      close: expect.arrayContaining(["code.ts"]) as string[],
    });
  });
  it("writes through a link that stays inside, and the link stays a link", async () => {
    await writeFile(at("target.txt"), "a");
    await symlink(at("target.txt"), at("link.txt"));
    await test.call("file_patch", { path: "link.txt", old_string: "a", new_string: "b" });
    expect([await text("target.txt"), await text("link.txt")]).toEqual(["b", "b"]);
  });
});

describe("two writers of one file", () => {
  it("keeps all of 200 parallel edits of different lines by two agents", { timeout: 60_000 }, async () => {
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index};`);
    await writeFile(at("shared.txt"), lines.join("\n"));
    const results = await Promise.all(
      lines.map((line, index) =>
        test.call(
          "file_patch",
          { path: "shared.txt", old_string: line, new_string: `done ${index};` },
          { agent: index % 2 === 0 ? "ada" : "bob" },
        ),
      ),
    );
    expect(results.every((result) => result.output.ok)).toBe(true);
    expect(await text("shared.txt")).toBe(lines.map((_, index) => `done ${index};`).join("\n"));
  });
  it("refuses with the fresh text when another program wrote between read and write, same size and time", async () => {
    const path = at("drift.txt");
    await writeFile(path, "mine\n");
    const time = new Date(1_700_000_000_000);
    await utimes(path, time, time);
    const files = createCallFiles(
      { policy: createPathPolicy({ home: test.home, userHome: test.userHome }), clock: systemClock, queue: createQueues() },
      { ...test.request("file_patch", {}), signal: new AbortController().signal, progress: () => {} },
    );
    const { writeFileSync, utimesSync } = await import("node:fs");
    const change = files.change(path, (before) => {
      writeFileSync(path, "ours\n");
      utimesSync(path, time, time);
      return { after: Buffer.from(`${before?.toString("utf8") ?? ""}more\n`), data: {} };
    });
    await expect(change).rejects.toMatchObject({ code: "FILE_CHANGED", details: { fresh: "ours\n" } });
    expect(await readFile(path, "utf8")).toBe("ours\n");
  });
  it("refuses when the file appeared meanwhile", async () => {
    const files = createCallFiles(
      { policy: createPathPolicy({ home: test.home, userHome: test.userHome }), clock: systemClock, queue: createQueues() },
      { ...test.request("file_write", {}), signal: new AbortController().signal, progress: () => {} },
    );
    const { writeFileSync } = await import("node:fs");
    const change = files.change(at("new-one.txt"), () => {
      writeFileSync(at("new-one.txt"), "theirs");
      return { after: Buffer.from("ours"), data: {} };
    });
    await expect(change).rejects.toMatchObject({ code: "FILE_CHANGED" });
    expect(await text("new-one.txt")).toBe("theirs");
  });
});

describe("undo", () => {
  it("puts a changed file back byte by byte, with its mode", async () => {
    await writeFile(at("undo.txt"), Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0xff]));
    await chmod(at("undo.txt"), 0o640);
    const { changes } = await test.call("file_write", { path: "undo.txt", content: "other" });
    expect(await test.room.undo("ada", changes[0]?.id ?? "")).toEqual({ path: at("undo.txt") });
    expect([...(await readFile(at("undo.txt")))]).toEqual([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0xff]);
    expect((await stat(at("undo.txt"))).mode & 0o777).toBe(0o640);
  });
  it("removes a file that the call made", async () => {
    const { changes } = await test.call("file_write", { path: "made.txt", content: "x" });
    await test.room.undo("ada", changes[0]?.id ?? "");
    await expect(stat(at("made.txt"))).rejects.toMatchObject({ code: "ENOENT" });
  });
  it("refuses when the file changed since, was removed, or was put back already", async () => {
    await writeFile(at("since.txt"), "1");
    const id = (await test.call("file_write", { path: "since.txt", content: "2" })).changes[0]?.id ?? "";
    await writeFile(at("since.txt"), "3");
    await expect(test.room.undo("ada", id)).rejects.toMatchObject({ code: "FILE_CHANGED" });
    expect(await text("since.txt")).toBe("3");
    await writeFile(at("since.txt"), "2");
    await test.room.undo("ada", id);
    await expect(test.room.undo("ada", id)).rejects.toMatchObject({ code: "FILE_CHANGED" });
    expect(await text("since.txt")).toBe("1");
  });
  it("knows only its agent's own copies and no other names", async () => {
    const id = (await test.call("file_write", { path: "ada.txt", content: "2" })).changes[0]?.id ?? "";
    await expect(test.room.undo("bob", id)).rejects.toMatchObject({ code: "CHANGE_UNKNOWN" });
    await expect(test.room.undo("ada", "../../../key")).rejects.toMatchObject({ code: "CHANGE_UNKNOWN" });
  });
  it("has copies for seven days only", async () => {
    const id = (await test.call("file_write", { path: "swept.txt", content: "2" })).changes[0]?.id ?? "";
    const folder = join(test.home, "agents", "ada", "changes", id);
    const old = new Date(Date.now() - 8 * 24 * 3_600_000);
    await utimes(folder, old, old);
    await createToolHost({ home: test.home, clock: systemClock, environment: {} }).sweep();
    await expect(test.room.undo("ada", id)).rejects.toMatchObject({ code: "CHANGE_UNKNOWN" });
  });
});

describe("a file change after a crash", () => {
  it("is done when the file is what the call meant, with the same result and change", async () => {
    await writeFile(at("crash.txt"), "old\n");
    const request = test.request("file_patch", { path: "crash.txt", old_string: "old", new_string: "new" });
    const result = await test.room.run(request, { signal: new AbortController().signal, progress: () => {} });
    const recovered = await test.room.recover(request);
    expect(recovered).toMatchObject({
      kind: "done",
      result: { output: result.output, changes: result.changes, filesWritten: result.filesWritten },
    });
  });
  it("has not started when there is no copy, or the file still is as before", async () => {
    await writeFile(at("crash2.txt"), "old\n");
    const request = test.request("file_write", { path: "crash2.txt", content: "new\n" });
    expect(await test.room.recover(request)).toEqual({ kind: "not-started" });
    await test.room.run(request, { signal: new AbortController().signal, progress: () => {} });
    await writeFile(at("crash2.txt"), "old\n");
    expect(await test.room.recover(request)).toEqual({ kind: "not-started" });
  });
  it("is unknown when the file is something else by now", async () => {
    const request = test.request("file_write", { path: "crash3.txt", content: "new\n" });
    await test.room.run(request, { signal: new AbortController().signal, progress: () => {} });
    await writeFile(at("crash3.txt"), "third\n");
    expect(await test.room.recover(request)).toMatchObject({ kind: "unknown", known: { path: "crash3.txt" } });
  });
});

describe("file_list and file_search", () => {
  beforeAll(async () => {
    await mkdir(at("tree/src/deep"), { recursive: true });
    await mkdir(at("tree/node_modules/x"), { recursive: true });
    await writeFile(at("tree/.gitignore"), "node_modules\n");
    await writeFile(at("tree/.hidden"), "needle");
    await writeFile(at("tree/src/a.ts"), "const ä€ = 1;\nneedle here\nafter\n");
    await writeFile(at("tree/src/deep/b.md"), "Needle\nneedle\n");
    await writeFile(at("tree/node_modules/x/index.ts"), "needle\n");
    await writeFile(at("tree/bin.dat"), Buffer.from([0, 1, 2]));
  });
  const names = (data: Record<string, unknown>): string[] =>
    (data["entries"] as { workspace_relative: string }[]).map((entry) => entry.workspace_relative);

  it("lists a level, hidden names left out", async () => {
    expect(names(dataOf(await test.call("file_list", { path: "tree" })))).toEqual(["tree/bin.dat", "tree/node_modules", "tree/src"]);
    expect(names(dataOf(await test.call("file_list", { path: "tree", glob: ".*" })))).toEqual(["tree/.gitignore", "tree/.hidden"]);
  });
  it("lists everything below with folders on the way, ignored files left out where ripgrep is", async () => {
    const data = dataOf(await test.call("file_list", { path: "tree", recursive: true }));
    if (data["note"] === undefined)
      expect(names(data)).toEqual(["tree/bin.dat", "tree/src", "tree/src/a.ts", "tree/src/deep", "tree/src/deep/b.md"]);
    else expect(data["note"]).toContain(".gitignore");
    expect(names(dataOf(await test.call("file_list", { path: "tree", recursive: true, respect_gitignore: false })))).toContain(
      "tree/node_modules/x/index.ts",
    );
  });
  it("matches globs by name and by place", async () => {
    expect(names(dataOf(await test.call("file_list", { path: "tree", recursive: true, glob: "*.ts" })))).toEqual(["tree/src/a.ts"]);
    expect(names(dataOf(await test.call("file_list", { path: "tree", recursive: true, glob: "src/*" })))).toEqual([
      "tree/src/a.ts",
      "tree/src/deep",
    ]);
  });
  it("says when there is more than the limit", async () => {
    expect(dataOf(await test.call("file_list", { path: "tree", limit: 1 }))).toMatchObject({
      count: 1,
      truncated: true,
      hint: expect.stringContaining("3 entries") as string,
    });
  });
  it("sorts by size and refuses a file or a missing folder", async () => {
    expect(names(dataOf(await test.call("file_list", { path: "tree/src", sortBy: "size" })))[0]).toBe("tree/src/deep");
    expect(errorOf(await test.call("file_list", { path: "tree/src/a.ts" })).hint).toContain("file_read");
    expect(errorOf(await test.call("file_list", { path: "tree/scr" }))).toMatchObject({ code: "FILE_NOT_FOUND", close: ["src"] });
  });
  it("finds text with line, column and context", async () => {
    const data = dataOf(await test.call("file_search", { path: "tree", pattern: "needle", context: 1 }));
    expect(data["hits"]).toEqual([
      { path: "tree/src/a.ts", line: 2, col: 1, text: "needle here", before: ["const ä€ = 1;"], after: ["after"] },
      { path: "tree/src/deep/b.md", line: 2, col: 1, text: "needle", before: ["Needle"], after: [] },
    ]);
  });
  it("counts columns in characters", async () => {
    expect(dataOf(await test.call("file_search", { path: "tree", pattern: "= 1" }))["hits"]).toMatchObject([{ line: 1, col: 10 }]);
  });
  it("takes plain text, ignores case, filters files, names files only", async () => {
    await writeFile(at("tree/src/dots.txt"), "a.b\naxb\n");
    expect(dataOf(await test.call("file_search", { path: "tree", pattern: "a.b", regex: false }))["count"]).toBe(1);
    expect(dataOf(await test.call("file_search", { path: "tree", pattern: "a.b" }))["count"]).toBe(2);
    expect(
      dataOf(await test.call("file_search", { path: "tree", pattern: "NEEDLE", case_insensitive: true, include: "*.md" }))["count"],
    ).toBe(2);
    expect(dataOf(await test.call("file_search", { path: "tree", pattern: "needle", files_only: true }))["files"]).toEqual([
      "tree/src/a.ts",
      "tree/src/deep/b.md",
    ]);
  });
  it("bounds hits, long lines and greedy matches", async () => {
    await writeFile(at("tree/wide.txt"), `${"a".repeat(30_000)}needle${"b".repeat(30_000)}\nneedle\n`);
    const hit = (
      dataOf(await test.call("file_search", { path: "tree/wide.txt", pattern: "a+needleb+" }))["hits"] as {
        text: string;
        truncated: boolean;
      }[]
    )[0];
    expect([hit?.truncated, (hit?.text.length ?? 0) < 1_000]).toEqual([true, true]);
    expect(dataOf(await test.call("file_search", { path: "tree/wide.txt", pattern: "needle", limit: 1 }))).toMatchObject({
      count: 1,
      truncated: true,
    });
  });
  it("explains a pattern that does not compile", async () => {
    expect(errorOf(await test.call("file_search", { pattern: "(" }))).toMatchObject({
      code: "SEARCH_PATTERN_INVALID",
      hint: expect.stringContaining("regex: false") as string,
    });
  });
});
