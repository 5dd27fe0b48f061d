/** A folder listing: one level or everything below, ignored files left out where ripgrep is there. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { FolderEntry, FolderListing } from "../ports/host.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { hasCode } from "./files.ts";
import { compileGlob } from "./glob.ts";
import { checkPath, explain } from "./guarded-files.ts";
import type { PathPolicy } from "./path-policy.ts";
import { runRipgrep } from "./ripgrep.ts";
import { walk } from "./walk.ts";

const MOST_LISTING_BYTES = 8 * 1024 * 1024;

export interface LookScope {
  policy: PathPolicy;
  agent: string;
  signal: AbortSignal;
  ripgrep?: string;
}

export async function listFolder(
  scope: LookScope,
  path: string,
  options: { recursive: boolean; glob: string | null; respectGitignore: boolean; max: number },
): Promise<FolderListing> {
  const root = await checkPath(scope.policy, path, "read", scope.agent);
  try {
    const info = await lstat(root);
    if (!info.isDirectory())
      throw new SomoraError("FILE_IS_FOLDER", `${path} is a file, not a folder.`, { hint: "Read it with file_read." });
  } catch (error) {
    throw await explain(scope.policy, error, path, root, scope.agent);
  }
  const glob = options.glob === null ? null : compileGlob(options.glob);
  const hidden = options.glob !== null && /(?:^|\/)\./u.test(options.glob);
  const wanted = options.recursive && options.respectGitignore ? await keptByRipgrep(scope, root, hidden) : null;
  const entries: FolderEntry[] = [];
  let truncated = wanted?.overflowed ?? false;

  async function add(full: string, inside: string): Promise<boolean> {
    if (glob !== null && !glob.matches(inside)) return true;
    if (entries.length >= options.max) {
      truncated = true;
      return false;
    }
    const entry = await describe(full);
    if (entry !== null) entries.push(entry);
    return true;
  }

  if (wanted !== null) {
    for (const inside of wanted.paths) {
      const full = join(root, inside);
      if (scope.policy.refusal(full, "read", scope.agent) !== null) continue;
      if (!(await add(full, inside))) break;
    }
  } else {
    for await (const found of walk(root, { ...scope, recursive: options.recursive, hidden })) {
      if (!(await add(found.path, found.inside))) break;
    }
  }
  return { root, entries, truncated, ignoreHonoured: wanted !== null || !options.recursive || !options.respectGitignore };
}

/** Files ripgrep would search, and the folders on the way to them. Null without ripgrep. */
async function keptByRipgrep(scope: LookScope, root: string, hidden: boolean): Promise<{ paths: string[]; overflowed: boolean } | null> {
  const args = [
    "--files",
    "--null",
    "--no-require-git",
    "--no-messages",
    "--sort",
    "path",
    ...(hidden ? ["--hidden", "--glob", "!.git"] : []),
  ];
  const run = await runRipgrep(args, {
    cwd: root,
    maxBytes: MOST_LISTING_BYTES,
    signal: scope.signal,
    ...(scope.ripgrep === undefined ? {} : { binary: scope.ripgrep }),
  });
  if (run === null) return null;
  const whole = run.stdout.subarray(0, run.stdout.lastIndexOf(0) + 1);
  const paths = new Set<string>();
  for (const file of whole.toString("utf8").split("\0")) {
    if (file === "") continue;
    for (let at = file.indexOf("/"); at >= 0; at = file.indexOf("/", at + 1)) paths.add(file.slice(0, at));
    paths.add(file);
  }
  return { paths: [...paths], overflowed: run.overflowed };
}

async function describe(path: string): Promise<FolderEntry | null> {
  try {
    const info = await lstat(path);
    return {
      path,
      type: info.isFile() ? "file" : info.isDirectory() ? "dir" : "other",
      size: info.size,
      mtime: Math.round(info.mtimeMs),
      ctime: Math.round(info.ctimeMs),
    };
  } catch (error) {
    if (hasCode(error, "ENOENT", "EACCES")) return null;
    throw error;
  }
}
