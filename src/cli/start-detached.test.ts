import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunningServer } from "./dependencies.ts";
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
  fs.writeFileSync(file + ".part", JSON.stringify({ url: "http://127.0.0.1:" + server.address().port, pid: process.pid, version: "0", startedAt }));
  fs.renameSync(file + ".part", file);
});`;

describe("a server started in the background", () => {
  it("serves when the command returns, and writes to the log", async () => {
    const logFile = join(folder, "logs", "server.log");
    const file = join(folder, "server.json");
    const findServer = async (): Promise<RunningServer | null> => {
      const text = await readFile(file, "utf8").catch(() => "");
      return text === "" ? null : (JSON.parse(text) as RunningServer);
    };
    const running = await startDetached({
      program: process.execPath,
      args: ["-e", SERVER, "--", file],
      env: process.env,
      logFile,
      findServer,
    });
    try {
      expect(await readFile(logFile, "utf8")).toContain("serving");
      expect((await fetch(running.url)).ok).toBe(true);
    } finally {
      process.kill(running.pid, "SIGKILL");
    }
  });

  it("that ends before it serves is told with its last words", async () => {
    const start = startDetached({
      program: process.execPath,
      args: ["-e", "console.error('the port is taken'); process.exit(1)"],
      env: process.env,
      logFile: join(folder, "log"),
      findServer: async () => null,
    });
    await expect(start).rejects.toThrow(/ended with code 1.*\n.*the port is taken/s);
  });
});
