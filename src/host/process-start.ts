/** When a process began, as a text that differs between two processes of the same pid. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Null when there is no such process. From /proc where there is one, else from `ps`. */
export async function processStart(pid: number): Promise<string | null> {
  if (process.platform !== "linux") return startByPs(pid);
  try {
    const [stat, boot] = await Promise.all([readFile(`/proc/${pid}/stat`, "utf8"), readFile("/proc/sys/kernel/random/boot_id", "utf8")]);
    // The name stands in brackets and may hold anything; the start time is the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not asked yet.
    return fields[0] === "Z" ? null : `${boot.trim()} ${fields[19] ?? ""}`;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

async function startByPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
    return stdout.trim() || null;
  } catch (error) {
    // `ps` exits 1 when no process matches.
    if (error instanceof Error && "code" in error && error.code === 1) return null;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH");
}
