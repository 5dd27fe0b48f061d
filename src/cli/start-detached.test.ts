import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findServer, homePaths, removeServerFile, writeServerFile } from "../config/index.ts";
import { browserProgram, openBrowser } from "./open-browser.ts";
import { startDetached } from "./start-detached.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "somora-detached-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SERVER = `
const http = require("node:http"), fs = require("node:fs"), [file] = process.argv.slice(-1);
const startedAt = Date.now();
const server = http.createServer((_, answer) => answer.end(JSON.stringify({ name: "somora", startedAt })));
server.listen(0, "127.0.0.1", () => {
  console.log("serving");
  fs.writeFileSync(file, JSON.stringify({ url: "http://127.0.0.1:" + server.address().port, pid: process.pid, version: "0", startedAt }));
});`;

describe("a server started in the background", () => {
  it("serves when the command returns, writes to the log, and is told from one that is gone or another's", async () => {
    const paths = homePaths(folder);
    const logFile = join(paths.logs, "server.log");
    await rm(paths.run, { recursive: true, force: true });
    const { mkdir } = await import("node:fs/promises");
    await mkdir(paths.run);
    const running = await startDetached({ program: process.execPath, args: ["-e", SERVER, "--", join(paths.run, "server.json")], env: process.env, logFile, findServer: () => findServer(paths) });
    try {
      expect(await readFile(logFile, "utf8")).toContain("serving");
      expect(await findServer(paths)).toEqual(running);
      await writeServerFile(paths, { ...running, startedAt: 1 });
      expect(await findServer(paths)).toBeNull();
      await writeServerFile(paths, { ...running, url: "http://127.0.0.1:1" });
      expect(await findServer(paths)).toBeNull();
    } finally {
      process.kill(running.pid, "SIGKILL");
    }
    await removeServerFile(paths);
    expect(await findServer(paths)).toBeNull();
    await writeFile(join(paths.run, "server.json"), "{half");
    expect(await findServer(paths)).toBeNull();
  });

  it("that ends before it serves is told with its last words", async () => {
    const start = startDetached({ program: process.execPath, args: ["-e", "console.error('the port is taken'); process.exit(1)"], env: process.env, logFile: join(folder, "log"), findServer: async () => null });
    await expect(start).rejects.toThrow(/ended with code 1.*\n.*the port is taken/s);
  });
});

describe("a browser", () => {
  it("is opened at a desktop only", async () => {
    const desktop = { platform: "linux" as const, env: { DISPLAY: ":0" }, terminal: true };
    expect(browserProgram(desktop)).toBe("xdg-open");
    expect(browserProgram({ ...desktop, platform: "darwin", env: {} })).toBe("open");
    expect(browserProgram({ ...desktop, env: {} })).toBeNull();
    expect(browserProgram({ ...desktop, env: { DISPLAY: ":0", SSH_CONNECTION: "x" } })).toBeNull();
    expect(browserProgram({ ...desktop, env: { DISPLAY: ":0", CI: "1" } })).toBeNull();
    expect(browserProgram({ ...desktop, terminal: false })).toBeNull();
  });

  it("gets exactly the address", async () => {
    const program = join(folder, "xdg-open");
    await writeFile(program, `#!/bin/sh\nprintf '%s' "$1" > ${join(folder, "opened")}\n`);
    await chmod(program, 0o755);
    expect(await openBrowser("http://127.0.0.1:1/#pair=x", { platform: "linux", env: { DISPLAY: ":0", PATH: `${folder}:/bin:/usr/bin` }, terminal: true })).toBe(true);
    await expect.poll(() => readFile(join(folder, "opened"), "utf8").catch(() => "")).toBe("http://127.0.0.1:1/#pair=x");
    expect(await openBrowser("x", { platform: "linux", env: { DISPLAY: ":0", PATH: "/nowhere" }, terminal: true })).toBe(false);
  });
});
