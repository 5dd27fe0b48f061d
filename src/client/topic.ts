/**
 * One topic of `/live` as a client holds it: the view, and the number it stands at. Every frame is applied once and in
 * order; a repeated one is dropped, a gap is answered by watching anew, another epoch by its snapshot.
 */
import type { Frame } from "../protocol/frames.ts";
import { seqNumber } from "../protocol/live-ops.ts";
import type { Notifier } from "./store.ts";
import { Store } from "./store.ts";

export interface TopicState<View> {
  /** Null until the first snapshot. */
  view: View | null;
  /** The newest frame in `view`. */
  seq: string | null;
  /** Server time of that frame. */
  asOf: number | null;
  /** Why the server does not give this topic. */
  refused: { code: string; message: string } | null;
}

export type Fold<View> = (view: View, frame: Frame) => View;
/** Takes a snapshot over what is held; the default replaces it. */
export type Take<View> = (snapshot: View, held: View | null) => View;
export type Received = "applied" | "repeated" | "gap";

export class Topic<View> {
  readonly name: string;
  readonly store: Store<TopicState<View>>;
  readonly #fold: Fold<View>;
  readonly #take: Take<View>;
  /** Between asking for a snapshot and getting it, other frames are part of what it will stand for. */
  #awaiting = true;

  constructor(name: string, fold: Fold<View>, notifier: Notifier, take: Take<View> = (snapshot) => snapshot) {
    this.name = name;
    this.#fold = fold;
    this.#take = take;
    this.store = new Store<TopicState<View>>({ view: null, seq: null, asOf: null, refused: null }, notifier);
  }

  get seq(): string | null {
    return this.store.getSnapshot().seq;
  }

  receive(frame: Frame): Received {
    const state = this.store.getSnapshot();
    const told = seqNumber(frame.seq);
    const held = state.seq === null ? null : seqNumber(state.seq);
    const sameEpoch = held !== null && held.epoch === told.epoch;
    if (frame.type === "snapshot") {
      if (sameEpoch && told.n < held.n) return "repeated";
      this.#awaiting = false;
      this.store.set({ view: this.#take(frame.data as View, state.view), seq: frame.seq, asOf: frame.at ?? state.asOf, refused: null });
      return "applied";
    }
    if (this.#awaiting) return "repeated";
    if (state.view === null || !sameEpoch) return "gap";
    if (told.n <= held.n) return "repeated";
    if (told.n > held.n + 1) return "gap";
    this.store.set({ view: this.#fold(state.view, frame), seq: frame.seq, asOf: frame.at, refused: null });
    return "applied";
  }

  /** What was seen can no longer be continued: the next watch asks for a snapshot. The view stays readable. */
  forget(): void {
    this.#awaiting = true;
    this.store.update((state) => ({ ...state, seq: null }));
  }

  /** There is no such topic, or no longer: nothing of it may be shown as if it were. One of the same name later begins anew. */
  refuse(error: { code: string; message: string }): void {
    this.#awaiting = true;
    this.store.update((state) => ({ ...state, view: null, seq: null, refused: error }));
  }

  /** A change of ours that no frame tells, such as older pages put in front. */
  revise(change: (view: View) => View): void {
    this.store.update((state) => (state.view === null ? state : { ...state, view: change(state.view) }));
  }
}
