/** A line of work: takes jobs from persons and questions from other lines, and answers each when its job is down. */
import { assign, setup } from "xstate";
import { decide, type Decision } from "../../machines/decide.ts";
import { effects, type Effect } from "../../protocol/effects.ts";
import type { Address, Token } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Delivered, DownEvent, OutcomeFields, ResumedEvent, StoppedEvent, WithdrawnEvent } from "../../protocol/kernel-events.ts";
import { Parts } from "../../protocol/parts.ts";
import { jobAddress, type JobStep } from "./job.chart.ts";

type JobEntry = { token: string | null; key: string | null };

export interface WorkerContext {
  address: Address;
  jobs: Parts<JobEntry>;
  /** Keys of jobs that persons were told are taken, so that one said twice is done once. */
  keys: Parts<{ name: string }>;
  notes: number;
  acts: number;
}

type WorkerEvent =
  | (Delivered & { type: "job"; token: Token; name: string; key: string; script: JobStep[] })
  | (Delivered & { type: "question"; token: Token; script: JobStep[] })
  | (Delivered & { type: "own.act"; token: Token })
  | (Delivered & { type: "note"; word: number })
  | (OutcomeFields & { type: "own.done" | "own.failed" | "own.aborted" | "own.interrupted" })
  | WithdrawnEvent
  | DownEvent
  | ResumedEvent
  | StoppedEvent;

const spawn = (context: WorkerContext, name: string, script: JobStep[], top: boolean): Effect => ({
  type: "spawn",
  params: {
    name: `jobs/${name}`,
    chart: "job",
    spec: "job",
    input: { worker: context.address, script: script as unknown as JsonObject[], top },
    watch: true,
  },
});

function job(context: WorkerContext, event: WorkerEvent & { type: "job" }): Decision<WorkerContext> {
  const { token, name, key, script } = event;
  const known = context.keys.get(key);
  if (known) return { effects: [{ type: "reply", params: { token, value: { job: known.name } } }] };
  if (context.jobs.has(name))
    return { effects: [{ type: "refuse", params: { token, code: "TURN_STARTED", message: `A job ${name} runs already.` } }] };
  return {
    set: { jobs: context.jobs.put(name, { token: null, key }), keys: context.keys.put(key, { name }) },
    effects: [spawn(context, name, script, true), { type: "reply", params: { token, value: { job: name } } }],
  };
}

function question(context: WorkerContext, { id, token, script }: WorkerEvent & { type: "question" }): Decision<WorkerContext> {
  const name = `q${id.replaceAll(".", "-")}`;
  return { set: { jobs: context.jobs.put(name, { token, key: null }) }, effects: [spawn(context, name, script, false)] };
}

function ended(context: WorkerContext, { address, reason, output }: DownEvent): Decision<WorkerContext> {
  const name = address.slice(address.lastIndexOf("/") + 1);
  const entry = context.jobs.get(name);
  if (!entry || address !== jobAddress(context.address, name)) return {};
  return {
    set: { jobs: context.jobs.drop(name) },
    effects: [
      {
        type: "record",
        params: { kind: "notice", session: context.address, turnId: null, data: { kind: "job_end", key: entry.key, reason: reason.kind } },
      },
      ...(entry.token === null
        ? []
        : [{ type: "reply", params: { token: entry.token as Token, value: { reason: reason.kind, output } } } satisfies Effect]),
    ],
  };
}

function withdrawn(context: WorkerContext, { of }: WithdrawnEvent): Decision<WorkerContext> {
  const found = context.jobs.find(({ token }) => token === of);
  if (!found) return {};
  const [name, entry] = found;
  return {
    set: { jobs: context.jobs.put(name, { ...entry, token: null }) },
    effects: [
      { type: "stop", params: { address: jobAddress(context.address, name), reason: { by: "agent", note: "nobody asks any more" } } },
    ],
  };
}

export const workerMachine = setup({
  types: {} as { context: WorkerContext; events: WorkerEvent; input: { address: Address } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    address: input.address,
    jobs: Parts.empty<JobEntry>(),
    keys: Parts.empty<{ name: string }>(),
    notes: 0,
    acts: 0,
  }),
  initial: "serving",
  states: {
    serving: {
      on: {
        job: { actions: decide(job) },
        question: { actions: decide(question) },
        withdrawn: { actions: decide(withdrawn) },
        down: { actions: decide(ended) },
        note: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
        "own.act": {
          actions: [
            {
              type: "perform",
              params: ({ context }) => ({
                name: `own${context.acts}`,
                driver: "act",
                request: { of: context.address, step: context.acts },
              }),
            },
            assign({ acts: ({ context }) => context.acts + 1 }),
            { type: "reply", params: ({ event }) => ({ token: event.token, value: null }) },
          ],
        },
        resumed: {
          actions: decide<WorkerContext, ResumedEvent>((context) => ({
            effects: [...context.jobs.entries()].map(([name]) => ({
              type: "watch",
              params: { address: jobAddress(context.address, name) },
            })),
          })),
        },
      },
    },
  },
});
