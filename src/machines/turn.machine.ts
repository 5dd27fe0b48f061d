/**
 * One turn: preparing → calling → tools → calling … → an end. A round is committed when the model's message is complete, tool
 * results one by one. It writes the rows of what happened; the last word (`turn_end`) is its session's.
 *
 * A stop needs no state here: below a fence the turn still hears the outcome of its request and the `down` of its calls, and
 * records what was on the screen.
 */
import { assign, setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import { Parts } from "../protocol/parts.ts";
import { NO_USAGE } from "../protocol/usage.ts";
import { decide } from "./decide.ts";
import * as calls from "./turn-calls.ts";
import * as rounds from "./turn-rounds.ts";
import type { OpenCall, PendingSteer, StreamedBlock, TurnContext, TurnEnd, TurnEvent } from "./turn-types.ts";

interface TurnInput extends Pick<TurnContext, "agent" | "session" | "sessionAddress" | "address" | "turnId" | "origin" | "cwd"> {
  model: string | null;
  at: number;
}

export const turnMachine = setup({
  types: {} as { context: TurnContext; events: TurnEvent; input: TurnInput; output: TurnEnd },
  actions: effects,
  delays: { retry: ({ context }) => context.waitMs },
  guards: {
    repeatRound: ({ context, event }) => event.type === "engine.done" && rounds.mayRepeat(context, event),
    wantsTools: ({ context, event }) => event.type === "engine.done" && rounds.wantsTools(context, event),
    mayRetry: ({ context, event }) => event.type === "engine.failed" && rounds.mayRetry(context, event),
    allCallsDone: ({ context }) => context.stoppingSince === null && context.calls.find((call) => call.state !== "done") === undefined,
    callsGivenUp: ({ context }) =>
      context.stoppingSince === null && context.verdict !== null && context.calls.find((call) => call.state !== "done") === undefined,
    engineGone: ({ event }) => event.type === "resumed" && !event.pending.includes("engine"),
    prepareGone: ({ event }) => event.type === "resumed" && !event.pending.includes("prepare"),
    retryGone: ({ event }) => event.type === "resumed" && !event.timers.some((id) => id.startsWith("xstate.after.retry.")),
    mayNotResume: ({ context, event }) => event.type === "resumed" && event.cause === "restart" && context.prepared?.resume === false,
  },
}).createMachine({
  context: ({ input }) => ({
    agent: input.agent,
    session: input.session,
    sessionAddress: input.sessionAddress,
    address: input.address,
    turnId: input.turnId,
    origin: input.origin,
    cwd: input.cwd,
    modelWanted: input.model,
    prepared: null,
    startedAt: input.at,
    attempt: 1,
    round: 0,
    repeats: 0,
    retries: 0,
    waitMs: 0,
    callsUsed: 0,
    forced: null,
    warned: false,
    requests: 0,
    usage: NO_USAGE,
    costUsd: 0,
    costUnknown: false,
    filesWritten: [],
    processes: 0,
    applied: [],
    verdict: null,
    stoppingSince: null,
    steers: Parts.empty<PendingSteer>(),
    blocks: Parts.empty<StreamedBlock>(),
    calls: Parts.empty<OpenCall>(),
  }),
  initial: "preparing",
  output: ({ context }) => rounds.endOf(context),
  on: {
    steer: { actions: decide(rounds.steerArrived) },
    "steer.withdraw": { actions: decide(rounds.steerWithdraw) },
    "text.stored": { actions: decide(rounds.storeStreamed) },
    "engine.aborted": { actions: decide(rounds.keepPartial) },
    down: { actions: decide(calls.callDown) },
    stop: { actions: assign({ stoppingSince: ({ context, event }) => context.stoppingSince ?? event.at }) },
    resumed: { actions: decide(calls.lookAgain) },
  },
  states: {
    preparing: {
      entry: {
        type: "perform",
        params: ({ context }) => ({
          name: "prepare",
          driver: "prepare",
          request: { agent: context.agent, session: context.session, turnId: context.turnId, cwd: context.cwd, model: context.modelWanted },
          repeatable: true,
        }),
      },
      on: {
        "prepare.done": { target: "calling", actions: decide(rounds.prepared) },
        "prepare.failed": { target: "failed", actions: decide(rounds.failedBy) },
        resumed: [
          { guard: "prepareGone", target: "preparing", reenter: true, actions: decide(calls.lookAgain) },
          { actions: decide(calls.lookAgain) },
        ],
      },
    },
    calling: {
      entry: decide(rounds.askModel),
      on: {
        "engine.done": [
          { guard: "repeatRound", target: "calling", reenter: true, actions: decide(rounds.repeatSilently) },
          { guard: "wantsTools", target: "tools", actions: decide(rounds.recordRound) },
          { target: "settling", actions: decide(rounds.recordLast) },
        ],
        "engine.failed": [
          { guard: "mayRetry", target: "waiting", actions: decide(rounds.planRetry) },
          { target: "settling", actions: decide(rounds.recordFailure) },
        ],
        resumed: [
          { guard: "mayNotResume", target: "settling", actions: decide(rounds.refuseResume) },
          { guard: "engineGone", target: "calling", reenter: true, actions: [decide(rounds.nextAttempt), decide(calls.lookAgain)] },
          { actions: [decide(rounds.sameAttempt), decide(calls.lookAgain)] },
        ],
      },
    },
    waiting: {
      after: { retry: "calling" },
      // The timer's own event may be what a crash swallowed: then there is nothing to wait for any more.
      on: {
        resumed: [
          { guard: "mayNotResume", target: "settling", actions: decide(rounds.refuseResume) },
          { guard: "retryGone", target: "calling", actions: decide(calls.lookAgain) },
          { actions: decide(calls.lookAgain) },
        ],
      },
    },
    tools: {
      entry: decide(calls.startCalls),
      always: [
        { guard: "callsGivenUp", target: "settling" },
        { guard: "allCallsDone", target: "calling" },
      ],
      on: {
        down: { actions: decide(calls.callDown) },
        resumed: [{ guard: "mayNotResume", actions: decide(calls.refuseResume) }, { actions: decide(calls.lookAgain) }],
      },
    },
    settling: { always: "ended" },
    ended: { type: "final" },
    failed: { type: "final" },
  },
});
