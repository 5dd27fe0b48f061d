/**
 * A job below a worker: goes through a script of a few steps. It takes its slots before it acts and gives them back before it waits
 * for others (design §6), so that the rules of waits and slots are walked by somebody until sub-agents do.
 */
import { assign, setup } from "xstate";
import { decide, type Decision } from "../../machines/decide.ts";
import { effects, type Effect } from "../../protocol/effects.ts";
import { type Address, childOf } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type {
  AnsweredEvent,
  Delivered,
  DownEvent,
  OutcomeFields,
  RefusedEvent,
  ResumedEvent,
  UnansweredEvent,
} from "../../protocol/kernel-events.ts";

export type JobStep =
  | { do: "act"; pools: Address[]; repeatable: boolean; patience: number | null }
  | { do: "ask"; to: Address; script: JobStep[]; blocks: boolean; patience: number | null }
  | { do: "wait"; on: Address; patience: number }
  | { do: "nap"; ms: number }
  | { do: "look"; at: Address }
  | { do: "tell"; to: Address; words: number };

export interface JobContext {
  address: Address;
  worker: Address;
  birth: string;
  script: JobStep[];
  at: number;
  top: boolean;
  /** Slots it has, in the order it took them. */
  held: Address[];
  returning: boolean;
  /** For names that never come twice. */
  count: number;
  /** The name of the question or wait that stands. */
  waiting: string | null;
  aborted: boolean;
  results: string[];
}

type Outcome = OutcomeFields & { type: "act.done" | "act.failed" | "act.aborted" | "act.interrupted" };
type JobEvent =
  | Outcome
  | (Delivered & { type: "alarm"; nonce: string; what: string })
  | (Delivered & { type: "slot.still"; pool: Address })
  | AnsweredEvent
  | RefusedEvent
  | UnansweredEvent
  | DownEvent
  | ResumedEvent;

const AGAIN_MS = 400;

const stepOf = (context: JobContext): JobStep | undefined => context.script[context.at];
const isStep =
  (kind: JobStep["do"]) =>
  ({ context }: { context: JobContext }): boolean =>
    stepOf(context)?.do === kind;
const poolsOf = (context: JobContext): Address[] => {
  const step = stepOf(context);
  return step?.do === "act" ? step.pools : [];
};
const wantsSlot = (context: JobContext): boolean => poolsOf(context).length > context.held.length;

const timer = (context: JobContext, id: string, after: number): Effect => ({
  type: "timer.set",
  params: { id, event: { type: "alarm", nonce: `${context.birth} ${context.count}`, what: id }, after },
});
const give = (pool: Address): Effect => ({ type: "send", params: { to: pool, event: { type: "slot.give" } } });

/** On to the next step with what came of this one; what is held stays, the next step may want it. */
function next(context: JobContext, result: string): Decision<JobContext> {
  return {
    set: { at: context.at + 1, results: [...context.results, result], waiting: null, aborted: false },
    effects: [
      { type: "timer.cancel", params: { id: "patience" } },
      { type: "timer.cancel", params: { id: "again" } },
    ],
  };
}

function take(context: JobContext): Decision<JobContext> {
  const name = `slot${context.count}`;
  return {
    set: { count: context.count + 1, waiting: name },
    effects: [
      {
        type: "ask",
        params: {
          name,
          to: poolsOf(context)[context.held.length] as Address,
          event: { type: "slot.take", session: context.worker, returning: context.returning, top: context.top },
          why: "a slot",
        },
      },
    ],
  };
}

function act(context: JobContext): Decision<JobContext> {
  const step = stepOf(context) as JobStep & { do: "act" };
  return {
    set: { count: context.count + 1, aborted: false },
    effects: [
      {
        type: "perform",
        params: { name: "act", driver: "act", request: { of: context.address, step: context.at }, repeatable: step.repeatable },
      },
      ...(step.patience === null ? [] : [timer(context, "patience", step.patience)]),
    ],
  };
}

/** Before it waits for others it gives back what it has (P5). */
function ask(context: JobContext): Decision<JobContext> {
  const step = stepOf(context) as JobStep & { do: "ask" };
  const name = `question${context.count}`;
  return {
    set: { count: context.count + 1, waiting: name, held: [], returning: true },
    effects: [
      ...[...context.held].reverse().map(give),
      {
        type: "ask",
        params: {
          name,
          to: step.to,
          event: { type: "question", script: step.script as unknown as JsonObject[] },
          why: "an answer",
          ...(step.blocks ? {} : { on: null }),
        },
      },
      ...(step.patience === null ? [] : [timer(context, "patience", step.patience)]),
    ],
  };
}

function wait(context: JobContext): Decision<JobContext> {
  const step = stepOf(context) as JobStep & { do: "wait" };
  const name = `wait${context.count}`;
  return {
    set: { count: context.count + 1, waiting: name, held: [], returning: true },
    effects: [
      ...[...context.held].reverse().map(give),
      { type: "wait", params: { name, on: step.on, why: "its end" } },
      timer(context, "patience", step.patience),
    ],
  };
}

function tell(context: JobContext): Decision<JobContext> {
  const step = stepOf(context) as JobStep & { do: "tell" };
  return {
    set: { at: context.at + 1, results: [...context.results, "told"] },
    effects: Array.from({ length: step.words }, (_, word) => ({
      type: "send" as const,
      params: { to: step.to, event: { type: "note", word } },
    })),
  };
}

/** It gives up: takes its question back. */
function giveUp(context: JobContext): Decision<JobContext> {
  const on = next(context, "gave up");
  if (context.waiting === null) return on;
  return { ...on, effects: [{ type: "unwait", params: { name: context.waiting } }, ...(on.effects ?? [])] };
}

function stillMine(context: JobContext, { pool }: { pool: Address }): Decision<JobContext> {
  const wanted = context.waiting?.startsWith("slot") === true && poolsOf(context)[context.held.length] === pool;
  return context.held.includes(pool) || wanted ? {} : { effects: [give(pool)] };
}

const ended = (word: string) => decide<JobContext, { name: string }>((context) => next(context, word));
const isMine = ({ context, event }: { context: JobContext; event: { type: string } }): boolean =>
  (event as unknown as { name?: string }).name === context.waiting;
const isPatience = ({ event }: { event: JobEvent }): boolean => event.type === "alarm" && event.what === "patience";
const waitGone = ({ context, event }: { context: JobContext; event: JobEvent }): boolean =>
  event.type === "resumed" && (context.waiting === null || !event.waits.includes(context.waiting));

export const jobMachine = setup({
  types: {} as {
    context: JobContext;
    events: JobEvent;
    input: { address: Address; birth: string; worker: Address; script: JobStep[]; top: boolean };
    output: Json;
  },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    address: input.address,
    worker: input.worker,
    birth: input.birth,
    script: input.script,
    at: 0,
    top: input.top,
    held: [],
    returning: false,
    count: 0,
    waiting: null,
    aborted: false,
    results: [],
  }),
  initial: "choosing",
  output: ({ context }) => ({ results: context.results }),
  on: { "slot.still": { actions: decide(stillMine) } },
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => isStep("act")({ context }) && wantsSlot(context), target: "taking" },
        { guard: isStep("act"), target: "acting" },
        { guard: isStep("ask"), target: "asking" },
        { guard: isStep("wait"), target: "waiting" },
        { guard: isStep("nap"), target: "napping" },
        { guard: isStep("look"), target: "looking" },
        { guard: isStep("tell"), target: "choosing", reenter: true, actions: decide(tell) },
        { target: "done" },
      ],
    },
    taking: {
      entry: decide(take),
      on: {
        answered: {
          guard: isMine,
          target: "choosing",
          actions: assign({ held: ({ context }) => poolsOf(context).slice(0, context.held.length + 1), waiting: null, returning: false }),
        },
        refused: { guard: isMine, target: "choosing", actions: ended("no slot") },
        unanswered: { guard: isMine, target: "again" },
        resumed: { guard: waitGone, target: "again" },
      },
    },
    again: {
      entry: decide<JobContext, JobEvent>((context) => ({
        set: { count: context.count + 1, waiting: null },
        effects: [timer(context, "again", AGAIN_MS)],
      })),
      on: {
        alarm: { target: "choosing" },
        resumed: { guard: ({ event }) => !event.timers.includes("again"), target: "choosing" },
      },
    },
    acting: {
      entry: decide(act),
      on: {
        "act.done": { target: "choosing", actions: ended("done") },
        "act.failed": { target: "choosing", actions: ended("failed") },
        "act.aborted": { target: "choosing", actions: ended("aborted") },
        "act.interrupted": { target: "choosing", actions: ended("interrupted") },
        alarm: { guard: isPatience, actions: [{ type: "abort", params: { name: "act" } }, assign({ aborted: true })] },
        resumed: [
          { guard: ({ event }) => !event.pending.includes("act"), target: "choosing", actions: ended("lost") },
          // The alarm itself may be what was dropped.
          {
            guard: ({ context, event }) =>
              (stepOf(context) as JobStep & { do: "act" }).patience !== null && !context.aborted && !event.timers.includes("patience"),
            actions: [{ type: "abort", params: { name: "act" } }, assign({ aborted: true })],
          },
        ],
      },
    },
    asking: {
      entry: decide(ask),
      on: {
        answered: { guard: isMine, target: "choosing", actions: ended("answered") },
        refused: { guard: isMine, target: "choosing", actions: ended("refused") },
        unanswered: { guard: isMine, target: "choosing", actions: ended("unanswered") },
        alarm: { guard: isPatience, target: "choosing", actions: decide(giveUp) },
        resumed: [{ guard: waitGone, target: "choosing", actions: ended("lost") }],
      },
    },
    waiting: {
      entry: decide(wait),
      on: {
        refused: { guard: isMine, target: "choosing", actions: ended("refused") },
        unanswered: { guard: isMine, target: "choosing", actions: ended("ended") },
        alarm: { guard: isPatience, target: "choosing", actions: decide(giveUp) },
        resumed: [
          { guard: waitGone, target: "choosing", actions: ended("lost") },
          { guard: ({ event }) => !event.timers.includes("patience"), target: "choosing", actions: decide(giveUp) },
        ],
      },
    },
    napping: {
      entry: decide<JobContext, JobEvent>((context) => ({
        set: { count: context.count + 1 },
        effects: [timer(context, "nap", (stepOf(context) as JobStep & { do: "nap" }).ms)],
      })),
      on: {
        alarm: { target: "choosing", actions: ended("slept") },
        resumed: { guard: ({ event }) => !event.timers.includes("nap"), target: "choosing", actions: ended("slept") },
      },
    },
    looking: {
      entry: { type: "watch", params: ({ context }) => ({ address: (stepOf(context) as JobStep & { do: "look" }).at }) },
      on: {
        down: { target: "choosing", actions: ended("gone") },
        // A watch on what is gone answers at once; one that stands already is left as it is.
        resumed: {
          actions: { type: "watch", params: ({ context }) => ({ address: (stepOf(context) as JobStep & { do: "look" }).at }) },
        },
      },
    },
    done: { type: "final" },
  },
});

export const jobAddress = (worker: Address, name: string): Address => childOf(worker, `jobs/${name}`);
