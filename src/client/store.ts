/** The smallest store: a value, and listeners that are told through one batch. Fits React's `useSyncExternalStore`. */

/** Runs `flush` soon, once for many requests. Pages pass animation frames, tests and terminals a microtask. */
export type Batch = (flush: () => void) => void;

export interface Readable<Value> {
  getSnapshot(): Value;
  /** Gives the function that ends it. */
  subscribe(listener: () => void): () => void;
}

export class Store<Value> implements Readable<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();
  readonly #notifier: Notifier;

  constructor(value: Value, notifier: Notifier) {
    this.#value = value;
    this.#notifier = notifier;
  }

  readonly getSnapshot = (): Value => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  get watched(): boolean {
    return this.#listeners.size > 0;
  }

  /** The value is new at once; listeners hear of it with the next batch. */
  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.#notifier.changed(this.#listeners);
  }

  update(change: (value: Value) => Value): void {
    this.set(change(this.#value));
  }
}

/** The one place where updates are batched. */
export class Notifier {
  readonly #batch: Batch;
  readonly #waiting = new Set<ReadonlySet<() => void>>();

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  changed(listeners: ReadonlySet<() => void>): void {
    if (listeners.size === 0) return;
    this.#waiting.add(listeners);
    if (this.#waiting.size === 1) this.#batch(() => this.#flush());
  }

  #flush(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    for (const listeners of due) for (const listener of [...listeners]) listener();
  }
}
