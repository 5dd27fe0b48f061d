/**
 * The last acknowledged commit, in a small file beside the store: what the log must hold when it is opened the next time. It
 * is how a WAL that lost its end is told from one that merely holds the torn beginning of a commit nobody was answered.
 *
 * Written after each commit, without a sync: it survives the death of the process, and after a power loss it may be older
 * than the log but never newer. Always 48 bytes in place, so that it needs no room on a full disk.
 */
import { closeSync, constants, fsyncSync, openSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { whenAbsent } from "./files.ts";

export interface MarkPlace {
  epoch: number;
  commit: number;
}

const LENGTH = 48;

export class Mark {
  readonly #file: string;
  readonly #descriptor: number;

  constructor(file: string) {
    this.#file = file;
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Throws when the disk refuses. */
  write({ epoch, commit }: MarkPlace): void {
    const written = writeSync(this.#descriptor, `epoch ${epoch} commit ${commit}`.padEnd(LENGTH - 1) + "\n", 0, "latin1");
    if (written !== LENGTH) throw new Error(`${this.#file} took ${written} of ${LENGTH} bytes.`);
  }

  sync(): void {
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Null: there is none, or it cannot be read as one. */
export async function readMark(file: string): Promise<MarkPlace | null> {
  const text = await readFile(file, "latin1").catch(whenAbsent(""));
  const found = /^epoch (\d{1,15}) commit (\d{1,15}) *\n$/.exec(text);
  return found === null ? null : { epoch: Number(found[1]), commit: Number(found[2]) };
}
