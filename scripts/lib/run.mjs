/** Runs one command to its end. No dependency. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./files.mjs";

/** Output goes where ours goes. Resolves with the exit code; a signal counts as 1. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit", ...options });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** A program of a package, run by this Node: no shell, no PATH. */
export function runNode(script, args = [], options = {}) {
  return run(process.execPath, [join(root, script), ...args], options);
}

export function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
