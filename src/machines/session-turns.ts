/** Decisions of a session about its turns: start the next, write the last word, put leftovers back. Pure. */
import type { DownReason, Effect } from "../protocol/effects.ts";
import type { ErrorBody, Outcome } from "../protocol/history.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { DownEvent, ResumedEvent, StoppedEvent } from "../protocol/kernel-events.ts";
import { childOf, type Token } from "../protocol/ids.ts";
import { NO_USAGE } from "../protocol/usage.ts";
import type { Decision } from "./decide.ts";
import { ended, inOrder, moved, publish, queued, takenBack, turnItem, turnOf } from "./session-intake.ts";
import type {
  DoorCallEvent,
  QueueItem,
  SessionContext,
  SteerAgainEvent,
  SteerAppliedEvent,
  SteerWithdrawnEvent,
  TurnItem,
} from "./session-types.ts";
import type { TurnEnd } from "./turn-types.ts";

export function startNext(context: SessionContext): Decision<SessionContext> {
  const [first] = inOrder(context.queue.entries());
  if (!first) return {};
  const [turnId, item] = first;
  const turn = turnItem(item, { state: "running", outcome: null });
  const without = { ...context, queue: context.queue.drop(turnId), running: turnId };
  return {
    set: { queue: without.queue, running: turnId, turns: context.turns.put(turnId, turn) },
    effects: [
      ...(item.retryOf === null
        ? [
            {
              type: "record",
              params: {
                kind: "user_message",
                session: context.address,
                turnId,
                data: {
                  text: { payload: item.text },
                  origin: item.origin,
                  ...(item.attachments.length === 0 ? {} : { attachments: item.attachments }),
                },
              },
            } satisfies Effect,
          ]
        : [
            // What the earlier try left stays readable and is not sent again (chat-messages.ts).
            {
              type: "record",
              params: {
                kind: "notice",
                session: context.address,
                turnId,
                data: { kind: "retried", of: item.retryOf, text: "Tried again." },
              },
            } satisfies Effect,
          ]),
      {
        type: "spawn",
        params: {
          name: `turns/${turnId}`,
          chart: "turn",
          spec: "turn",
          input: {
            agent: context.agent,
            session: context.session,
            sessionAddress: context.address,
            turnId,
            origin: item.origin,
            cwd: context.cwd,
            model: context.model,
            preview: item.text.preview,
          },
          watch: true,
        },
      },
      ...moved(without, turnId),
    ],
  };
}

/** Only from the turn's `down`: exactly once for each turn, whatever happened to it. */
export function turnEnded(context: SessionContext, event: DownEvent): Decision<SessionContext> {
  const turnId = context.running as string;
  const item = context.turns.get(turnId);
  const words = (event.output ?? null) as Partial<TurnEnd> | null;
  const verdict = verdictOf(event.reason, event.lost, words);
  const data: JsonObject = {
    outcome: verdict.outcome,
    ...(verdict.outcomeReason === null ? {} : { outcomeReason: verdict.outcomeReason }),
    ...(verdict.error === null ? {} : { error: verdict.error }),
    usage: (words?.usage ?? NO_USAGE) as unknown as JsonObject,
    costUsd: words?.costUsd ?? null,
    toolCalls: words?.toolCalls ?? 0,
    rounds: words?.rounds ?? 0,
    ms: item ? Math.max(0, event.at - item.at) : 0,
    provider: words?.provider ?? "",
    model: words?.model ?? "",
    filesWritten: words?.filesWritten ?? [],
    retryable: verdict.retryable,
    ...(verdict.outcome === "cancelled"
      ? { stopped: { processes: words?.processes ?? 0, ms: Math.max(0, event.at - (words?.stoppingSince ?? event.at)) } }
      : {}),
  };
  const settled: TurnItem = {
    ...(item as TurnItem),
    state: "ended",
    outcome: verdict.outcome,
    outcomeReason: verdict.outcomeReason,
    error: verdict.error as TurnItem["error"],
    retryable: verdict.retryable,
  };
  let { steers, turns, queue } = context;
  turns = turns.put(turnId, settled);
  const effects: Effect[] = [
    { type: "record", params: { kind: "turn_end", session: context.address, turnId, data } },
    publish(context, "turn.settled", {
      turnId,
      outcome: verdict.outcome,
      ...(verdict.outcomeReason === null ? {} : { outcomeReason: verdict.outcomeReason }),
      usage: data["usage"] as Json,
      costUsd: data["costUsd"] as Json,
      ...(verdict.error === null ? {} : { error: verdict.error }),
    }),
  ];
  const applied = new Set(words?.applied ?? []);
  for (const [steerId, steer] of inOrder(context.steers.entries())) {
    steers = steers.drop(steerId);
    const door = steer.withdraw as Token | null;
    if (applied.has(steerId)) {
      turns = turns.put(steerId, appliedTurn(steer, turnId));
      if (door !== null) effects.push(tooLate(door, steerId));
    } else if (door !== null) {
      turns = turns.put(steerId, ended(steer, "removed"));
      effects.push(publish(context, "turn.removed", { turnId: steerId, by: "user" }), {
        type: "reply",
        params: { token: door, value: takenBack(steer) },
      });
    } else if (event.reason.kind === "stopped" && event.reason.stop.by !== "crash" && event.reason.stop.scope !== event.address) {
      // Not this turn alone was stopped: what waited for it waits for nothing any more.
      turns = turns.put(steerId, { ...ended(steer, "cancelled"), error: verdict.error as TurnItem["error"] });
      effects.push(...cancelledWaiting(context, steerId, steer, verdict.error as ErrorBody & JsonObject));
    } else {
      const { into: _into, withdraw: _withdraw, ...waiting } = steer;
      queue = queue.put(steerId, waiting as QueueItem);
      effects.push(publish(context, "steer.applied", { steerId, appliedTo: "" }), queued(context, steerId, waiting as QueueItem, 0));
    }
  }
  const lastEnd = {
    outcome: verdict.outcome,
    outcomeReason: verdict.outcomeReason,
    error: verdict.error,
    rounds: words?.rounds ?? 0,
  };
  return { set: { running: null, lastEnd, turns, steers, queue, lastAt: event.at }, effects };
}

interface Verdict {
  outcome: Outcome;
  outcomeReason: string | null;
  error: (ErrorBody & JsonObject) | null;
  retryable: boolean;
}

/** The reason of the `down` goes before the chart's own output; what could not be killed is never called cancelled. */
function verdictOf(reason: DownReason, lost: DownEvent["lost"], words: Partial<TurnEnd> | null): Verdict {
  if (lost.length > 0) {
    const names = lost.map(({ pid, command }) => (pid > 0 ? `${command} (pid ${pid})` : command)).join(", ");
    return {
      outcome: "failed",
      outcomeReason: null,
      error: {
        code: "STOP_FAILED",
        message: `Not everything of this turn could be ended: ${names}.`,
        hint: "End it by hand; the session goes on.",
        stuck: lost,
      },
      retryable: true,
    };
  }
  if (reason.kind === "stopped") {
    const { by, note } = reason.stop;
    return {
      outcome: "cancelled",
      outcomeReason: null,
      error: { code: "CANCELLED", message: `Stopped by ${by}${note === undefined ? "" : `: ${note}`}.`, reason: by },
      retryable: false,
    };
  }
  if (reason.kind === "crash")
    return {
      outcome: "failed",
      outcomeReason: null,
      error: {
        code: "CRASHED",
        message: `The turn crashed on "${reason.error.event ?? "?"}": ${reason.error.message}.`,
        hint: "Try again; the log has the cause.",
      },
      retryable: true,
    };
  if (reason.kind === "gone" || !words?.outcome)
    return {
      outcome: "failed",
      outcomeReason: null,
      error: { code: "INTERRUPTED", message: "The turn is gone and left no outcome." },
      retryable: true,
    };
  return {
    outcome: words.outcome,
    outcomeReason: words.outcomeReason ?? null,
    error: (words.error ?? null) as Verdict["error"],
    retryable: words.retryable ?? false,
  };
}

function appliedTurn(steer: QueueItem, turnId: string): TurnItem {
  return { ...ended(steer, "cancelled"), state: "applied", outcome: null, appliedTo: turnId };
}

export function steerApplied(context: SessionContext, { steerId, turnId }: SteerAppliedEvent): Decision<SessionContext> {
  const steer = context.steers.get(steerId);
  if (!steer) return {};
  return {
    set: { steers: context.steers.drop(steerId), turns: context.turns.put(steerId, appliedTurn(steer, turnId)) },
    effects: steer.withdraw === null ? [] : [tooLate(steer.withdraw as Token, steerId)],
  };
}

const tooLate = (token: Token, steerId: string): Effect => ({
  type: "refuse",
  params: { token, code: "TURN_STARTED", message: `The model has ${steerId} already.`, hint: "Stop the turn instead." },
});

export function steerWithdrawn(context: SessionContext, { steerId }: SteerWithdrawnEvent): Decision<SessionContext> {
  const steer = context.steers.get(steerId);
  if (!steer) return {};
  return {
    set: { steers: context.steers.drop(steerId), turns: context.turns.put(steerId, ended(steer, "removed")) },
    effects: [
      publish(context, "turn.removed", { turnId: steerId, by: "user" }),
      ...(steer.withdraw === null
        ? []
        : [{ type: "reply", params: { token: steer.withdraw as Token, value: takenBack(steer) } } satisfies Effect]),
    ],
  };
}

/** A stop of the whole session (not of one turn): what waited ends as cancelled. */
export function scopeStopped(context: SessionContext, event: Pick<StoppedEvent, "stop">): Decision<SessionContext> {
  let { turns } = context;
  let { queue } = context;
  const effects: Effect[] = [];
  const error: ErrorBody & JsonObject = {
    code: "CANCELLED",
    message: `Stopped by ${event.stop.by} before it started.`,
    reason: event.stop.by,
  };
  for (const [turnId, item] of inOrder(context.queue.entries())) {
    queue = queue.drop(turnId);
    turns = turns.put(turnId, { ...ended(item, "cancelled"), error: error as TurnItem["error"] });
    effects.push(...cancelledWaiting(context, turnId, item, error));
  }
  return { set: { turns, queue }, effects };
}

function cancelledWaiting(context: SessionContext, turnId: string, item: QueueItem, error: ErrorBody & JsonObject): Effect[] {
  return [
    {
      type: "record",
      params: { kind: "notice", session: context.address, turnId, data: { kind: "cancelled_waiting", text: item.text.preview } },
    },
    publish(context, "turn.settled", { turnId, outcome: "cancelled", usage: NO_USAGE as unknown as JsonObject, costUsd: null, error }),
  ];
}

/** After a crash or a restart: what is gone meanwhile answers a watch at once, so a lost `down` comes again. */
export function lookAgain(context: SessionContext, event: ResumedEvent): Decision<SessionContext> {
  const effects: Effect[] = [...context.doorCalls.entries()].map(([name]) => ({
    type: "watch",
    params: { address: childOf(context.address, name) },
  }));
  if (context.running !== null)
    effects.push({ type: "watch", params: { address: turnOf(context, context.running) } }, ...tellSteersAgain(context));
  if (event.dropped?.stop === undefined) return { effects };
  const stopped = scopeStopped(context, { stop: event.dropped.stop });
  return { ...stopped, effects: [...effects, ...(stopped.effects ?? [])] };
}

/** The turn may have lost one, or its answer was lost here. Whoever takes it back wants only that; the turn takes none twice. */
function tellSteersAgain(context: SessionContext): Effect[] {
  return inOrder(context.steers.entries())
    .filter(([, steer]) => steer.into === context.running)
    .map(([steerId, steer]) => ({
      type: "send",
      params: {
        to: turnOf(context, steer.into),
        event: steer.withdraw === null ? { type: "steer", steerId, n: steer.n, text: steer.text } : { type: "steer.withdraw", steerId },
      },
    }));
}

/** The running turn looks again after a crash of its own. */
export function steersAgain(context: SessionContext, { turnId }: SteerAgainEvent): Decision<SessionContext> {
  return turnId === context.running ? { effects: tellSteersAgain(context) } : {};
}

/** A tool run without a turn, for a person or a script at the door. */
export function doorCall(context: SessionContext, event: DoorCallEvent): Decision<SessionContext> {
  const callId = `call_door_${event.id.replaceAll(".", "-")}`;
  const name = `calls/door-${event.id.replaceAll(".", "-")}`;
  return {
    set: { doorCalls: context.doorCalls.put(name, { token: event.token }) },
    effects: [
      {
        type: "spawn",
        params: {
          name,
          chart: "call",
          spec: "call",
          input: {
            tool: event.tool,
            callId,
            about: event.about,
            request: { ...event.request, callId },
            repeatable: event.repeatable,
            limitMs: event.limitMs,
            token: event.token,
          },
          watch: true,
        },
      },
    ],
  };
}

export function doorCallDown(context: SessionContext, event: DownEvent): Decision<SessionContext> {
  const name = event.address.slice(context.address.length + 1);
  const call = context.doorCalls.get(name);
  if (!call) return {};
  const end = (event.output as { end: JsonObject | null } | null)?.end ?? null;
  return {
    set: { doorCalls: context.doorCalls.drop(name) },
    effects: [{ type: "reply", params: { token: call.token as Token, value: { reason: event.reason.kind, end } } }],
  };
}
