/**
 * One open DuckDB file: a connection that writes, one that reads, and the way both end. Only `fromCache`: a second instance
 * on one file in one process would not see the first one's rows. Nothing in this process may open the file by path.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBAppender, DuckDBConnection, DuckDBValue } from "@duckdb/node-api";

/** Our own writer decides when to checkpoint. The limit holds while the WAL is replayed, so it must not be small. */
const SETTINGS = { threads: "2", memory_limit: "1GB", checkpoint_threshold: "1TB" } as const;

export class Database {
  readonly #instance: DuckDBInstance;
  readonly writer: DuckDBConnection;
  readonly reader: DuckDBConnection;
  #appender: DuckDBAppender | null = null;
  readonly #background = new Set<DuckDBConnection>();

  private constructor(instance: DuckDBInstance, writer: DuckDBConnection, reader: DuckDBConnection) {
    this.#instance = instance;
    this.writer = writer;
    this.reader = reader;
  }

  static async open(file: string): Promise<Database> {
    const instance = await DuckDBInstance.fromCache(file, SETTINGS);
    try {
      const database = new Database(instance, await instance.connect(), await instance.connect());
      // Closing runs on this thread: it must not write. Who wants a checkpoint makes one before.
      if (!(await database.#isLocked())) await database.writer.run("pragma disable_checkpoint_on_shutdown");
      return database;
    } catch (error) {
      instance.closeSync();
      throw error;
    }
  }

  /** Into the log table, which must exist. Kept over transactions: a new one per commit costs 0.3 ms. */
  async appender(): Promise<DuckDBAppender> {
    return (this.#appender ??= await this.writer.createAppender("log"));
  }

  /** Last of all at an opening: from here on no statement reaches another file or changes a setting. */
  async lock(): Promise<void> {
    if (await this.#isLocked()) return;
    await this.writer.run("set enable_external_access=false");
    await this.writer.run("set lock_configuration=true");
  }

  /** A long read that holds nobody up; closing interrupts it. */
  async background(sql: string): Promise<void> {
    const connection = await this.#instance.connect();
    this.#background.add(connection);
    try {
      await connection.run(sql);
    } finally {
      this.#background.delete(connection);
      connection.closeSync();
    }
  }

  /** Another opening in this process has the instance and locked it. */
  async #isLocked(): Promise<boolean> {
    const [row] = await rowsOf(this.writer, "select current_setting('lock_configuration')");
    return row?.[0] === true;
  }

  /** Every connection, then the instance. Call it with nothing in flight. What is left uncommitted is dropped. */
  close(): void {
    for (const connection of this.#background) connection.interrupt();
    const parts = [this.#appender, this.reader, this.writer, this.#instance];
    this.#appender = null;
    const failures: unknown[] = [];
    for (const part of parts) {
      try {
        part?.closeSync();
      } catch (error) {
        failures.push(error);
      }
    }
    // An appender with rows of a failed commit cannot flush them and says so: that is what closing it is for.
    if (failures.length > 1) throw new AggregateError(failures, "The store did not close.");
  }
}

export async function rowsOf(connection: DuckDBConnection, sql: string, values?: DuckDBValue[]): Promise<DuckDBValue[][]> {
  const answer = await (values === undefined ? connection.runAndReadAll(sql) : connection.runAndReadAll(sql, values));
  return answer.getRows();
}
