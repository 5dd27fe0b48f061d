/** Messages and turns: send, ask after, stop, take back, read. */
import { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import type { SendRequest } from "../../ports/handles.port.ts";
import { agentField, LONGEST_TEXT, LONGEST_WAIT_MS, numberField, sessionField } from "../fields.ts";
import { accepted, ok, route, type Route } from "../route.ts";

const sendFields = {
  agent: agentField,
  session: sessionField.optional(),
  text: z.string().regex(/\S/u, "a text that is not blank").optional(),
  cwd: z.string().min(1).max(4_096).optional(),
  attachments: z.array(z.json()).max(50).optional(),
  steer: z.boolean().optional(),
  clientKey: z.string().min(1).max(200).optional(),
  retryOf: z.string().min(1).max(200).optional(),
};
const sendBody = z.strictObject(sendFields);
const sendSyncBody = z.strictObject({ ...sendFields, timeoutMs: z.number().int().min(0).max(LONGEST_WAIT_MS).optional() });
const turnParams = { turnId: z.string().min(1).max(200) };
const sessionQuery = { agent: agentField, session: sessionField.default("main") };

/** What a schema cannot say: text or `retryOf`, and the limit of a text, which has a status of its own. */
function sendable<Body extends z.infer<typeof sendSyncBody>>(body: Body): SendRequest & { timeoutMs?: number } {
  if (body.text === undefined && body.retryOf === undefined) {
    throw new SomoraError("REQUEST_INVALID", "`text` in the body is missing.", {
      hint: "Give `text`, or `retryOf` with the id of a failed turn.",
      details: { field: "text", in: "body" },
    });
  }
  if (body.text !== undefined && body.retryOf !== undefined) {
    throw new SomoraError("REQUEST_INVALID", "`retryOf` stands in place of `text`; both came.", {
      hint: "Leave one of them out.",
      details: { field: "retryOf", in: "body" },
    });
  }
  if (body.text !== undefined && body.text.length > LONGEST_TEXT) {
    throw new SomoraError("TEXT_TOO_LONG", `The message has ${body.text.length} characters; the limit is ${LONGEST_TEXT}.`, {
      hint: "Put long material into a file in the session's folder and name it in the message.",
    });
  }
  return defined(body) as SendRequest & { timeoutMs?: number };
}

/** Without the keys whose value is undefined. */
function defined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Value;
}

export const chatRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/chat/send",
    summary: "Send a message. It is on disk when this answers. With `steer` it joins the running turn.",
    body: sendBody,
    answers: "202 `{turnId, position}` or `{steerId, steered: true}`",
    refuses: [
      "AGENT_UNKNOWN",
      "SESSION_UNKNOWN",
      "CLIENT_KEY_REUSED",
      "FOLDER_INVALID",
      "TEXT_TOO_LONG",
      "QUEUE_FULL",
      "PARKED",
      "TURN_NOT_RETRYABLE",
      "STORE_STALLED",
      "SERVER_STOPPING",
    ],
    run: async ({ body }, { handles }) => accepted(await handles.chat.send(sendable(body))),
  }),
  route({
    method: "POST",
    path: "/chat/send-sync",
    summary: "Send a message and wait for its turn to end, at most `timeoutMs`.",
    body: sendSyncBody,
    answers: "200 the turn",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN", "CLIENT_KEY_REUSED"],
    run: async ({ body }, { handles }) => ok(await handles.chat.sendSync(sendable(body))),
  }),
  route({
    method: "GET",
    path: "/chat/turns/:turnId",
    summary: "A turn sent earlier; `waitMs` waits for its end.",
    params: turnParams,
    query: { waitMs: numberField(0, LONGEST_WAIT_MS).default(0) },
    answers: "200 the turn",
    refuses: ["TURN_UNKNOWN"],
    run: async ({ params, query }, { handles }) => ok(await handles.chat.turn(params.turnId, query.waitMs)),
  }),
  route({
    method: "POST",
    path: "/chat/abort",
    summary: "Stop the running turn; with `turnId` only that one. Answers once it is down.",
    body: z.strictObject({
      agent: agentField,
      session: sessionField,
      turnId: z.string().min(1).max(200).optional(),
      children: z.boolean().optional(),
    }),
    answers: "200 `{aborted, turnId?, children?}`; 202 `{aborted: false, stuck?, stalled?}` past its limit",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    whileStopping: true,
    run: async ({ body }, { handles }) => {
      const answer = await handles.chat.abort(defined(body) as { agent: string; session: string });
      return !answer.aborted && (answer.stuck !== undefined || answer.stalled !== undefined) ? accepted(answer) : ok(answer);
    },
  }),
  route({
    method: "DELETE",
    path: "/chat/queue/:turnId",
    summary: "Take a waiting message back.",
    params: turnParams,
    answers: "200 `{removed: true, text, attachments}`",
    refuses: ["TURN_UNKNOWN", "TURN_STARTED", "TURN_REMOVED", "TURN_OVER"],
    run: async ({ params }, { handles }) => ok(await handles.chat.takeBack(params.turnId)),
  }),
  route({
    method: "POST",
    path: "/chat/queue/:turnId/steer",
    summary: "Make a waiting message a steering one, in one step.",
    params: turnParams,
    answers: "202 `{steerId, steered: true}` or `{turnId, position, steered: false}`",
    refuses: ["TURN_UNKNOWN", "TURN_STARTED", "TURN_REMOVED", "TURN_OVER"],
    run: async ({ params }, { handles }) => accepted(await handles.chat.steerQueued(params.turnId)),
  }),
  route({
    method: "GET",
    path: "/chat/history",
    summary: "Rows of a conversation, oldest first; `before` is exclusive.",
    query: { ...sessionQuery, before: numberField(1, 1e15).optional(), limit: numberField(1, 1_000).default(100) },
    answers: "200 `{rows, hasMore, oldestSeq, newestSeq}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ query }, { handles }) => {
      const { before, ...rest } = query;
      return ok(await handles.chat.history(before === undefined ? rest : { ...rest, before }));
    },
  }),
  route({
    method: "GET",
    path: "/chat/row",
    summary: "One whole row, its output not shortened.",
    query: { ...sessionQuery, seq: numberField(1, 1e15) },
    answers: "200 `{row}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ query }, { handles }) => ok({ row: await handles.chat.row(query.agent, query.session, query.seq) }),
  }),
];
