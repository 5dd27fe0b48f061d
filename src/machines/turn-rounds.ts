/** Decisions of a turn about its rounds: what to ask the model, what to write of an answer, when to retry, how it ends. Pure. */
import type { Effect } from "../protocol/effects.ts";
import type { ErrorBody, Outcome } from "../protocol/history.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { OutcomeFields, ResumedEvent } from "../protocol/kernel-events.ts";
import { TOPIC } from "../protocol/live-ops.ts";
import { addUsage } from "../protocol/usage.ts";
import type { Decision } from "./decide.ts";
import type { Ref } from "./session-types.ts";
import type {
  AskedCall,
  EngineEvent,
  OpenCall,
  Prepared,
  RoundValue,
  StreamedBlock,
  TurnContext,
  TurnEnd,
  TurnEvent,
} from "./turn-types.ts";

/** A round whose arguments are complete but not JSON is asked again, silently to the model, at most twice (facts: broken calls). */
const SILENT_REPEATS = 2;
/** 429 and 5xx before any output are tried again, at most twice, when the provider asks for at most a minute. */
const RETRIES = 2;
const LONGEST_RETRY_MS = 60_000;
const DEFAULT_RETRY_MS = 2_000;
const WARN_AT = 0.75;

export const publish = (context: TurnContext, type: string, data: JsonObject): Effect => ({
  type: "publish",
  params: { topic: TOPIC.session(context.agent, context.session), type, data: { turnId: context.turnId, ...data } },
});
export const record = (context: TurnContext, kind: string, data: Record<string, unknown>): Effect => ({
  type: "record",
  params: { kind, session: context.sessionAddress, turnId: context.turnId, data: data as never },
});
const state = (context: TurnContext, name: string, more: JsonObject = {}): Effect =>
  publish(context, "turn.state", {
    state: name,
    round: context.round,
    ...(context.prepared ? { maxRounds: context.prepared.maxRounds } : {}),
    ...more,
  });
const notice = (context: TurnContext, kind: string, text: string, more: JsonObject = {}): Effect =>
  record(context, "notice", { kind, text, ...more });

export function prepared(context: TurnContext, event: OutcomeFields): Decision<TurnContext> {
  const facts = event.value as unknown as Prepared;
  return { set: { prepared: facts }, effects: [started({ ...context, prepared: facts })] };
}

function started(context: TurnContext): Effect {
  const { ref, provider, rehearsal } = context.prepared as Prepared;
  return publish(context, "turn.started", { origin: context.origin, model: ref, provider, attempt: context.attempt, rehearsal });
}

/** Entry of `calling`: steers that wait go in first, then one request. */
export function askModel(context: TurnContext, event: TurnEvent): Decision<TurnContext> {
  const repeating =
    (event.type === "engine.done" && context.repeats > 0) || event.type.startsWith("xstate.after") || event.type === "resumed";
  const facts = context.prepared as Prepared;
  const effects: Effect[] = [];
  const applied = [...context.applied];
  let { steers } = context;
  for (const [steerId, steer] of [...steers.entries()].sort((a, b) => a[1].n - b[1].n)) {
    steers = steers.drop(steerId);
    applied.push(steerId);
    effects.push(
      record(context, "user_message", { text: { payload: steer.text }, origin: context.origin, steer: true, steerId }),
      { type: "send", params: { to: context.sessionAddress, event: { type: "steer.applied", steerId, turnId: context.turnId } } },
      {
        type: "publish",
        params: {
          topic: TOPIC.session(context.agent, context.session),
          type: "steer.applied",
          data: { steerId, appliedTo: context.turnId },
        },
      },
    );
  }
  const round = repeating ? context.round : context.round + 1;
  let { forced, warned } = context;
  if (forced === null && round > facts.maxRounds) forced = "round_cap";
  if (forced === null && context.callsUsed >= facts.maxCalls) forced = "tool_budget";
  const next = { ...context, round, forced };
  if (forced !== null && context.forced === null) {
    const limit = forced === "round_cap" ? `${facts.maxRounds} rounds` : `${facts.maxCalls} tool calls`;
    effects.push(
      notice(next, "limit_reached", `The limit of ${limit} is reached. Answer now from what you have; no tools are left.`, {
        toModel: true,
        limit: forced,
      }),
    );
  } else if (!warned && (round > facts.maxRounds * WARN_AT || context.callsUsed >= facts.maxCalls * WARN_AT) && round > 1) {
    warned = true;
    effects.push(
      notice(
        next,
        "limit_near",
        `${facts.maxRounds - round + 1} of ${facts.maxRounds} rounds and ${Math.max(0, facts.maxCalls - context.callsUsed)} of ${facts.maxCalls} tool calls are left. Come to an end.`,
        { toModel: true },
      ),
    );
  }
  effects.push(state(next, "calling"), {
    type: "perform",
    params: {
      name: "engine",
      driver: "engine",
      repeatable: true,
      request: {
        agent: context.agent,
        session: context.session,
        sessionAddress: context.sessionAddress,
        turnId: context.turnId,
        round,
        attempt: context.attempt,
        request: context.requests + 1,
        model: facts.ref,
        cwd: facts.cwd,
        forced: forced !== null,
        spentUsd: context.costUsd,
      },
    },
  });
  return {
    set: {
      steers,
      applied,
      round,
      forced,
      warned,
      requests: context.requests + 1,
      blocks: clear(context.blocks),
      calls: clearCalls(context.calls),
      ...(repeating ? {} : { repeats: 0, retries: 0 }),
    },
    effects,
  };
}

function clear(blocks: TurnContext["blocks"]): TurnContext["blocks"] {
  let next = blocks;
  for (const [key] of blocks.entries()) next = next.drop(key);
  return next;
}
function clearCalls(calls: TurnContext["calls"]): TurnContext["calls"] {
  let next = calls;
  for (const [key] of calls.entries()) next = next.drop(key);
  return next;
}

/** May come again after a crash on either side: one that the model has already is not taken twice. */
export function steerArrived(context: TurnContext, event: TurnEvent & { type: "steer" }): Decision<TurnContext> {
  if (context.applied.includes(event.steerId)) return {};
  return { set: { steers: context.steers.put(event.steerId, { n: event.n, text: event.text }) } };
}

export function steerWithdraw(context: TurnContext, { steerId }: TurnEvent & { type: "steer.withdraw" }): Decision<TurnContext> {
  const answer = context.applied.includes(steerId)
    ? { type: "steer.applied", steerId, turnId: context.turnId }
    : { type: "steer.withdrawn", steerId };
  return {
    set: { steers: context.steers.drop(steerId) },
    effects: [{ type: "send", params: { to: context.sessionAddress, event: answer } }],
  };
}

export function storeStreamed(context: TurnContext, event: TurnEvent & { type: "text.stored" }): Decision<TurnContext> {
  const ref = event.payloads?.[0] as Ref | undefined;
  if (!ref) return {};
  return { set: { blocks: context.blocks.put(event.blockId, { kind: event.kind, ref, round: context.round, attempt: context.attempt }) } };
}

const hasText = (value: RoundValue | null): boolean => value?.blocks.some((block) => block.kind === "text" && block.size > 0) ?? false;

export function mayRepeat(context: TurnContext, { value }: EngineEvent): boolean {
  return (
    value !== null &&
    value.finish !== "cut" &&
    context.repeats < SILENT_REPEATS &&
    value.calls.some((call) => call.broken?.kind === "malformed")
  );
}

export function wantsTools(context: TurnContext, { value }: EngineEvent): boolean {
  return value !== null && value.finish !== "cut" && value.calls.length > 0 && context.forced === null;
}

export function mayRetry(context: TurnContext, { value, error }: EngineEvent): boolean {
  const details = error?.details as { retryable?: boolean; retryAfterMs?: number } | undefined;
  if (details?.retryable !== true || context.retries >= RETRIES || hasText(value)) return false;
  return (details.retryAfterMs ?? DEFAULT_RETRY_MS) <= LONGEST_RETRY_MS;
}

/** Usage of a request, whatever became of it. */
function booked(context: TurnContext, value: RoundValue | null): Partial<TurnContext> {
  if (!value) return {};
  if (!value.usage) return { costUnknown: true };
  return {
    usage: addUsage(context.usage, value.usage),
    ...(value.costUsd === null ? { costUnknown: true } : { costUsd: context.costUsd + value.costUsd }),
  };
}

function rowsOf(context: TurnContext, event: EngineEvent, more: JsonObject = {}): Effect[] {
  const { value, payloads } = event;
  if (!value) return [];
  const rows: Effect[] = value.notices.map(({ kind, text }) => notice(context, kind, text));
  for (const block of value.blocks) {
    const ref = payloads?.[block.payload];
    if (!ref || ref.size === 0) continue;
    rows.push(
      record(context, block.kind === "text" ? "assistant_message" : "thinking", {
        text: { payload: ref },
        attempt: context.attempt,
        blockId: block.blockId,
        round: context.round,
        ...(block.kind === "text" ? { model: value.model } : {}),
        ...more,
      }),
    );
  }
  return rows;
}

export function repeatSilently(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const broken = event.value?.calls.find((call) => call.broken?.kind === "malformed");
  const repeats = context.repeats + 1;
  return {
    set: { ...booked(context, event.value), repeats },
    effects: [
      ...(event.value?.blocks ?? []).map((block) => publish(context, "text.reset", { blockId: block.blockId, attempt: context.attempt })),
      notice(
        context,
        "call_malformed",
        `${broken?.tool ?? "A call"} came with arguments that are not JSON (${broken?.broken?.error ?? ""}); asked again, ${repeats} of ${SILENT_REPEATS}.`,
      ),
    ],
  };
}

/** The message with its calls is complete: one commit holds text, thinking and calls; the calls start in the same step. */
export function recordRound(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const value = event.value as RoundValue;
  let { calls } = context;
  const effects = rowsOf(context, event);
  value.calls.forEach((call, index) => {
    const callId = `call_${context.turnId}_${context.round}_${index}`;
    const input = event.payloads?.[call.payload] as Ref | undefined;
    effects.push(
      record(context, "tool_call", {
        callId,
        tool: call.tool,
        input: input ? { payload: input } : {},
        round: context.round,
        modelCallId: call.id,
        ...(call.broken ? { broken: { ...call.broken, raw: input?.preview ?? "" } } : {}),
      }),
    );
    calls = calls.put(callId, openCall(context, call, index, callId, input ?? null, event.at));
  });
  return { set: { ...booked(context, value), calls, blocks: clear(context.blocks) }, effects };
}

function openCall(_: TurnContext, call: AskedCall, index: number, callId: string, input: Ref | null, at: number): OpenCall {
  return {
    index,
    callId,
    tool: call.tool,
    about: call.about,
    input,
    broken: call.broken,
    repeatable: call.repeatable,
    limitMs: call.limitMs,
    state: "waiting",
    startedAt: at,
  };
}

export function recordLast(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const value = event.value as RoundValue;
  const set = { ...booked(context, value), blocks: clear(context.blocks) };
  if (value.finish === "cut") {
    const error: ErrorBody = {
      code: "STREAM_CUT",
      message: "The answer broke off: the model server closed the stream without an end mark.",
      hint: "Try again.",
    };
    const verdict = hasText(value) ? end("partial", "cut", error, true) : end("failed", null, error, true);
    return { set: { ...set, verdict }, effects: [...rowsOf(context, event, { interrupted: true }), state(context, "settling")] };
  }
  if (!hasText(value) && context.forced !== null)
    return {
      set: { ...set, verdict: end("degraded", "force_summary_failed", null, true) },
      effects: [...rowsOf(context, event), ...ourWords(context), state(context, "settling")],
    };
  const verdict = context.forced === null ? end("completed", null, null, false) : end("partial", context.forced, null, false);
  const length = value.finish === "length" ? [notice(context, "answer_length", "The answer ends at the model's output limit.")] : [];
  return { set: { ...set, verdict }, effects: [...rowsOf(context, event), ...length, state(context, "settling")] };
}

function end(
  outcome: Outcome,
  outcomeReason: string | null,
  error: ErrorBody | null,
  retryable: boolean,
): NonNullable<TurnContext["verdict"]> {
  return { outcome, outcomeReason, error: error as never, retryable };
}

function ourWords(context: TurnContext): Effect[] {
  return [
    record(context, "assistant_message", {
      text: `The model gave no closing answer after ${context.round - 1} rounds and ${context.callsUsed} tool calls. What the tools returned stands above.`,
      attempt: context.attempt,
      blockId: `ours_${context.round}`,
      round: context.round,
      model: "somora",
    }),
  ];
}

export function planRetry(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const details = event.error?.details as { retryAfterMs?: number } | undefined;
  const waitMs = details?.retryAfterMs ?? DEFAULT_RETRY_MS * 2 ** context.retries;
  const retries = context.retries + 1;
  return {
    set: { ...booked(context, event.value), waitMs, retries },
    effects: [
      notice(
        context,
        "provider_retry",
        `${event.error?.message ?? "The model server refused."} It is tried again by itself, ${retries} of ${RETRIES}.`,
        { code: event.error?.code ?? "" },
      ),
      state(context, "waiting", { until: event.at + waitMs, why: event.error?.message ?? "" }),
    ],
  };
}

export function recordFailure(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const error = {
    code: event.error?.code ?? "PROVIDER_FAILED",
    message: event.error?.message ?? "The model server failed.",
    ...(event.error?.hint === undefined ? {} : { hint: event.error.hint }),
  };
  const set = { ...booked(context, event.value), blocks: clear(context.blocks) };
  const rows = rowsOf(context, event, { interrupted: true });
  const verdict = hasText(event.value)
    ? end("partial", "cut", error, true)
    : context.forced !== null
      ? end("degraded", "force_summary_failed", error, true)
      : end("failed", null, error, true);
  return {
    set: { ...set, verdict },
    effects: [...rows, ...(verdict.outcome === "degraded" ? ourWords(context) : []), state(context, "settling")],
  };
}

/** Below a fence: what was on the screen stands in the transcript, and in the next request. */
export function keepPartial(context: TurnContext, event: EngineEvent): Decision<TurnContext> {
  const rows = rowsOf(context, event, { interrupted: true });
  const fromStore = rows.length > 0 ? [] : storedRows(context, { interrupted: true });
  return { set: { ...booked(context, event.value), blocks: clear(context.blocks) }, effects: [...rows, ...fromStore] };
}

/** What streaming had stored, when the request itself left nothing (the server died). */
function storedRows(context: TurnContext, more: JsonObject): Effect[] {
  const blocks: [string, StreamedBlock][] = [...context.blocks.entries()];
  return blocks.map(([blockId, block]) =>
    record(context, block.kind === "text" ? "assistant_message" : "thinking", {
      text: { payload: block.ref },
      attempt: block.attempt,
      blockId,
      round: block.round,
      ...more,
    }),
  );
}

/** A request that still runs after a crash goes on; after a restart it was asked again. */
export function sameAttempt(context: TurnContext, event: ResumedEvent): Decision<TurnContext> {
  return event.cause === "restart" ? nextAttempt(context, event) : {};
}

/** A resumed round begins a new attempt; what the last one had stored stays readable and is not sent to the model. */
export function nextAttempt(context: TurnContext, _: ResumedEvent): Decision<TurnContext> {
  const attempt = context.attempt + 1;
  const next = { ...context, attempt };
  return {
    set: { attempt, blocks: clear(context.blocks) },
    effects: [
      ...storedRows(context, { interrupted: true, superseded: true }),
      ...(context.prepared ? [started(next), state(next, "calling")] : []),
    ],
  };
}

export function refuseResume(context: TurnContext, _: ResumedEvent): Decision<TurnContext> {
  const error: ErrorBody = {
    code: "INTERRUPTED",
    message: "The server died while this turn ran, and `server.resumeAfterRestart` is off.",
    hint: "Try again.",
  };
  return {
    set: { verdict: end("failed", null, error, true), blocks: clear(context.blocks) },
    effects: [...storedRows(context, { interrupted: true }), { type: "abort", params: { name: "engine" } }, state(context, "settling")],
  };
}

export function failedBy(_: TurnContext, event: OutcomeFields): Decision<TurnContext> {
  const error = {
    code: event.error?.code ?? "INTERNAL",
    message: event.error?.message ?? "The turn could not be prepared.",
    ...(event.error?.hint === undefined ? {} : { hint: event.error.hint }),
  };
  return { set: { verdict: end("failed", null, error, true) } };
}

export function endOf(context: TurnContext): TurnEnd {
  return {
    outcome: context.verdict?.outcome ?? null,
    outcomeReason: context.verdict?.outcomeReason ?? null,
    error: context.verdict?.error ?? null,
    retryable: context.verdict?.retryable ?? false,
    usage: context.usage,
    costUsd: context.costUnknown ? null : context.costUsd,
    toolCalls: context.callsUsed,
    rounds: context.round,
    provider: context.prepared?.provider ?? "",
    model: context.prepared?.ref ?? "",
    filesWritten: context.filesWritten,
    processes: context.processes,
    stoppingSince: context.stoppingSince,
    applied: context.applied,
  };
}
