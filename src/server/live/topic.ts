/**
 * One watched topic: a view, the fold that changes it, a number for each frame, a ring of the last ones, who watches.
 * 1. A frame is folded into the view before it gets its number. 2. Numbers grow by one and are not used again within an epoch.
 * 3. A snapshot is the view and stands for everything up to its number. 4. A watcher that falls behind gets a snapshot.
 */
import { Ring } from "./ring.ts";

export interface Watcher {
  /** Takes one text frame. False: it cannot keep up, and gets a snapshot of this topic when it can again. */
  take(topic: string, text: string): boolean;
}

export class Topic<View, Frame extends { type: string; data: unknown }> {
  readonly name: string;
  readonly #epoch: number;
  readonly #fold: (view: View, frame: Frame, at: number) => View;
  readonly #show: (view: View) => unknown;
  readonly #ring = new Ring();
  readonly #watchers = new Set<Watcher>();
  #view: View;
  #n: number;

  /** `from`: the last number of an earlier life of this topic, 0 when there was none. `show`: what a snapshot holds. */
  constructor(options: {
    name: string;
    epoch: number;
    from: number;
    view: View;
    fold: (view: View, frame: Frame, at: number) => View;
    show?: (view: View) => unknown;
  }) {
    this.name = options.name;
    this.#epoch = options.epoch;
    this.#n = options.from;
    this.#view = options.view;
    this.#fold = options.fold;
    this.#show = options.show ?? ((view) => view);
  }

  get view(): View {
    return this.#view;
  }
  get number(): number {
    return this.#n;
  }
  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  publish(frame: Frame, at: number): void {
    this.#view = this.#fold(this.#view, frame, at);
    this.#n += 1;
    const text = JSON.stringify({ topic: this.name, seq: `${this.#epoch}.${this.#n}`, at, type: frame.type, data: frame.data });
    this.#ring.add({ n: this.#n, text });
    for (const watcher of this.#watchers) watcher.take(this.name, text);
  }

  /** A view with less in it that shows the same: old rows let go. */
  trim(change: (view: View) => View): void {
    this.#view = change(this.#view);
  }

  snapshot(at: number): string {
    return JSON.stringify({ topic: this.name, seq: `${this.#epoch}.${this.#n}`, at, type: "snapshot", data: this.#show(this.#view) });
  }

  /** From `since` on when all of it is kept, else a snapshot. Watching again is a fresh start for the same watcher. */
  watch(watcher: Watcher, since: string | undefined, at: number): void {
    this.#watchers.add(watcher);
    const missed = since === undefined ? null : this.#missed(since);
    if (missed === null) watcher.take(this.name, this.snapshot(at));
    else for (const { text } of missed) if (!watcher.take(this.name, text)) break;
  }

  unwatch(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  watchers(): Watcher[] {
    return [...this.#watchers];
  }

  #missed(since: string): { text: string }[] | null {
    const match = /^(\d+)\.(\d+)$/.exec(since);
    if (!match || match[1] !== String(this.#epoch)) return null;
    return this.#ring.after(Number(match[2]), this.#n);
  }
}
