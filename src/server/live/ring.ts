/** The last frames of a topic as they were sent: at most 2,000 of them and 1 MB. */
export interface Kept {
  n: number;
  text: string;
}

const MOST_FRAMES = 2_000;
const MOST_BYTES = 1_048_576;

export class Ring {
  #frames: Kept[] = [];
  #bytes = 0;

  add(frame: Kept): void {
    this.#frames.push(frame);
    this.#bytes += Buffer.byteLength(frame.text);
    let drop = 0;
    while (this.#frames.length - drop > MOST_FRAMES || (this.#bytes > MOST_BYTES && drop < this.#frames.length)) {
      this.#bytes -= Buffer.byteLength((this.#frames[drop] as Kept).text);
      drop += 1;
    }
    if (drop > 0) this.#frames = this.#frames.slice(drop);
  }

  /** Everything after number `n`, when all of it is still here; else null. `newest` is the topic's last number. */
  after(n: number, newest: number): Kept[] | null {
    if (!Number.isSafeInteger(n) || n < 0 || n > newest) return null;
    if (n === newest) return [];
    const first = this.#frames[0];
    if (first === undefined || first.n > n + 1) return null;
    return this.#frames.slice(n + 1 - first.n);
  }
}
