/** A small disk of its own (a tmpfs) that a test can fill to the last byte or make read-only. Null where none can be mounted. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  folder: string;
  fill(): void;
  empty(): void;
  /** False: something on it is open for writing, or it is not allowed here. */
  readOnly(on: boolean): boolean;
  remove(): void;
}

export const NO_DISK = "no tmpfs can be mounted here (needs root on Linux)";

export function smallDisk(megabytes: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), "somora-disk-"));
  const run = (...args: string[]): boolean => spawnSync(args[0] as string, args.slice(1)).status === 0;
  if (process.platform !== "linux" || !run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder)) {
    rmSync(folder, { recursive: true });
    return null;
  }
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill() {
      for (let size = 1024 * 1024, n = 0; size >= 512 && n < 10_000; n += 1) {
        const { bavail, bsize } = statfsSync(folder);
        if (bavail === 0) return;
        try {
          writeFileSync(ballast, Buffer.alloc(Math.min(size, bavail * bsize)), { flag: "a" });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          size /= 2;
        }
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    readOnly: (on) => run("mount", "-o", `remount,${on ? "ro" : "rw"}`, folder),
    remove() {
      run("umount", "-l", folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
