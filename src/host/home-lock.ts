/**
 * One server per home, with a proof that the holder lives.
 *
 * The proof is a listening unix socket: the kernel closes it with its process, however that ends, so neither a reused pid
 * nor a clock can lie about it, and a process that only sleeps or stands in a debugger still answers. Only where the
 * socket's file was removed by somebody (a cleaner of temporary folders), pid and start time decide.
 *
 * Lock files are numbered, `run/lock.<n>.json`; the highest number holds or is free. Rules:
 * L1 A number is taken by `link`, which only one process can do. Its socket listens before that.
 * L2 The highest number is never deleted, also not on release (it is marked as released), so numbers only grow.
 * L3 Who has linked a number looks again: if a higher one is there, it has not won. (It may have linked a number that was
 *    deleted in the meantime; a number is deleted only by the holder of a higher one.)
 * Removing a dead holder's file and making one's own, as is common, lets two processes win: the second removes the first's.
 */
import { randomBytes } from "node:crypto";
import { link, readFile, readdir, rename, unlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { Server } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { SomoraError } from "../protocol/errors.ts";
import { processStart } from "./process-start.ts";
import { socketFolder } from "./socket-folder.ts";

export interface HomeLock {
  /** Shown to who is refused from now on. */
  setAddress(address: string): Promise<void>;
  /** Frees the home. Further calls do nothing. A process that just ends frees it, too. */
  release(): Promise<void>;
}

export interface HomeHolder {
  pid: number;
  /** Null while it starts. */
  address: string | null;
  /** What it was built from, as `scripts/build.mjs` names it; null when it did not say. */
  build: string | null;
  /** Wall clock milliseconds. */
  since: number;
}

const lockFile = z.object({
  pid: z.number().int(),
  started: z.string().nullable(),
  socket: z.string(),
  address: z.string().nullable(),
  build: z.string().nullable(),
  since: z.number(),
  released: z.boolean(),
});
type LockFile = z.infer<typeof lockFile>;

const NAME = /^lock\.(\d+)\.json$/;
const SOCKET_NAME = "lock-4194304-ffffffff.sock";
/** A holder's kernel answers at once; only a machine out of memory takes longer. */
const ANSWER_MS = 2_000;

export interface HomeLockOptions {
  address?: string;
  build?: string;
  /** `$XDG_RUNTIME_DIR`, used when the home's path is too long for a socket. */
  runtimeFolder?: string;
}

/** Takes the home or rejects with HOME_LOCKED and the holder's pid and address. */
export async function acquireHomeLock(home: string, options: HomeLockOptions = {}): Promise<HomeLock> {
  const sockets = await socketFolder(home, SOCKET_NAME, options.runtimeFolder);
  const run = join(home, "run");
  const socket = join(sockets, `lock-${process.pid}-${randomBytes(4).toString("hex")}.sock`);
  const server = await listen(socket);
  const mine: LockFile = {
    pid: process.pid,
    started: await processStart(process.pid),
    socket,
    address: options.address ?? null,
    build: options.build ?? null,
    since: Date.now(),
    released: false,
  };
  try {
    const number = await takeNumber(run, mine);
    await sweep(run, number);
    return new HeldLock(run, number, mine, server);
  } catch (error) {
    await closed(server);
    throw error;
  }
}

/** Who holds the home now, or null. */
export async function homeHolder(home: string): Promise<HomeHolder | null> {
  const top = await highest(join(home, "run"));
  if (top === null || !(await lives(top.lock))) return null;
  const { pid, address, build, since } = top.lock;
  return { pid, address, build, since };
}

async function takeNumber(run: string, mine: LockFile): Promise<number> {
  const draft = join(run, `draft-${process.pid}-${randomBytes(4).toString("hex")}`);
  await writeFile(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    for (;;) {
      const top = await highest(run);
      if (top !== null && (await lives(top.lock))) throw refused(top.lock);
      const number = (top?.number ?? 0) + 1;
      if (!(await linked(draft, pathOf(run, number)))) continue;
      const now = await highest(run);
      if (now?.number === number) return number;
      await unlink(pathOf(run, number)).catch(unlessGone);
    }
  } finally {
    await unlink(draft);
  }
}

class HeldLock implements HomeLock {
  readonly #run: string;
  readonly #number: number;
  readonly #server: Server;
  #file: LockFile;
  #released = false;

  constructor(run: string, number: number, file: LockFile, server: Server) {
    this.#run = run;
    this.#number = number;
    this.#file = file;
    this.#server = server;
  }

  async setAddress(address: string): Promise<void> {
    await this.#rewrite({ ...this.#file, address });
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    await this.#rewrite({ ...this.#file, address: null, released: true });
    await closed(this.#server);
  }

  /** Never seen half written. */
  async #rewrite(file: LockFile): Promise<void> {
    this.#file = file;
    const draft = join(this.#run, `draft-${process.pid}-${randomBytes(4).toString("hex")}`);
    await writeFile(draft, JSON.stringify(file), { mode: 0o600 });
    await rename(draft, pathOf(this.#run, this.#number));
  }
}

async function highest(run: string): Promise<{ number: number; lock: LockFile } | null> {
  for (;;) {
    const numbers = await numbersIn(run);
    const number = numbers.at(-1);
    if (number === undefined) return null;
    const text = await readFile(pathOf(run, number), "utf8").catch(unlessGone);
    // Gone between listing and reading: a higher one is there by now (L2).
    if (text === undefined) continue;
    return { number, lock: parse(text) };
  }
}

/** A file that is not ours (a full disk when it was written, an editor) has no living holder. */
function parse(text: string): LockFile {
  const nobody: LockFile = { pid: 0, started: null, socket: "", address: null, build: null, since: 0, released: true };
  try {
    return lockFile.catch(nobody).parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return nobody;
    throw error;
  }
}

async function numbersIn(run: string): Promise<number[]> {
  const names = (await readdir(run).catch(unlessGone)) ?? [];
  return names
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

async function lives(lock: LockFile): Promise<boolean> {
  if (lock.released) return false;
  const answer = await ask(lock.socket);
  if (answer !== "no file") return answer === "answers";
  return lock.started !== null && (await processStart(lock.pid)) === lock.started;
}

function ask(socket: string): Promise<"answers" | "refuses" | "no file"> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    // Neither yes nor no: whoever it is, its kernel has not closed the socket.
    connection.setTimeout(ANSWER_MS, () => end("answers"));
    connection.once("connect", () => end("answers"));
    connection.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") end("refuses");
      else if (error.code === "ENOENT" || error.code === "ENOTSOCK" || error.code === "ENOTDIR") end("no file");
      else if (error.code === "EAGAIN") end("answers");
      else reject(error);
    });
    function end(answer: "answers" | "refuses" | "no file"): void {
      connection.destroy();
      resolve(answer);
    }
  });
}

/** Deletes what earlier holders left behind. */
async function sweep(run: string, own: number): Promise<void> {
  for (const number of await numbersIn(run)) {
    if (number >= own) continue;
    const text = await readFile(pathOf(run, number), "utf8").catch(unlessGone);
    if (text !== undefined) await unlink(parse(text).socket).catch(unlessGone);
    await unlink(pathOf(run, number)).catch(unlessGone);
  }
}

function refused(holder: LockFile): SomoraError {
  const where = holder.address === null ? "it is starting" : `it serves at ${holder.address}`;
  return new SomoraError("HOME_LOCKED", `Another server holds this home: pid ${holder.pid}, ${where}.`, {
    hint: "Use that one, stop it with `somora server stop`, or set SOMORA_HOME to another folder.",
    details: { pid: holder.pid, address: holder.address },
  });
}

function listen(socket: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.once("error", reject);
    server.listen(socket, () => {
      server.off("error", reject);
      server.unref();
      resolve(server);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function pathOf(run: string, number: number): string {
  return join(run, `lock.${number}.json`);
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
