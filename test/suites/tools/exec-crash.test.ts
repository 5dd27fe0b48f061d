/** Would catch: a command of a dead server that is run twice, forgotten, or left running. Real processes, real kill -9. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endLeftovers, homeIdOf } from "../../../src/host/leftovers.ts";
import { effectFolder } from "../../../src/host/effect-folder.ts";
import { livingOf } from "../../../src/host/processes.ts";
import { readProcesses } from "../../../src/host/process-table.ts";
import type { ToolCallRequest } from "../../../src/ports/tools.port.ts";
import { plainSource } from "../../support/plain-source.ts";
import { dataOf, openTestRoom, type TestRoom } from "../../support/tool-room.ts";

let test: TestRoom;
let plain: Awaited<ReturnType<typeof plainSource>>;
beforeAll(async () => {
  test = await openTestRoom();
  plain = await plainSource(["host", "ports", "protocol"]);
  await writeFile(
    join(plain.folder, "server.js"),
    `import { createToolHost } from "./src/host/tool-host.js";
     import { systemClock } from "./src/host/system-clock.js";
     const [home, request, command] = process.argv.slice(2);
     const scope = { ...JSON.parse(request), signal: new AbortController().signal, progress: (line) => console.log(line) };
     const host = createToolHost({ home, clock: systemClock, environment: process.env });
     console.log("done " + JSON.stringify(await host.processes(scope).run({ command, cwd: null, env: {}, timeoutMs: 60000 })));`,
  );
});
afterAll(async () => {
  await plain.end();
  await test.end();
});

/** A second process that runs the command; resolves when it said `line`. */
function serve(request: ToolCallRequest, command: string, line: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(plain.folder, "server.js"), test.home, JSON.stringify(request), command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.includes(line)) resolve(child);
    });
    child.once("exit", () => reject(new Error(`ended before it said ${line}: ${text}`)));
  });
}
async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}

describe("a command of a server that was killed", () => {
  it("that ended meanwhile is done, with its code and all of its output", { timeout: 20_000 }, async () => {
    const command = `echo first; sleep 1; echo second; echo bad >&2; touch ${join(test.cwd, "ended")}; exit 4`;
    const request = test.request("exec", { command });
    await kill(await serve(request, command, "first"));
    await waitFor(() => existsSync(effectFolder(test.home, request.effectKey).file("exit")) && livingOf(request.effectKey).length === 0);
    const recovered = await test.room.recover(request);
    if (recovered.kind !== "done") throw new Error(recovered.kind);
    expect(dataOf(recovered.result)).toMatchObject({ ok: false, exit_code: 4, stdout: "first\nsecond\n", stderr: "bad\n" });
  });
  it(
    "that still runs is ended with all it started, and its outcome is unknown, with what it said so far",
    { timeout: 20_000 },
    async () => {
      const command = `echo so far; setsid sh -c 'trap "" TERM; sleep 320; sleep 321' & sleep 322; echo never > ${join(test.cwd, "never")}`;
      const request = test.request("exec", { command });
      await kill(await serve(request, command, "so far"));
      expect(livingOf(request.effectKey).length).toBeGreaterThan(2);
      const recovered = await test.room.recover(request);
      expect(recovered).toMatchObject({ kind: "unknown", known: { command, stdout: "so far\n" } });
      expect(livingOf(request.effectKey)).toEqual([]);
      expect(existsSync(join(test.cwd, "never"))).toBe(false);
    },
  );
  it("is found by the home's marker at start and ended, and is unknown after that too", { timeout: 20_000 }, async () => {
    const requests = [1, 2, 3].map(() => test.request("exec", { command: "x" }));
    const command = "echo up; trap '' TERM; (setsid sleep 330 &); sleep 331; sleep 332";
    for (const child of await Promise.all(requests.map((request) => serve(request, command, "up")))) await kill(child);
    const began = performance.now();
    const { ended, lost } = await endLeftovers(homeIdOf(test.home));
    expect(performance.now() - began).toBeLessThan(2_000 + 1_000);
    expect([ended.length >= 6, lost]).toEqual([true, []]);
    expect([...readProcesses().values()].filter((entry) => entry.env("SOMORA_HOME_ID") === homeIdOf(test.home))).toEqual([]);
    for (const request of requests) expect(await test.room.recover(request)).toMatchObject({ kind: "unknown", known: { stdout: "up\n" } });
  });
  it("of another home is left alone by this home's start", { timeout: 20_000 }, async () => {
    const request = test.request("exec", { command: "x" });
    const child = await serve(request, "echo up; sleep 340", "up");
    expect(await endLeftovers("0123456789abcdef")).toEqual({ ended: [], lost: [] });
    expect(livingOf(request.effectKey)).not.toEqual([]);
    await kill(child);
    await test.room.recover(request);
  });
});

describe("a command without a trace", () => {
  it("that has no folder has not started", async () => {
    expect(await test.room.recover(test.request("exec", { command: "true" }))).toEqual({ kind: "not-started" });
  });
  it("that has a folder and nothing else is unknown: it may have run", async () => {
    const request = test.request("exec", { command: "true" });
    await mkdir(effectFolder(test.home, request.effectKey).path, { recursive: true });
    expect(await test.room.recover(request)).toMatchObject({ kind: "unknown", known: { stdout: "", ended_processes: 0 } });
  });
  it("gives the same data from its folder as it gave alive", async () => {
    const request = test.request("exec", { command: "echo out; echo err >&2; exit 2" });
    const alive = await test.room.run(request, { signal: new AbortController().signal, progress: () => {} });
    const recovered = await test.room.recover(request);
    if (recovered.kind !== "done") throw new Error(recovered.kind);
    expect({ ...dataOf(recovered.result), ms: 0 }).toEqual({ ...dataOf(alive), ms: 0 });
  });
});

/** The end of a process that is not ours to wait for can only be looked at. */
async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}
