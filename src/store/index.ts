/** The store room's door. */
export { createDuckdbJournal } from "./duckdb.journal.ts";
export type { DuckdbJournalOptions } from "./duckdb.journal.ts";
export { createMemoryJournal } from "./memory.journal.ts";
export type { MemoryFault, MemoryJournal, MemoryJournalOptions } from "./memory.journal.ts";
export { readStanding } from "./standing.ts";
export type { StoreStanding } from "./standing.ts";
