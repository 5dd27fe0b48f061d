/** Writes commits until it is killed: `node writer <folder> [commits]`. Says `epoch N` once, then each acknowledged commit. */
import { writeSync } from "node:fs";
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
  await journal.append({ epoch, commit, rows });
  writeSync(1, `${commit}\n`);
}
// Stays alive, so that only a kill ends it and nothing is checkpointed.
setInterval(() => {}, 1_000);
