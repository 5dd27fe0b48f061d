/** The only place that reads the environment for the start-up files: which home, which port. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

export function homeFrom(env: Record<string, string | undefined>): string {
  const named = env["SOMORA_HOME"];
  return resolve(named === undefined || named === "" ? join(homedir(), ".somora") : named);
}
