/** The living tree: all actors, one of them, its story; stop and resume. */
import { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import { addressField, numberField } from "../fields.ts";
import { accepted, ok, route, type Route } from "../route.ts";

const MOST_BUCKETS = 5_000;
const momentField = numberField(0, 9_999_999_999_999);

export const actorRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/actors",
    summary: "The living tree, as committed; with `at` (epoch milliseconds) as it was then.",
    query: { under: addressField.optional(), at: momentField.optional() },
    answers: "200 `{actors}`",
    run: async ({ query }, { handles }) =>
      ok({ actors: query.at === undefined ? handles.actors.list(query.under) : await handles.actors.past(query.at, query.under) }),
  }),
  route({
    method: "GET",
    path: "/activity",
    summary: "What happened when: commits, questions, failed turns and starts of the server, in buckets of time.",
    query: { from: momentField, to: momentField, bucketMs: numberField(100, 86_400_000).default(30_000) },
    answers: "200 `{buckets: [{at, commits, questions, failures, restarts}]}`; buckets in which nothing happened are left out",
    run: async ({ query: { from, to, bucketMs } }, { handles }) => {
      if (to <= from || (to - from) / bucketMs > MOST_BUCKETS) {
        throw new SomoraError(
          "REQUEST_INVALID",
          `From ${from} to ${to} in steps of ${bucketMs} ms is no span of 1 to ${MOST_BUCKETS} buckets.`,
          {
            hint: "Ask for a shorter span or for larger buckets.",
            details: { field: "to", in: "query" },
          },
        );
      }
      return ok({ buckets: await handles.actors.activity({ from, to, bucketMs }) });
    },
  }),
  route({
    method: "GET",
    path: "/actor",
    summary: "One actor: its view, context, timers, watches.",
    query: { address: addressField },
    answers: "200 `{actor, context, watches, watchers, timers, queue}`",
    refuses: ["ACTOR_UNKNOWN"],
    run: ({ query: { address } }, { handles }) => {
      const found = handles.actors.get(address);
      if (found === null)
        throw new SomoraError("ACTOR_UNKNOWN", `No actor is at ${address}.`, { hint: "`somora actors` lists those that are." });
      return ok(found);
    },
  }),
  route({
    method: "GET",
    path: "/waits",
    summary: "Who waits for whom: every question and wait between actors, and which of them nothing can end.",
    query: {},
    answers: "200 `{waits}`",
    run: (_, { handles }) => ok({ waits: handles.actors.waits() }),
  }),
  route({
    method: "GET",
    path: "/slots",
    summary: "The pools of slots: cap, who holds one, who waits for one.",
    query: {},
    answers: "200 `{pools}`",
    run: (_, { handles }) => ok({ pools: handles.actors.slots() }),
  }),
  route({
    method: "GET",
    path: "/story",
    summary: "What an actor did: its rows over time.",
    query: { address: addressField, limit: numberField(1, 1_000).default(200) },
    answers: "200 `{steps}`",
    refuses: ["ACTOR_UNKNOWN"],
    run: async ({ query }, { handles }) => ok({ steps: await handles.actors.story(query.address, query.limit) }),
  }),
  route({
    method: "POST",
    path: "/stop",
    summary: "Cancel a scope with everything below it.",
    body: z.strictObject({ address: addressField, reason: z.string().max(1_000).optional() }),
    answers: "200 `{stopped, actors, cancelledQueued, processes, ms}`; 202 with `stuck` or `stalled` past its limit",
    refuses: ["ACTOR_UNKNOWN", "ACTOR_FIXED"],
    whileStopping: true,
    run: async ({ body }, { handles }) => {
      const answer = await handles.actors.stop(body.address, body.reason);
      return answer.stuck !== undefined || answer.stalled !== undefined ? accepted(answer) : ok(answer);
    },
  }),
  route({
    method: "POST",
    path: "/resume",
    summary: "Let a parked actor go on; with `/` the turns that were held after crashes.",
    body: z.strictObject({ address: addressField }),
    answers: "200 `{resumed: true}`",
    refuses: ["ACTOR_UNKNOWN", "NOT_PARKED", "PARKED"],
    run: async ({ body }, { handles }) => {
      await handles.actors.resume(body.address);
      return ok({ resumed: true });
    },
  }),
];
