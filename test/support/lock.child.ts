/** Takes the lock of a home as soon as a line comes on stdin; says `won`, or the error's code, and holds until it is killed. */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { acquireHomeLock } from "../../src/host/home-lock.ts";
import { SomoraError } from "../../src/protocol/errors.ts";

writeSync(1, "ready\n");
await once(process.stdin, "data");
try {
  await acquireHomeLock(process.argv[2] ?? "", { address: `http://127.0.0.1/${process.pid}` });
  writeSync(1, "won\n");
} catch (error) {
  if (!(error instanceof SomoraError)) throw error;
  writeSync(1, `${error.code} ${error.message}\n`);
}
