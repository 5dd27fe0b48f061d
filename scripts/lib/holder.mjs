/**
 * Who serves a home: the reading half of `src/host/home-lock.ts`, in plain JavaScript, because it is asked before anything is
 * installed or built. The highest numbered lock file holds, if its socket answers.
 */
import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { readJson } from "./files.mjs";

/** `{ pid, address, build }` or null. `address` is null while it starts. */
export async function findHolder(home) {
  const run = join(home, "run");
  if (!existsSync(run)) return null;
  const numbers = readdirSync(run).flatMap((name) => /^lock\.(\d+)\.json$/.exec(name)?.[1] ?? []);
  const top = numbers.map(Number).sort((a, b) => b - a)[0];
  const lock = top === undefined ? null : readJson(join(run, `lock.${top}.json`));
  if (lock === null || lock.released === true || !(await answers(lock.socket))) return null;
  return { pid: lock.pid, address: lock.address ?? null, build: lock.build ?? null };
}

function answers(socket) {
  return new Promise((resolve) => {
    const connection = connect(String(socket));
    const end = (answer) => {
      connection.destroy();
      resolve(answer);
    };
    connection.setTimeout(2_000, () => end(true));
    connection.once("connect", () => end(true));
    connection.once("error", () => end(false));
  });
}
