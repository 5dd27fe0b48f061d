/**
 * The lock of a home, with real processes. Defects it would catch: two servers on one home (at a start, at a take-over, at a
 * release), a home that stays locked by somebody dead, a holder taken for dead because its socket's file was cleaned away.
 */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeScript } from "../../test/support/node-script.ts";
import type { NodeScript } from "../../test/support/node-script.ts";
import { acquireHomeLock, homeHolder } from "./home-lock.ts";
import { processStart } from "./process-start.ts";

let home: string;
const run = () => join(home, "run");

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "somora-lock-"));
});
afterEach(() => rm(home, { recursive: true }));

let script: NodeScript;
beforeAll(async () => {
  script = await nodeScript(new URL("../../test/support/lock.child.ts", import.meta.url));
});
afterAll(() => script.remove());

class Candidate {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(folder: string) {
    this.process = spawn(process.execPath, [script.path, folder], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const next = await this.#lines.next();
    return next.done === true ? "ended" : next.value;
  }

  /** All are ready before the first begins. */
  go(): Promise<string> {
    this.process.stdin.write("go\n");
    return this.line();
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exited = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exited;
  }
}

async function race(count: number): Promise<{ candidates: Candidate[]; answers: string[] }> {
  const candidates = Array.from({ length: count }, () => new Candidate(home));
  for (const candidate of candidates) expect(await candidate.line()).toBe("ready");
  return { candidates, answers: await Promise.all(candidates.map((candidate) => candidate.go())) };
}

describe("a home", () => {
  it("is held by exactly one of ten processes that start at once, and again by one when that is killed", async () => {
    for (let round = 1; round <= 3; round++) {
      const { candidates, answers } = await race(10);
      expect(answers.filter((answer) => answer === "won")).toHaveLength(1);
      const winner = candidates[answers.indexOf("won")];
      const refused = answers.filter((answer) => answer !== "won");
      expect(
        refused.every((answer) => answer.startsWith(`HOME_LOCKED Another server holds this home: pid ${winner?.process.pid ?? 0}, `)),
      ).toBe(true);
      await Promise.all(candidates.map((candidate) => candidate.kill()));
    }
    // Files of dead holders do not pile up.
    expect((await readdir(run())).filter((name) => name.startsWith("lock.")).length).toBe(1);
  });
  it("is refused with pid and address of the holder", async () => {
    const lock = await acquireHomeLock(home);
    await expect(acquireHomeLock(home)).rejects.toMatchObject({ code: "HOME_LOCKED", details: { pid: process.pid, address: null } });
    await lock.setAddress("http://127.0.0.1:18737");
    await expect(acquireHomeLock(home)).rejects.toMatchObject({
      message: `Another server holds this home: pid ${process.pid}, it serves at http://127.0.0.1:18737.`,
      details: { pid: process.pid, address: "http://127.0.0.1:18737" },
    });
    expect(await homeHolder(home)).toMatchObject({ pid: process.pid, address: "http://127.0.0.1:18737" });
    await lock.release();
  });
  it("is free after its release, and nobody is named as its holder", async () => {
    const first = await acquireHomeLock(home, { address: "http://one" });
    await first.release();
    await first.release();
    expect(await homeHolder(home)).toBeNull();
    const second = await acquireHomeLock(home);
    await expect(acquireHomeLock(home)).rejects.toMatchObject({ code: "HOME_LOCKED" });
    await second.release();
    expect((await readdir(run())).filter((name) => name.endsWith(".sock"))).toEqual([]);
  });
  it("that nobody ever held has no holder", async () => {
    expect(await homeHolder(join(home, "nowhere"))).toBeNull();
  });
  it("with a long path is locked by a socket elsewhere", async () => {
    const long = join(home, "x".repeat(90));
    const lock = await acquireHomeLock(long, { runtimeFolder: home });
    await expect(acquireHomeLock(long, { runtimeFolder: home })).rejects.toMatchObject({ code: "HOME_LOCKED" });
    await lock.release();
  });
});

describe("a holder", () => {
  async function killedHolder(): Promise<{ path: string; file: { socket: string; pid: number } }> {
    const holder = new Candidate(home);
    await holder.line();
    expect(await holder.go()).toBe("won");
    await holder.kill();
    const path = join(run(), "lock.1.json");
    return { path, file: JSON.parse(await readFile(path, "utf8")) as { socket: string; pid: number } };
  }

  it("that was killed is replaced, also when its pid belongs to a living program now", async () => {
    const { path, file } = await killedHolder();
    await writeFile(path, JSON.stringify({ ...file, pid: process.pid }));
    const lock = await acquireHomeLock(home);
    await lock.release();
  });
  it("whose socket's file was cleaned away is known by pid and start time", async () => {
    const { path, file } = await killedHolder();
    await unlink(file.socket);
    await writeFile(path, JSON.stringify({ ...file, pid: process.pid, started: await processStart(process.pid) }));
    await expect(acquireHomeLock(home)).rejects.toMatchObject({ code: "HOME_LOCKED" });
    await writeFile(path, JSON.stringify({ ...file, pid: process.pid, started: "another start" }));
    const lock = await acquireHomeLock(home);
    await lock.release();
  });
  it("that is stopped by a signal still holds", async () => {
    const holder = new Candidate(home);
    await holder.line();
    await holder.go();
    holder.process.kill("SIGSTOP");
    await expect(acquireHomeLock(home)).rejects.toMatchObject({ code: "HOME_LOCKED", details: { pid: holder.process.pid } });
    await holder.kill();
  });
  it("is nobody when the lock's file is not readable as one", async () => {
    await mkdir(run(), { recursive: true });
    await writeFile(join(run(), "lock.7.json"), "{");
    const lock = await acquireHomeLock(home);
    expect(await readdir(run())).toContain("lock.8.json");
    await lock.release();
  });
});
