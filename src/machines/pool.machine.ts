/**
 * A pool of slots: `cap` may work at once, the rest wait in line (design §6). It watches who holds one, so nothing leaks when a
 * holder goes, and used + free = cap after every step.
 *
 * Who asks with `slot.take` is answered when it has a slot; it gives it back with `slot.give`, by ending, or takes its question back.
 * - In order within a session, sessions in turn; those that come back from waiting for others alternate with new ones.
 * - From a cap of 2 on the last free slot is kept for the top level.
 */
import { assign, setup } from "xstate";
import { effects, type Effect } from "../protocol/effects.ts";
import type { Address, Token } from "../protocol/ids.ts";
import type { Delivered, DownEvent, ResumedEvent, WithdrawnEvent } from "../protocol/kernel-events.ts";
import { Parts } from "../protocol/parts.ts";
import { type Decision, decide } from "./decide.ts";

type Holder = { since: number };
type Waiter = { n: number; address: Address; session: string; returning: boolean; top: boolean; since: number };

export interface PoolContext {
  address: Address;
  cap: number;
  holders: Parts<Holder>;
  /** By token of the question. */
  waiters: Parts<Waiter>;
  next: number;
  /** Whether the last slot went to one that came back. */
  lastReturning: boolean;
  /** When each session that waits last got a slot, as a count. */
  served: { [session: string]: number };
}

type Take = Delivered & { type: "slot.take"; token: Token; session: string; returning: boolean; top: boolean };
type PoolEvent =
  | Take
  | (Delivered & { type: "slot.give"; from: Address })
  | (Delivered & { type: "slot.cap"; cap: number })
  | WithdrawnEvent
  | DownEvent
  | ResumedEvent;

export const freeSlots = ({ cap, holders }: PoolContext): number => Math.max(0, cap - holders.size);

/** For the wait graph: with something free nobody is waited for. */
export const slotHolders = (context: PoolContext): Address[] =>
  freeSlots(context) > 0 ? [] : [...context.holders.entries()].map(([address]) => address as Address);

export const poolMachine = setup({
  types: {} as { context: PoolContext; events: PoolEvent; input: { address: Address; cap: number } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    address: input.address,
    cap: input.cap,
    holders: Parts.empty<Holder>(),
    waiters: Parts.empty<Waiter>(),
    next: 1,
    lastReturning: false,
    served: {},
  }),
  initial: "serving",
  states: {
    serving: {
      on: {
        "slot.take": { actions: decide(take) },
        "slot.give": { actions: decide<PoolContext, { from: Address; at: number }>((context, { from, at }) => leave(context, from, at)) },
        down: { actions: decide<PoolContext, DownEvent>((context, { address, at }) => leave(context, address, at)) },
        withdrawn: {
          actions: decide<PoolContext, WithdrawnEvent>((context, event) => ({ set: { waiters: context.waiters.drop(event.of) } })),
        },
        "slot.cap": {
          actions: [
            assign({ cap: ({ event }) => event.cap }),
            decide<PoolContext, { at: number; token?: Token }>((context, { at, token }) => {
              const { set, effects: granted = [] } = grant(context, at);
              return {
                ...(set ? { set } : {}),
                effects: token === undefined ? granted : [...granted, { type: "reply", params: { token, value: { cap: context.cap } } }],
              };
            }),
          ],
        },
        // A dropped `slot.give` or `down` comes again: a watch on what is gone answers at once, and a holder knows whether it holds.
        resumed: {
          actions: decide<PoolContext, ResumedEvent>((context) => ({
            effects: [...context.holders.entries()].flatMap(([holder]): Effect[] => [
              { type: "watch", params: { address: holder as Address } },
              { type: "send", params: { to: holder as Address, event: { type: "slot.still", pool: context.address } } },
            ]),
          })),
        },
      },
    },
  },
});

function take(context: PoolContext, event: Take): Decision<PoolContext> {
  const { from } = event;
  if (from === "door" || from === "kernel") {
    const message = "A slot is held by an actor: a door could not give it back.";
    return { effects: [{ type: "refuse", params: { token: event.token, code: "REQUEST_INVALID", message } }] };
  }
  const waiter: Waiter = {
    n: context.next,
    address: from,
    session: event.session,
    returning: event.returning,
    top: event.top,
    since: event.at,
  };
  // Asked again by one that holds already: it has what it wants.
  if (context.holders.has(from)) return { effects: [granted(event.token)] };
  return grant({ ...context, waiters: context.waiters.put(event.token, waiter), next: context.next + 1 }, event.at);
}

function leave(context: PoolContext, address: Address, at: number): Decision<PoolContext> {
  if (!context.holders.has(address)) return {};
  const { set, effects: more = [] } = grant({ ...context, holders: context.holders.drop(address) }, at);
  return { ...(set ? { set } : {}), effects: [{ type: "unwatch", params: { address } }, ...more] };
}

/** Gives out what is free; the fields of `before` that a caller changed are kept. */
function grant(before: PoolContext, at: number): Decision<PoolContext> {
  let { holders, waiters, next, lastReturning } = before;
  const served = { ...before.served };
  const wanted: Effect[] = [];
  for (let free = before.cap - holders.size; free > 0; free -= 1) {
    const reserved = before.cap >= 2 && free === 1;
    const candidates = [...waiters.entries()].filter(([, { top }]) => top || !reserved);
    const found = choose(candidates, lastReturning, served);
    if (!found) break;
    const [token, { address, session, returning }] = found;
    waiters = waiters.drop(token);
    holders = holders.put(address, { since: at });
    lastReturning = returning;
    served[session] = next;
    next += 1;
    wanted.push({ type: "watch", params: { address } }, granted(token as Token));
  }
  const waiting = new Set([...waiters.entries()].map(([, { session }]) => session));
  for (const session of Object.keys(served)) if (!waiting.has(session)) delete served[session];
  return { set: { holders, waiters, next, lastReturning, served }, effects: wanted };
}

function choose(
  candidates: [string, Waiter][],
  lastReturning: boolean,
  served: { [session: string]: number },
): [string, Waiter] | undefined {
  const lane = candidates.filter(([, { returning }]) => returning !== lastReturning);
  const order = (lane.length > 0 ? lane : candidates).sort(
    ([, a], [, b]) => (served[a.session] ?? 0) - (served[b.session] ?? 0) || a.n - b.n,
  );
  return order[0];
}

function granted(token: Token): Effect {
  return { type: "reply", params: { token, value: { slot: true } } };
}
