/** Runs ripgrep with a bound on its output; absent ripgrep is an answer, not an error. */
import { spawn } from "node:child_process";
import { hasCode } from "./files.ts";

export interface RipgrepRun {
  stdout: Buffer;
  stderr: string;
  /** 0 hits, 1 none, 2 trouble; null when it was ended. */
  code: number | null;
  /** Output went over the bound; what came before is there. */
  overflowed: boolean;
}

const MOST_STDERR = 8_192;

/** Null when there is no ripgrep. */
export async function runRipgrep(
  args: readonly string[],
  options: { cwd: string; maxBytes: number; signal: AbortSignal; binary?: string },
): Promise<RipgrepRun | null> {
  const child = spawn(options.binary ?? "rg", ["--no-config", ...args], {
    cwd: options.cwd,
    stdio: ["ignore", "pipe", "pipe"],
    signal: options.signal,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let size = 0;
  let overflowed = false;
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    if (overflowed) return;
    chunks.push(chunk);
    size += chunk.length;
    if (size > options.maxBytes) {
      overflowed = true;
      child.kill("SIGKILL");
    }
  });
  child.stderr.on("data", (chunk: Buffer) => {
    if (stderr.length < MOST_STDERR) stderr += chunk.toString("utf8");
  });
  return new Promise((resolve, reject) => {
    child.on("error", (error) => (hasCode(error, "ENOENT", "EACCES") ? resolve(null) : reject(error)));
    child.on("close", (code) => resolve({ stdout: Buffer.concat(chunks), stderr, code, overflowed }));
  });
}
