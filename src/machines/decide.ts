/**
 * A decision: from context and event to the fields that change and the effects that are wanted. Charts read better when one
 * function holds what belongs together; XState gets it as one `enqueueActions`.
 */
import { enqueueActions } from "xstate";
import type { Effect } from "../protocol/effects.ts";

export interface Decision<Context> {
  set?: Partial<Context>;
  effects?: Effect[];
}

/** Inside one decision `context` does not move: collect in locals, give `set` once. */
export function decide<Context, Event>(decision: (context: Context, event: Event) => Decision<Context>): never {
  return enqueueActions(({ context, event, enqueue }: { context: unknown; event: unknown; enqueue: Enqueue }) => {
    const { set, effects } = decision(context as Context, event as Event);
    if (set) enqueue.assign(set);
    for (const effect of effects ?? []) enqueue(effect);
  }) as never;
}

interface Enqueue {
  (action: Effect): void;
  assign(set: object): void;
}
