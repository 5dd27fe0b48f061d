/**
 * Opening files under the path policy without a gap between check and use: the path is checked as text and as real path,
 * opened, and the opened thing is asked where it really is. Writes happen inside an opened and checked folder.
 */
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { closeNames } from "../protocol/close-names.ts";
import { SomoraError } from "../protocol/errors.ts";
import { hasCode } from "./files.ts";
import { denied, realPathOf, type Access, type PathPolicy } from "./path-policy.ts";

const HAS_PROC = process.platform === "linux";

/** Both passes of the policy; gives the real path. */
export async function checkPath(policy: PathPolicy, path: string, access: Access, agent: string): Promise<string> {
  const textual = policy.refusal(path, access, agent);
  if (textual !== null) throw denied(path, access, textual);
  const real = await realPathOf(path);
  const really = policy.refusal(real, access, agent);
  if (really !== null) throw denied(path, access, `it leads to ${real}; ${really}`);
  return real;
}

/** Where an open file or folder really is now. */
async function placeOf(handle: FileHandle, opened: string): Promise<string> {
  if (HAS_PROC) return readlink(`/proc/self/fd/${handle.fd}`);
  const [mine, there] = await Promise.all([handle.stat(), lstat(opened)]);
  if (mine.ino !== there.ino || mine.dev !== there.dev) return "another place";
  return realpath(opened);
}

/** Opens a regular file for reading. A FIFO does not hang, a device is refused. The caller closes the handle. */
export async function openForRead(policy: PathPolicy, path: string, agent: string): Promise<{ handle: FileHandle; path: string }> {
  const real = await checkPath(policy, path, "read", agent);
  let handle: FileHandle;
  try {
    handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw await explain(policy, error, path, real, agent);
  }
  try {
    const place = await placeOf(handle, real);
    const reason = place === real ? null : (policy.refusal(place, "read", agent) ?? "it was swapped while it was opened");
    if (reason !== null) throw denied(path, "read", reason);
    const info = await handle.stat();
    if (info.isDirectory())
      throw new SomoraError("FILE_IS_FOLDER", `${path} is a folder, not a file.`, { hint: "List it with file_list." });
    if (!info.isFile())
      throw new SomoraError("FILE_FAILED", `${path} is not a regular file.`, {
        hint: "Devices, sockets and pipes cannot be read as files.",
      });
    return { handle, path: real };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** An opened, checked folder: `at(name)` is a path that cannot be led elsewhere any more (on Linux). */
export interface OpenFolder {
  readonly real: string;
  at(name: string): string;
  close(): Promise<void>;
}

/** Opens the folder a file will be written in, making missing ones. `real` is a checked real path of the file. */
export async function openFolderOf(policy: PathPolicy, real: string, agent: string): Promise<OpenFolder> {
  const folder = dirname(real);
  let handle: FileHandle;
  try {
    await makeFolders(policy, folder, agent);
    handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    // It was a folder a moment ago.
    if (hasCode(error, "ENOTDIR", "ELOOP")) throw denied(real, "write", "its folder was swapped for a link meanwhile");
    throw await explain(policy, error, real, real, agent);
  }
  try {
    const place = await placeOf(handle, folder);
    if (place !== folder)
      throw denied(
        real,
        "write",
        policy.refusal(join(place, basename(real)), "write", agent) ?? "its folder was swapped for a link meanwhile",
      );
    return {
      real: folder,
      at: (name) => (HAS_PROC ? `/proc/self/fd/${handle.fd}/${name}` : join(folder, name)),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Makes missing folders one by one, each inside the opened one above, so that a swapped one leads nowhere. */
async function makeFolders(policy: PathPolicy, folder: string, agent: string): Promise<void> {
  try {
    const info = await stat(folder);
    if (!info.isDirectory())
      throw new SomoraError("FILE_IS_FOLDER", `${folder} is a file; a folder is needed there.`, { hint: "Choose another path." });
    return;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  const above = await openFolderOf(policy, folder, agent);
  try {
    await mkdir(above.at(basename(folder))).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
  } finally {
    await above.close();
  }
}

/** A system error in words, with close names where a file is missing. */
export async function explain(policy: PathPolicy, error: unknown, path: string, real: string, agent: string): Promise<unknown> {
  if (error instanceof SomoraError) return error;
  if (hasCode(error, "ENOENT", "ENOTDIR")) {
    const names = await namesBeside(policy, real, agent);
    const near = closeNames(basename(real), names);
    return new SomoraError("FILE_NOT_FOUND", `There is no file ${short(path)}.`, {
      hint: near.length > 0 ? `Close names in the same folder: ${near.join(", ")}.` : "Look with file_list what is there.",
      ...(near.length > 0 ? { details: { close: near } } : {}),
    });
  }
  if (hasCode(error, "ELOOP")) return denied(path, "read", "it was swapped for a link meanwhile");
  if (error instanceof Error && "code" in error) {
    return new SomoraError("FILE_FAILED", `The system refused ${short(path)}: ${reasonOf(error)}.`, {
      hint: "Check the path and its permissions.",
      cause: error,
    });
  }
  return error;
}

function short(path: string): string {
  return path.length > 300 ? `${path.slice(0, 299)}…` : path;
}

function reasonOf(error: Error): string {
  const words: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "not permitted",
    ENOSPC: "the disk is full",
    EROFS: "the file system is read-only",
    EISDIR: "it is a folder",
    ENAMETOOLONG: "the name is too long",
    EMFILE: "too many open files",
    EDQUOT: "the quota is used up",
    EEXIST: "it exists already",
    ENXIO: "nothing reads the pipe",
  };
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return words[code] ?? error.message;
}

async function namesBeside(policy: PathPolicy, real: string, agent: string): Promise<string[]> {
  const folder = dirname(real);
  if (policy.refusal(folder, "read", agent) !== null) return [];
  try {
    const names = await readdir(folder);
    return names.filter((name) => policy.refusal(join(folder, name), "read", agent) === null);
  } catch (error) {
    if (error instanceof Error) return [];
    throw error;
  }
}
