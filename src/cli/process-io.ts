/** The real streams of this process as a `CliIo`. */
import type { CliIo } from "./io.ts";

export function processIo(): CliIo {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    inIsTerminal: process.stdin.isTTY === true,
    columns: process.stdout.columns ?? 80,
    cwd: process.cwd(),
    env: process.env,
    readAll,
    onInterrupt(listener) {
      process.on("SIGINT", listener);
      return () => process.off("SIGINT", listener);
    },
  };
}

function readAll(firstByteMs?: number): Promise<string | null> {
  const { stdin } = process;
  if (stdin.isTTY) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let timer: NodeJS.Timeout | null = null;
    const end = (): void => {
      if (timer) clearTimeout(timer);
      stdin.off("data", take);
      stdin.pause();
      // A pipe that stays open must not keep the process alive.
      if ("unref" in stdin) (stdin as unknown as { unref(): void }).unref();
      resolve(chunks.length === 0 ? null : Buffer.concat(chunks).toString("utf8"));
    };
    const take = (chunk: Buffer): void => {
      if (timer) clearTimeout(timer);
      chunks.push(Buffer.from(chunk));
    };
    if (firstByteMs !== undefined) timer = setTimeout(end, firstByteMs);
    stdin.on("data", take);
    stdin.once("end", end);
    stdin.once("error", reject);
  });
}
