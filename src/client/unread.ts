/** Which sessions hold something this browser has not shown yet: the newest row seen, per session. */
import { readJson } from "./outbox.ts";
import { Store, type Notifier, type Readable } from "./store.ts";
import type { Keep } from "./surroundings.ts";

const KEY = "somora.seen";
export type Seen = Readonly<Record<string, number>>;

export class Unread {
  readonly #keep: Keep;
  readonly #store: Store<Seen>;

  constructor(keep: Keep, notifier: Notifier) {
    this.#keep = keep;
    this.#store = new Store<Seen>(read(keep), notifier);
  }

  get seen(): Readable<Seen> {
    return this.#store;
  }

  mark(agent: string, session: string, newestSeq: number): void {
    const place = `${agent}/${session}`;
    if ((this.#store.getSnapshot()[place] ?? 0) >= newestSeq) return;
    this.#store.set({ ...read(this.#keep), [place]: newestSeq });
    try {
      this.#keep.setItem(KEY, JSON.stringify(this.#store.getSnapshot()));
    } catch {
      // storage is full or forbidden: the mark comes back after a reload
    }
  }

  reload(): void {
    this.#store.set(read(this.#keep));
  }
}

export function isUnread(seen: Seen, agent: string, session: { slug: string; newestSeq: number }): boolean {
  return session.newestSeq > (seen[`${agent}/${session.slug}`] ?? 0);
}

function read(keep: Keep): Seen {
  const stored = readJson(keep.getItem(KEY));
  return typeof stored === "object" && stored !== null && !Array.isArray(stored) ? (stored as Seen) : {};
}
