/** Chance from a seed: the same seed gives the same draws, on every machine. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: string | number) {
    const mixed = mix(String(seed));
    [this.#a, this.#b] = mixed;
    this.#c = mixed[0] ^ 0x9e3779b9;
    this.#d = 1;
    for (let warm = 0; warm < 12; warm += 1) this.next();
  }

  /** From 0 up to, but not, 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)] as Item;
  }

  /** By weight: `[3, "a"], [1, "b"]` gives "a" three times out of four. */
  weighted<Item>(items: readonly (readonly [number, Item])[]): Item {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    return (items.at(-1) as readonly [number, Item])[1];
  }
}

/** A running hash of texts, 64 bits, to compare journals. Not for secrets. */
export class Fingerprint {
  #high = 0x811c9dc5;
  #low = 0x1b873593;

  add(text: string): this {
    let high = this.#high;
    let low = this.#low;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      high = Math.imul(high ^ code, 0x01000193);
      low = Math.imul(low ^ code, 0x5bd1e995) ^ (low >>> 15);
    }
    this.#high = Math.imul(high ^ 0xff, 0x01000193);
    this.#low = Math.imul(low ^ 0xff, 0x5bd1e995);
    return this;
  }

  toString(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

function mix(text: string): [number, number] {
  const print = new Fingerprint().add(text).toString();
  return [Number.parseInt(print.slice(0, 8), 16) | 0, Number.parseInt(print.slice(8), 16) | 0];
}
