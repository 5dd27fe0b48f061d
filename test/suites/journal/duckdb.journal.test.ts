/** The journal on DuckDB: the suite. What happens to its files stands in `duckdb-files.test.ts`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDuckdbJournal } from "../../../src/store/index.ts";
import { journalSuite } from "./journal.suite.ts";

journalSuite("DuckDB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "somora-store-"));
  return {
    create: () => createDuckdbJournal({ folder: join(folder, "store"), now: Date.now }),
    cleanup: () => rm(folder, { recursive: true }),
  };
});
