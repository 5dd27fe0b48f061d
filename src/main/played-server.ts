/** A real server in a process of its own, for `somora rehearse`: started, killed, and looked at from outside. */
import { spawn, type ChildProcess } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PlayedServer } from "../cli/index.ts";
import { SomoraError } from "../protocol/errors.ts";

export async function playedServer({
  home,
  serverFile,
  startMs,
  homeId,
}: {
  home: string;
  serverFile: string;
  startMs: number;
  homeId: string;
}): Promise<PlayedServer> {
  const child = spawn(process.execPath, [serverFile, "--port", "0", "--no-open"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SOMORA_HOME: home, SOMORA_PORT: "0" },
  });
  const url = await ready(child, startMs);
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await gone;
  };
  return {
    url,
    key: (await readFile(join(home, "key"), "utf8")).trim(),
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    processesLeft: () => countMarked(homeId),
  };
}

function ready(child: ChildProcess, limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const timer = setTimeout(() => fail(`it did not serve within ${limitMs / 1000} s`), limitMs);
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new SomoraError("INTERNAL", `The server for the rehearsal did not start: ${why}. ${said.trim()}`));
    };
    child.once("exit", (code) => fail(`it ended with ${code}`));
    child.once("error", (error) => fail(error.message));
    child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const match = /^ready (\S+)$/m.exec(said);
      if (!match) return;
      clearTimeout(timer);
      child.removeAllListeners("exit");
      resolve(match[1] as string);
    });
  });
}

/** Processes that carry the home's marker in their environment. */
async function countMarked(homeId: string): Promise<number> {
  let count = 0;
  for (const name of await readdir("/proc").catch(() => [] as string[])) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    if (environment.split("\0").includes(`SOMORA_HOME_ID=${homeId}`)) count += 1;
  }
  return count;
}
