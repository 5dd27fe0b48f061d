/** The files of one call: every path through the policy, every change kept, every replacement whole. */
import { constants, fstatSync } from "node:fs";
import { lstat, open, rename, rm, type FileHandle } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Clock } from "../ports/clock.port.ts";
import type { CallFiles, CallScope, ChangeOutcome, ChangePlan, ChangeRecovery, FileStat } from "../ports/host.port.ts";
import type { FileChange } from "../ports/tools.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { changeIdOf, backUpPersona, describeChange, dropBefore, keepBefore, readKept, type ChangeMeta } from "./changes.ts";
import { asideName, decodeText, hasCode, sha256, syncFolder } from "./files.ts";
import { checkPath, explain, openFolderOf, openForRead } from "./guarded-files.ts";
import { listFolder, type LookScope } from "./list-folder.ts";
import type { PathPolicy } from "./path-policy.ts";
import { searchFiles } from "./search-files.ts";

/** What a tool reads or changes at most as a whole; beyond that `exec` is the way. */
const MOST_BYTES = 64 * 1024 * 1024;

export interface CallFilesOptions {
  policy: PathPolicy;
  clock: Clock;
  /** Changes of the same file one after the other, over all calls. */
  queue: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** Another ripgrep than the one on the path. */
  ripgrep?: string;
}

export function createCallFiles({ policy, clock, queue, ripgrep }: CallFilesOptions, scope: CallScope): CallFiles {
  const changes: FileChange[] = [];
  const written: string[] = [];
  const look: LookScope = { policy, agent: scope.agent, signal: scope.signal, ...(ripgrep === undefined ? {} : { ripgrep }) };

  function resolvePath(path: string): string {
    if (path.includes("\0"))
      throw new SomoraError("PATH_DENIED", "A path may not hold a NUL character.", { hint: "Give the path as plain text." });
    if (path.trim() === "") throw new SomoraError("PATH_DENIED", "The path is empty.", { hint: "Give a path, for the folder itself `.`." });
    if (path === "~" || path.startsWith("~/")) return resolve(policy.userHome, path.slice(2));
    return isAbsolute(path) ? resolve(path) : resolve(scope.cwd, path);
  }

  function shown(path: string): string {
    const inside = relative(scope.cwd, path);
    if (inside === "") return ".";
    return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
  }

  async function read(path: string, maxBytes = MOST_BYTES): Promise<{ path: string; bytes: Buffer; stat: FileStat }> {
    const opened = await openForRead(policy, resolvePath(path), scope.agent);
    try {
      const info = await opened.handle.stat();
      if (info.size > maxBytes) throw tooLarge(opened.path, info.size, maxBytes);
      const bytes = await opened.handle.readFile();
      return {
        path: opened.path,
        bytes,
        stat: { path: opened.path, type: "file", size: bytes.length, mtime: info.mtimeMs, ctime: info.ctimeMs },
      };
    } finally {
      await opened.handle.close();
    }
  }

  async function stat(path: string): Promise<FileStat> {
    const full = resolvePath(path);
    const real = await checkPath(policy, full, "read", scope.agent);
    try {
      const info = await lstat(real);
      return {
        path: real,
        type: info.isFile() ? "file" : info.isDirectory() ? "dir" : "other",
        size: info.size,
        mtime: info.mtimeMs,
        ctime: info.ctimeMs,
      };
    } catch (error) {
      throw await explain(policy, error, full, real, scope.agent);
    }
  }

  async function readBefore(real: string): Promise<{ bytes: Buffer | null; handle: FileHandle | null }> {
    try {
      const { handle } = await openForRead(policy, real, scope.agent);
      const info = fstatSync(handle.fd);
      if (info.size > MOST_BYTES) {
        await handle.close();
        throw tooLarge(real, info.size, MOST_BYTES);
      }
      return { bytes: await handle.readFile(), handle };
    } catch (error) {
      if (error instanceof SomoraError && error.code === "FILE_NOT_FOUND") return { bytes: null, handle: null };
      throw error;
    }
  }

  async function change<Data>(path: string, plan: ChangePlan<Data>): Promise<ChangeOutcome<Data>> {
    const full = resolvePath(path);
    const real = await checkPath(policy, full, "write", scope.agent);
    return queue(real, () => replace(full, real, plan));
  }

  async function replace<Data>(full: string, real: string, plan: ChangePlan<Data>): Promise<ChangeOutcome<Data>> {
    const before = await readBefore(real);
    try {
      const { after, data } = await planned(plan, before.bytes, full);
      const info = before.handle === null ? null : fstatSync(before.handle.fd);
      const meta: ChangeMeta = {
        id: changeIdOf(scope.effectKey, real),
        path: real,
        kind: before.bytes === null ? "created" : "changed",
        mode: info === null ? 0o644 & ~process.umask() : info.mode & 0o7777,
        hashBefore: before.bytes === null ? null : sha256(before.bytes),
        hashAfter: sha256(after),
        agent: scope.agent,
        session: scope.session,
        turnId: scope.turnId,
        callId: scope.callId,
        effectKey: scope.effectKey,
        at: clock.now(),
      };
      await keepBefore(policy.home, meta, before.bytes).catch(async (error: unknown) => {
        throw await explain(policy, error, full, real, scope.agent);
      });
      if (before.bytes !== null && isPersona(real)) await backUpPersona(real, before.bytes, meta.at);
      try {
        await putInPlace(full, real, meta.mode, info, before.bytes, after);
      } catch (error) {
        await dropBefore(policy.home, scope.agent, meta.id);
        throw await explain(policy, error, full, real, scope.agent);
      }
      const described = describeChange(meta, before.bytes, after);
      changes.push(described);
      written.push(real);
      return { path: real, data, change: described };
    } finally {
      await before.handle?.close();
    }
  }

  /** A plan that misses the file gets close names into its error. */
  async function planned<Data>(plan: ChangePlan<Data>, bytes: Buffer | null, full: string): Promise<{ after: Buffer; data: Data }> {
    try {
      return plan(bytes);
    } catch (error) {
      if (bytes === null && error instanceof SomoraError && error.code === "FILE_NOT_FOUND") await stat(full);
      throw error;
    }
  }

  /** Aside, synced, owner and mode kept, content of the target asked once more, renamed, folder synced. */
  async function putInPlace(
    full: string,
    real: string,
    mode: number,
    info: { uid: number; gid: number } | null,
    before: Buffer | null,
    after: Buffer,
  ): Promise<void> {
    const folder = await openFolderOf(policy, real, scope.agent);
    const aside = folder.at(asideName());
    const target = folder.at(basename(real));
    try {
      const handle = await open(aside, "wx", 0o600);
      try {
        await handle.writeFile(after);
        if (info !== null) await keepOwner(handle, info);
        await handle.chmod(mode);
        await handle.sync();
      } finally {
        await handle.close();
      }
      if (scope.signal.aborted) throw new SomoraError("TOOL_CANCELLED", `Stopped before ${full} was written; nothing was changed.`);
      await checkStillThe(before, target, full);
      await rename(aside, target);
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    } finally {
      await folder.close();
    }
    await syncFolder(folder.real);
  }

  async function recoverChange<Data>(path: string, plan: ChangePlan<Data>): Promise<ChangeRecovery<Data>> {
    const real = await checkPath(policy, resolvePath(path), "write", scope.agent);
    const kept = await readKept(policy.home, scope.agent, changeIdOf(scope.effectKey, real));
    if (kept === null) return { kind: "not-started" };
    const now = await readBefore(real);
    await now.handle?.close();
    const hash = now.bytes === null ? null : sha256(now.bytes);
    if (hash === kept.meta.hashBefore) return { kind: "not-started" };
    if (hash !== kept.meta.hashAfter || now.bytes === null) return { kind: "unknown" };
    const described = describeChange(kept.meta, kept.before, now.bytes);
    changes.push(described);
    written.push(real);
    return { kind: "done", outcome: { path: real, data: plan(kept.before).data, change: described } };
  }

  function isPersona(real: string): boolean {
    const inside = relative(join(policy.home, "agents"), real).split(sep);
    return inside.length === 2 && inside[0] !== ".." && /\.md$/iu.test(inside[1] ?? "");
  }

  return {
    resolve: resolvePath,
    shown,
    stat,
    read,
    list: (path, options) => listFolder(look, resolvePath(path), options),
    search: (request) => searchFiles(look, { ...request, path: resolvePath(request.path) }),
    change,
    recoverChange,
    changes,
    written,
  };
}

/** Compared by content: size and time may lie. Also what appeared or vanished meanwhile is a change. */
async function checkStillThe(before: Buffer | null, target: string, full: string): Promise<void> {
  let now: Buffer | null = null;
  try {
    const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      now = await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ELOOP", "EISDIR", "ENXIO")) throw error;
  }
  if (before === null ? now === null : now !== null && before.equals(now)) return;
  throw new SomoraError("FILE_CHANGED", `${full} was changed by something else while this call ran; nothing was written.`, {
    hint: "Read it again and repeat the change on the fresh text.",
    details: now === null ? { fresh: null } : { fresh: decodeText(now.subarray(0, 4_000)) },
  });
}

/** Only root may give a file away; a group or owner that cannot be kept is left as it came. */
async function keepOwner(handle: FileHandle, info: { uid: number; gid: number }): Promise<void> {
  const mine = await handle.stat();
  if (mine.uid === info.uid && mine.gid === info.gid) return;
  try {
    await handle.chown(info.uid, info.gid);
  } catch (error) {
    if (!hasCode(error, "EPERM", "EINVAL")) throw error;
  }
}

function tooLarge(path: string, size: number, most: number): SomoraError {
  return new SomoraError("FILE_FAILED", `${path} has ${size} bytes; tools take at most ${most}.`, {
    hint: "Use exec with head, tail, sed or split for files of this size.",
  });
}
