/** When to checkpoint: at 8 MB of WAL, or when nothing was written for a second. Counts bytes, owns one timer. */

/** Commits wait 3 to 17 ms per MB of a checkpoint. */
export const WAL_LIMIT = 8 * 1024 * 1024;
const QUIET_MS = 1_000;
/** Less than this is replayed faster than it is worth checkpointing. */
const QUIET_BYTES = 64 * 1024;

export class Checkpoints {
  readonly #run: () => void;
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `run` is asked for a checkpoint soon; it calls `done` when one happened. Never called synchronously. */
  constructor(run: () => void) {
    this.#run = run;
  }

  /** After each commit, with about how many bytes it added. */
  wrote(bytes: number): void {
    this.#bytes += bytes;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#bytes < QUIET_BYTES) return;
    this.#timer = setTimeout(this.#run, this.#bytes >= WAL_LIMIT ? 0 : QUIET_MS);
    this.#timer.unref();
  }

  get due(): boolean {
    return this.#bytes >= WAL_LIMIT;
  }

  done(): void {
    this.#bytes = 0;
    this.stop();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
