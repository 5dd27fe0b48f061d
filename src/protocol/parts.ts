/**
 * Keyed collections inside a chart's context, such as queue entries. A `Parts` value is immutable: `put` and `drop` give a
 * new one over the same base with a small difference, which the kernel reads after the step and stores as one row per entry
 * (design §3.1). Guards see what an earlier `assign` of the same step put. Work per `put`, `drop`, `get` is constant.
 */
import type { Json } from "./json.ts";

/** Marks the difference that the kernel has not yet folded into the base. `null` stands for "gone". */
export type PartsChange<Value> = ReadonlyMap<string, Value | null>;

export class Parts<Value extends Json = Json> {
  readonly #base: Map<string, Value>;
  readonly #change: ReadonlyMap<string, Value | null>;

  private constructor(base: Map<string, Value>, change: ReadonlyMap<string, Value | null>) {
    this.#base = base;
    this.#change = change;
  }

  static empty<Value extends Json>(): Parts<Value> {
    return new Parts<Value>(new Map(), new Map());
  }

  static of<Value extends Json>(entries: Iterable<readonly [string, Value]>): Parts<Value> {
    return new Parts<Value>(new Map(entries), new Map());
  }

  get(key: string): Value | undefined {
    const changed = this.#change.get(key);
    if (changed !== undefined) return changed ?? undefined;
    return this.#change.has(key) ? undefined : this.#base.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get size(): number {
    let size = this.#base.size;
    for (const [key, value] of this.#change) size += (value === null ? 0 : 1) - (this.#base.has(key) ? 1 : 0);
    return size;
  }

  /** In no order that survives a restart: an entry that needs one carries its own number. */
  *entries(): IterableIterator<[string, Value]> {
    for (const [key, value] of this.#base) {
      const changed = this.#change.get(key);
      if (changed === undefined && !this.#change.has(key)) yield [key, value];
      else if (changed !== null && changed !== undefined) yield [key, changed];
    }
    for (const [key, value] of this.#change) if (value !== null && !this.#base.has(key)) yield [key, value];
  }

  find(test: (value: Value, key: string) => boolean): [string, Value] | undefined {
    for (const [key, value] of this.entries()) if (test(value, key)) return [key, value];
    return undefined;
  }

  filter(test: (value: Value, key: string) => boolean): [string, Value][] {
    return [...this.entries()].filter(([key, value]) => test(value, key));
  }

  put(key: string, value: Value): Parts<Value> {
    return new Parts(this.#base, new Map(this.#change).set(key, value));
  }

  /** Dropping what is not there changes nothing. */
  drop(key: string): Parts<Value> {
    return this.has(key) ? new Parts(this.#base, new Map(this.#change).set(key, null)) : this;
  }

  /** For the kernel: what changed since the last fold. */
  get change(): PartsChange<Value> {
    return this.#change;
  }

  /** For the kernel: writes the difference into the base, in place, and gives the clean value over it. Older values over the same base are void. */
  fold(): Parts<Value> {
    for (const [key, value] of this.#change) {
      if (value === null) this.#base.delete(key);
      else this.#base.set(key, value);
    }
    return new Parts(this.#base, new Map());
  }
}
