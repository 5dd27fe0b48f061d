/** Calls and turns that left the tree stay readable for ten seconds, so that what was quick can still be seen. */
import type { ActorView } from "../protocol/actor-view.ts";

export const LINGER_MS = 10_000;

export class Departed {
  #known = new Map<string, ActorView>();
  readonly #gone = new Map<string, { actor: ActorView; at: number }>();

  /** Takes the newest tree in; gives all actors to draw and which of them are gone. */
  take(actors: readonly ActorView[], now: number): { actors: ActorView[]; gone: ReadonlySet<string> } {
    const fresh = new Map(actors.map((actor) => [actor.address, actor]));
    for (const [address, actor] of this.#known) {
      if (!fresh.has(address) && actor.kind === "call") this.#gone.set(address, { actor, at: now });
    }
    for (const [address, { at }] of this.#gone) if (fresh.has(address) || now - at > LINGER_MS) this.#gone.delete(address);
    this.#known = fresh;
    return { actors: [...actors, ...[...this.#gone.values()].map((entry) => entry.actor)], gone: new Set(this.#gone.keys()) };
  }

  get any(): boolean {
    return this.#gone.size > 0;
  }
}
