/**
 * Races for a home: on each line on stdin `go` it takes the lock and opens the store, as a server does, and writes one commit; says `serves
 * <epoch>`, or the error's code. `leave` closes both and says `left`. Killed, it leaves them as they are.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { acquireHomeLock } from "../../src/host/home-lock.ts";
import { SomoraError } from "../../src/protocol/errors.ts";
import { createDuckdbJournal } from "../../src/store/index.ts";

const home = process.argv[2] ?? "";
let leave = async (): Promise<void> => {};

async function serve(): Promise<string> {
  const lock = await acquireHomeLock(home);
  const journal = createDuckdbJournal({ folder: join(home, "store"), now: Date.now });
  try {
    const { epoch } = await journal.open();
    const row = { shard: "", kind: "actor" as const, key: "/", head: `{"at":${epoch}}`, body: `{"pid":${process.pid}}` };
    await journal.append({ epoch, commit: 1, rows: [row] });
    leave = async () => {
      await journal.close();
      await lock.release();
    };
    return `serves ${epoch}`;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

writeSync(1, "ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "leave") {
    await leave();
    writeSync(1, "left\n");
    continue;
  }
  const said = await serve().catch((error: unknown) => (error instanceof SomoraError ? error.code : String(error)));
  writeSync(1, `${said}\n`);
}
