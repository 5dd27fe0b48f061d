/**
 * Virtual time and the seeded scheduler: everything that happens in a world is an entry here, and they happen one after the other.
 * Of those due at one moment chance says which comes first, so that what arrives in the kernel's inbox has no fixed order.
 */
import type { Calendar, Clock, Scheduler } from "../ports/clock.port.ts";
import { Random } from "./random.ts";

interface Entry {
  at: number;
  tie: number;
  run: () => void;
  cancelled: boolean;
}

/** What one run of the server has of it; everything of a run that died is dropped. */
export interface LifeTime extends Clock, Calendar, Scheduler {
  end(): void;
}

const START = 1_700_000_000_000;
const DAY = 86_400_000;
/** Promise hops within the kernel are few; whatever needs more goes on after the next entry, in every run alike. */
const HOPS = 12;
const settled = Promise.resolve();

export class Timeline {
  readonly random: Random;
  readonly #heap: Entry[] = [];
  #now = START;
  ran = 0;

  constructor(seed: string) {
    this.random = new Random(`${seed} timeline`);
  }

  get now(): number {
    return this.#now;
  }

  /** Milliseconds since the beginning. */
  get passed(): number {
    return this.#now - START;
  }

  at(when: number, run: () => void): () => void {
    const entry: Entry = { at: Math.max(when, this.#now), tie: this.random.next(), run, cancelled: false };
    push(this.#heap, entry);
    return () => {
      entry.cancelled = true;
    };
  }

  after(ms: number, run: () => void): () => void {
    return this.at(this.#now + ms, run);
  }

  /** Lets everything happen up to `until`, at most `limit` entries; false when there was more. */
  async run(until: number, limit: number): Promise<boolean> {
    for (let left = limit; left > 0; left -= 1) {
      for (;;) {
        const first = this.#heap[0];
        if (!first) return true;
        if (!first.cancelled) break;
        pop(this.#heap);
      }
      if ((this.#heap[0] as Entry).at > until) {
        this.#now = until;
        return true;
      }
      const entry = pop(this.#heap);
      this.#now = entry.at;
      this.ran += 1;
      entry.run();
      for (let hop = 0; hop < HOPS; hop += 1) await settled;
    }
    return false;
  }

  /** Clock and scheduler of one run of the server. `hurry`: rounds are never cut short. */
  life(cutShort: number): LifeTime {
    let alive = true;
    return {
      now: () => this.#now,
      monotonic: () => this.#now - START,
      day: (at) => `day ${Math.floor(at / DAY)}`,
      setTimer: (ms, callback) => this.after(ms, () => (alive ? callback() : undefined)),
      soon: (work) => {
        this.after(this.random.chance(0.6) ? 0 : this.random.whole(1, 3), () => (alive ? work() : undefined));
      },
      askEvery: 1,
      sliceOver: () => this.random.chance(cutShort),
      end: () => {
        alive = false;
      },
    };
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie);
}

function push(heap: Entry[], entry: Entry): void {
  heap.push(entry);
  for (let at = heap.length - 1; at > 0;) {
    const above = (at - 1) >> 1;
    if (!before(heap[at] as Entry, heap[above] as Entry)) break;
    [heap[at], heap[above]] = [heap[above] as Entry, heap[at] as Entry];
    at = above;
  }
}

function pop(heap: Entry[]): Entry {
  const first = heap[0] as Entry;
  const last = heap.pop() as Entry;
  if (heap.length === 0) return first;
  heap[0] = last;
  for (let at = 0; ;) {
    let least = at;
    for (const below of [at * 2 + 1, at * 2 + 2])
      if (below < heap.length && before(heap[below] as Entry, heap[least] as Entry)) least = below;
    if (least === at) return first;
    [heap[at], heap[least]] = [heap[least] as Entry, heap[at] as Entry];
    at = least;
  }
}
