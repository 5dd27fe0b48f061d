/** Decisions of a session about what comes in: send, take back, steer, hold, title and model. Pure. */
import type { Effect } from "../protocol/effects.ts";
import { childOf, type EventId, type Token } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import { TOPIC } from "../protocol/live-ops.ts";
import type { Decision } from "./decide.ts";
import type {
  HoldEvent,
  PatchEvent,
  QueueItem,
  Ref,
  SendEvent,
  SessionContext,
  SteerItem,
  SteerQueuedEvent,
  TakeBackEvent,
  TurnItem,
} from "./session-types.ts";

const QUEUE_LIMIT = 1000;
const TITLE_LENGTH = 60;

export const turnIdOf = (event: EventId): string => `turn_${event.replaceAll(".", "-")}`;
export const topicOf = (context: SessionContext): string => TOPIC.session(context.agent, context.session);
export const publish = (context: SessionContext, type: string, data: JsonObject): Effect => ({
  type: "publish",
  params: { topic: topicOf(context), type, data },
});
export const turnOf = (context: SessionContext, turnId: string) => childOf(context.address, `turns/${turnId}`);

const reply = (token: Token, value: JsonObject): Effect => ({ type: "reply", params: { token, value } });
const refuse = (token: Token, code: string, message: string, hint?: string): Effect => ({
  type: "refuse",
  params: { token, code, message, ...(hint === undefined ? {} : { hint }) },
});

/** Waiting entries, first to come first. */
export function inOrder<Item extends { n: number }>(entries: Iterable<[string, Item]>): [string, Item][] {
  return [...entries].sort((a, b) => a[1].n - b[1].n);
}

export function send(context: SessionContext, event: SendEvent): Decision<SessionContext> {
  const { token, clientKey, digest, retryOf } = event;
  const known = clientKey === null ? undefined : context.keys.get(clientKey);
  if (known) {
    if (known.digest === digest) return { effects: [reply(token, known.answer)] };
    return {
      effects: [
        refuse(
          token,
          "CLIENT_KEY_REUSED",
          `The client key "${clientKey}" came before with another text, attachments or steer.`,
          "Use a new key for a new message.",
        ),
      ],
    };
  }
  if (context.queue.size >= QUEUE_LIMIT)
    return {
      effects: [
        refuse(
          token,
          "QUEUE_FULL",
          `${context.agent}/${context.session} has ${QUEUE_LIMIT} waiting messages.`,
          "Wait until it has worked some off, or take some back.",
        ),
      ],
    };
  if (event.cwd !== null && context.cwd !== null && event.cwd !== context.cwd) {
    return {
      effects: [
        refuse(
          token,
          "FOLDER_INVALID",
          `The session works in ${context.cwd}; it was made so and stays so.`,
          "Make another session for another folder.",
        ),
      ],
    };
  }
  const text = event.payloads?.[0] as Ref | undefined;
  const again = retryOf === null ? null : retryProblem(context, retryOf);
  if (again !== null) return { effects: [refuse(token, again.code, again.message)] };
  const turnId = turnIdOf(event.id);
  const item: QueueItem = {
    n: context.order + 1,
    at: event.at,
    origin: event.origin,
    text: text ?? ({ id: "", kind: "message", size: 0, preview: context.turns.get(retryOf ?? "")?.preview ?? "" } as Ref),
    attachments: event.attachments,
    retryOf,
  };
  const common: Partial<SessionContext> = { order: item.n, lastAt: event.at, cwd: context.cwd ?? event.cwd };
  const effects: Effect[] = [];
  if (context.title === null && event.origin.kind === "human" && item.text.preview !== "") {
    common.title = shortTitle(item.text.preview);
    effects.push(publish(context, "session.changed", { title: common.title }));
  }
  const steered = event.steer && context.running !== null;
  const answer: JsonObject = steered
    ? { steerId: turnId, steered: true }
    : { turnId, position: context.queue.size + (context.running === null ? 0 : 1), ...(event.steer ? { steered: false } : {}) };
  if (clientKey !== null) common.keys = context.keys.put(clientKey, { digest, answer });
  if (steered) {
    const steer: SteerItem = { ...item, into: context.running as string, withdraw: null };
    return {
      set: { ...common, steers: context.steers.put(turnId, steer) },
      effects: [...effects, ...tellSteer(context, turnId, steer), reply(token, answer)],
    };
  }
  return {
    set: { ...common, queue: context.queue.put(turnId, item) },
    effects: [...effects, queued(context, turnId, item, answer["position"] as number), reply(token, answer)],
  };
}

export function queued(context: SessionContext, turnId: string, item: QueueItem, position: number): Effect {
  return publish(context, "turn.queued", { turnId, position, text: item.text.preview, origin: item.origin, at: item.at });
}

function shortTitle(text: string): string {
  const characters = [...text];
  return characters.length > TITLE_LENGTH
    ? `${characters
        .slice(0, TITLE_LENGTH - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

function retryProblem(context: SessionContext, turnId: string): { code: string; message: string } | null {
  const turn = context.turns.get(turnId);
  if (!turn) return { code: "TURN_UNKNOWN", message: `There is no turn ${turnId} in ${context.agent}/${context.session}.` };
  if (turn.state === "ended" && turn.retryable) return null;
  return {
    code: "TURN_NOT_RETRYABLE",
    message: `Turn ${turnId} is ${turn.state === "running" ? "still running" : `over as ${turn.outcome ?? turn.state}`}; only a failed or cut one runs again.`,
  };
}

function tellSteer(context: SessionContext, steerId: string, steer: SteerItem): Effect[] {
  return [
    { type: "send", params: { to: turnOf(context, steer.into), event: { type: "steer", steerId, n: steer.n, text: steer.text } } },
    publish(context, "steer.accepted", { steerId, text: steer.text.preview }),
  ];
}

export function takeBack(context: SessionContext, { token, turnId }: TakeBackEvent): Decision<SessionContext> {
  const waiting = context.queue.get(turnId);
  if (waiting) {
    return {
      set: { queue: context.queue.drop(turnId), turns: context.turns.put(turnId, ended(waiting, "removed")) },
      effects: [publish(context, "turn.removed", { turnId, by: "user" }), ...moved(context, turnId), reply(token, takenBack(waiting))],
    };
  }
  const steer = context.steers.get(turnId);
  // The turn has it: only the turn knows whether the model does. It answers with steer.withdrawn, steer.applied, or its down.
  if (steer) {
    return {
      set: { steers: context.steers.put(turnId, { ...steer, withdraw: token }) },
      effects: [{ type: "send", params: { to: turnOf(context, steer.into), event: { type: "steer.withdraw", steerId: turnId } } }],
    };
  }
  const turn = context.turns.get(turnId);
  if (!turn) return { effects: [refuse(token, "TURN_UNKNOWN", `There is no turn ${turnId}.`)] };
  if (turn.state === "running" || turn.state === "applied")
    return { effects: [refuse(token, "TURN_STARTED", `Turn ${turnId} runs already.`, "Stop it instead.")] };
  return {
    effects: [
      refuse(
        token,
        turn.outcome === "removed" ? "TURN_REMOVED" : "TURN_OVER",
        turn.outcome === "removed" ? `Turn ${turnId} was taken back before.` : `Turn ${turnId} is over (${turn.outcome}).`,
      ),
    ],
  };
}

export const takenBack = (item: QueueItem): JsonObject => ({ removed: true, text: item.text, attachments: item.attachments });

/** What waited, as the turn it becomes. */
export function turnItem(item: QueueItem, standing: Pick<TurnItem, "state" | "outcome">): TurnItem {
  return {
    n: item.n,
    at: item.at,
    ...standing,
    outcomeReason: null,
    error: null,
    appliedTo: null,
    retryable: false,
    origin: item.origin,
    preview: item.text.preview,
  };
}

export const ended = (item: QueueItem, outcome: "removed" | "cancelled"): TurnItem => turnItem(item, { state: "ended", outcome });

/** The new places of what waits, after `gone` left. */
export function moved(context: SessionContext, gone: string): Effect[] {
  const running = context.running === null ? 0 : 1;
  return inOrder(context.queue.entries())
    .filter(([id]) => id !== gone)
    .map(([turnId], index) => publish(context, "turn.moved", { turnId, position: index + running }));
}

export function steerQueued(context: SessionContext, { token, turnId }: SteerQueuedEvent): Decision<SessionContext> {
  const waiting = context.queue.get(turnId);
  if (!waiting) {
    const turn = context.turns.get(turnId);
    if (!turn && !context.steers.has(turnId)) return { effects: [refuse(token, "TURN_UNKNOWN", `There is no turn ${turnId}.`)] };
    const code = turn?.outcome === "removed" ? "TURN_REMOVED" : turn?.state === "ended" ? "TURN_OVER" : "TURN_STARTED";
    return { effects: [refuse(token, code, `Turn ${turnId} does not wait any more.`)] };
  }
  if (context.running === null) {
    const position = inOrder(context.queue.entries()).findIndex(([id]) => id === turnId);
    return { effects: [reply(token, { turnId, position, steered: false })] };
  }
  const steer: SteerItem = { ...waiting, into: context.running, withdraw: null };
  return {
    set: { queue: context.queue.drop(turnId), steers: context.steers.put(turnId, steer) },
    effects: [
      publish(context, "turn.removed", { turnId, by: "steer" }),
      ...moved(context, turnId),
      ...tellSteer(context, turnId, steer),
      reply(token, { steerId: turnId, steered: true }),
    ],
  };
}

export function hold(context: SessionContext, { token, held }: HoldEvent): Decision<SessionContext> {
  return {
    set: { held },
    effects: [...(held === context.held ? [] : [publish(context, "session.changed", { held })]), reply(token, { held })],
  };
}

export function patch(context: SessionContext, { token, title, model }: PatchEvent): Decision<SessionContext> {
  const set: Partial<SessionContext> = {};
  const change: JsonObject = {};
  if (title !== undefined) change["title"] = set.title = title;
  if (model !== undefined) change["model"] = set.model = model;
  return { set, effects: [publish(context, "session.changed", { ...change, by: "user" }), reply(token, {})] };
}
