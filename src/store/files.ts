/** The names of what lies in `<home>/store`, any of which may be absent. */
import { join } from "node:path";

export interface StoreFiles {
  folder: string;
  database: string;
  wal: string;
  /** The last acknowledged commit; see `mark.ts`. */
  mark: string;
  /** Which build wrote last, and every repair; see `report.ts`. */
  report: string;
  blobs: string;
}

export function storeFiles(folder: string): StoreFiles {
  const database = join(folder, "somora.duckdb");
  return {
    folder,
    database,
    wal: `${database}.wal`,
    mark: join(folder, "last-commit"),
    report: join(folder, "report.json"),
    blobs: join(folder, "blobs"),
  };
}

/** For a `catch`: what is not there counts as `value`; every other error goes on. */
export function whenAbsent<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}
