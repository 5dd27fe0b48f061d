/** Where private sockets of a home live: in its `run/`, or in a folder of the user's when that path would be too long for a socket. */
import { lstat, mkdir } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { SomoraError } from "../protocol/errors.ts";

/** Linux allows 107 bytes, macOS 103. */
const PATH_LIMIT = 103;

/**
 * A folder of mode 700 in which a socket called `longestName` may be bound. `runtimeFolder` is `$XDG_RUNTIME_DIR` where
 * there is one.
 */
export async function socketFolder(home: string, longestName: string, runtimeFolder?: string): Promise<string> {
  const run = join(home, "run");
  await mkdir(run, { recursive: true, mode: 0o700 });
  if (fits(run, longestName)) return run;
  const { uid } = userInfo();
  const other = join(runtimeFolder ?? tmpdir(), `somora-${uid}`);
  await mkdir(other, { recursive: true, mode: 0o700 });
  const found = await lstat(other);
  if (!found.isDirectory() || (uid >= 0 && found.uid !== uid) || (found.mode & 0o077) !== 0) {
    throw new SomoraError(
      "FOLDER_INVALID",
      `${other} is needed for private sockets, but it is not a folder that only this user can enter.`,
      {
        hint: `Remove it, or use a home with a path of at most ${PATH_LIMIT - longestName.length - 5} bytes.`,
      },
    );
  }
  return other;
}

function fits(folder: string, name: string): boolean {
  return Buffer.byteLength(join(folder, name)) <= PATH_LIMIT;
}
