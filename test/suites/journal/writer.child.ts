/**
 * Writes commits until it is killed: `node writer <folder> [commits] [checkpoint]`. Says `epoch N` once, then each acknowledged commit.
 * With `checkpoint` it makes one after each acknowledged commit. After a failed one it says `failed N`, waits for a line on stdin, reopens and tries the same batch again.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import type { Batch } from "../../../src/ports/journal.port.ts";
import { createDuckdbJournal } from "../../../src/store/index.ts";

const ROWS = 40;

const folder = process.argv[2] ?? "";
const journal = createDuckdbJournal({ folder, now: Date.now });
const { epoch } = await journal.open();
writeSync(1, `epoch ${epoch}\n`);
const limit = Number(process.argv[3] ?? Number.MAX_SAFE_INTEGER);
for (let commit = 1; commit <= limit; commit++) {
  const rows = Array.from({ length: ROWS }, (_, n) => ({
    shard: "/agents/guide",
    kind: "actor" as const,
    key: `/agents/guide/${n}`,
    head: JSON.stringify({ address: `/agents/guide/${n}`, birth: "1.1.1", at: commit, status: "live" }),
    body: JSON.stringify({ commit, text: "x".repeat(200) }),
  }));
  while (!(await written({ epoch, commit, rows }))) await journal.reopen();
  writeSync(1, `${commit}\n`);
  if (process.argv[4] === "checkpoint") await journal.checkpoint();
}
async function written(batch: Batch): Promise<boolean> {
  try {
    return (await journal.append(batch)) === "done";
  } catch (error) {
    writeSync(1, `failed ${batch.commit} ${String(error).split("\n", 1)[0]}\n`);
    await once(process.stdin, "data");
    return false;
  }
}

// Stays alive, so that only a kill ends it and nothing is checkpointed.
setInterval(() => {}, 1_000);
