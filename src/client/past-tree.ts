/** The tree as it was: which moment is wanted, and the newest answer. One request runs at a time; what was asked meanwhile is skipped. */
import type { ActorView } from "../protocol/actor-view.ts";
import type { Api } from "./api.ts";
import { Store, type Notifier, type Readable } from "./store.ts";

export interface PastState {
  /** The moment that is looked at; null is now. */
  at: number | null;
  /** The tree of the moment last answered; it stays while another one is fetched. */
  shown: { at: number; actors: ActorView[] } | null;
  /** Why the wanted moment is not shown, in words. */
  refused: string | null;
}

const LIVE: PastState = { at: null, shown: null, refused: null };

export class PastTree {
  readonly #api: Pick<Api, "actorsAt">;
  readonly #store: Store<PastState>;
  #asking = false;

  constructor(api: Pick<Api, "actorsAt">, notifier: Notifier) {
    this.#api = api;
    this.#store = new Store(LIVE, notifier);
  }

  get state(): Readable<PastState> {
    return this.#store;
  }
  get at(): number | null {
    return this.#store.getSnapshot().at;
  }

  to(at: number): void {
    this.#store.update((state) => ({ ...state, at, refused: null }));
    void this.#ask();
  }

  live = (): void => this.#store.set(LIVE);

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    for (let at = this.#wanted(); at !== null; at = this.#wanted()) {
      const moment = at;
      const answer = await this.#api.actorsAt(moment).then(
        (actors) => ({ shown: { at: moment, actors } }),
        (error: unknown) => ({ refused: error instanceof Error ? error.message : String(error) }),
      );
      this.#store.update((state) => (state.at === null || ("refused" in answer && state.at !== moment) ? state : { ...state, ...answer }));
    }
    this.#asking = false;
  }

  #wanted(): number | null {
    const { at, shown, refused } = this.#store.getSnapshot();
    return refused === null && at !== shown?.at ? at : null;
  }
}
