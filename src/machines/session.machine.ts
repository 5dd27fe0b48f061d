/**
 * A conversation: one queue for every origin, one turn at a time, in arrival order (P2). It writes the last word about each
 * turn (`turn_end`), from the turn's `down`, so that every accepted message ends exactly once (P1).
 *
 * Collections: `queue` waits, `steers` are on their way into the running turn, `turns` are all others by id (running or over),
 * `keys` are the client keys with the answer they got.
 */
import { setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import type { Address } from "../protocol/ids.ts";
import { Parts } from "../protocol/parts.ts";
import { decide } from "./decide.ts";
import * as intake from "./session-intake.ts";
import * as turns from "./session-turns.ts";
import type { KeyEntry, QueueItem, SessionContext, SessionEvent, SteerItem, TurnItem } from "./session-types.ts";

export const sessionMachine = setup({
  types: {} as {
    context: SessionContext;
    events: SessionEvent;
    input: { agent: string; session: string; cwd: string | null; createdAt: number; address: Address };
  },
  actions: effects,
  guards: {
    mayStart: ({ context }) => !context.held && context.queue.size > 0,
    isRunningTurn: ({ context, event }) =>
      event.type === "down" && context.running !== null && event.address.endsWith(`/turns/${context.running}`),
  },
}).createMachine({
  context: ({ input }) => ({
    agent: input.agent,
    session: input.session,
    address: input.address,
    cwd: input.cwd,
    createdAt: input.createdAt,
    lastAt: input.createdAt,
    title: null,
    model: null,
    held: false,
    order: 0,
    running: null,
    lastEnd: null,
    doorCalls: Parts.empty<{ token: string }>(),
    queue: Parts.empty<QueueItem>(),
    steers: Parts.empty<SteerItem>(),
    turns: Parts.empty<TurnItem>(),
    keys: Parts.empty<KeyEntry>(),
  }),
  initial: "idle",
  on: {
    send: { actions: decide(intake.send) },
    "queue.takeBack": { actions: decide(intake.takeBack) },
    "queue.steer": { actions: decide(intake.steerQueued) },
    "queue.hold": { actions: decide(intake.hold) },
    "session.patch": { actions: decide(intake.patch) },
    "tool.call": { actions: decide(turns.doorCall) },
    "steer.applied": { actions: decide(turns.steerApplied) },
    "steer.withdrawn": { actions: decide(turns.steerWithdrawn) },
    "steer.again": { actions: decide(turns.steersAgain) },
    stopped: { actions: decide(turns.scopeStopped) },
    resumed: { actions: decide(turns.lookAgain) },
    down: { actions: decide(turns.doorCallDown) },
  },
  states: {
    idle: { always: { guard: "mayStart", target: "running" } },
    running: {
      entry: decide(turns.startNext),
      on: { down: [{ guard: "isRunningTurn", target: "idle", actions: decide(turns.turnEnded) }, { actions: decide(turns.doorCallDown) }] },
    },
  },
});
