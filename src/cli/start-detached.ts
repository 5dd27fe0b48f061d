/** Starts a server that outlives the command, its words in the log, and waits until it serves. */
import { spawn } from "node:child_process";
import { mkdir, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CliError } from "./command.ts";
import type { RunningServer } from "./dependencies.ts";

const START_MS = 60_000;

export async function startDetached(options: {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  logFile: string;
  findServer(): Promise<RunningServer | null>;
}): Promise<RunningServer> {
  await mkdir(dirname(options.logFile), { recursive: true, mode: 0o700 });
  const log = await open(options.logFile, "a", 0o600);
  const { size } = await log.stat();
  let ended: string | null = null;
  try {
    const child = spawn(options.program, [...options.args], { detached: true, stdio: ["ignore", log.fd, log.fd], env: options.env });
    child.once("error", (error) => (ended = error.message));
    child.once("exit", (code, signal) => (ended = `it ended with ${signal ?? `code ${code}`}`));
    child.unref();
  } finally {
    await log.close();
  }
  for (const until = Date.now() + START_MS; Date.now() < until;) {
    const running = await options.findServer();
    if (running) return running;
    if (ended !== null) break;
    await new Promise((again) => setTimeout(again, 100));
  }
  const said = (await readFile(options.logFile)).subarray(size).toString("utf8").trim().split("\n").slice(-5).join("\n");
  throw new CliError(
    `The server did not start: ${ended ?? `it does not serve after ${START_MS / 1_000} s`}.${said === "" ? "" : `\n${said}`}`,
    { hint: "`somora server start --foreground` shows all it says; `somora doctor` looks for the cause." },
  );
}
