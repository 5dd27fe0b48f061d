/** Decisions of a turn about its tool calls: start them, take each result in, look again after a crash. Pure. */
import type { Effect } from "../protocol/effects.ts";
import { childOf } from "../protocol/ids.ts";
import type { DownEvent, ResumedEvent } from "../protocol/kernel-events.ts";
import type { CallEnd, CallOutput } from "./call.machine.ts";
import type { Decision } from "./decide.ts";
import { publish, record, refuseResume as refuse } from "./turn-rounds.ts";
import type { OpenCall, Prepared, TurnContext } from "./turn-types.ts";

const nameOf = (callId: string): string =>
  `calls/${callId.slice(callId.lastIndexOf("_", callId.lastIndexOf("_") - 1) + 1).replace("_", ".")}`;
const addressOf = (context: TurnContext, callId: string) => childOf(context.address, nameOf(callId));

/** All at once when the model has parallel calls, else in order. Calls past the turn's budget are answered, not run. */
export function startCalls(context: TurnContext): Decision<TurnContext> {
  const effects: Effect[] = [
    publish(context, "turn.state", { state: "tools", round: context.round, maxRounds: (context.prepared as Prepared).maxRounds }),
  ];
  let { calls, callsUsed } = context;
  for (const call of inOrder(calls)) {
    if (callsUsed >= (context.prepared as Prepared).maxCalls) {
      calls = calls.put(call.callId, { ...call, state: "done" });
      const message = `The turn's limit of ${(context.prepared as Prepared).maxCalls} tool calls is used up; this call was not run.`;
      effects.push(
        record(context, "tool_result", {
          callId: call.callId,
          ok: false,
          output: { ok: false, error: { code: "TOOL_LIMIT", message, hint: "Answer from what you have." } },
          summary: "not run",
          code: "TOOL_LIMIT",
          ms: 0,
        }),
      );
      continue;
    }
    callsUsed += 1;
    if (calls.find((other) => other.state === "running") !== undefined && !(context.prepared as Prepared).parallel) continue;
    calls = calls.put(call.callId, { ...call, state: "running" });
    effects.push(...start(context, call));
  }
  return { set: { calls, callsUsed }, effects };
}

function inOrder(calls: TurnContext["calls"]): OpenCall[] {
  return [...calls.entries()].map(([, call]) => call).sort((a, b) => a.index - b.index);
}

function start(context: TurnContext, call: OpenCall): Effect[] {
  const request = {
    tool: call.tool,
    input: call.input,
    broken: call.broken,
    agent: context.agent,
    session: context.session,
    turnId: context.turnId,
    callId: call.callId,
    cwd: (context.prepared as Prepared).cwd,
  };
  return [
    publish(context, "call.started", {
      callId: call.callId,
      tool: call.tool,
      input: { preview: call.input?.preview ?? "", about: call.about },
      limitMs: call.limitMs,
    }),
    {
      type: "spawn",
      params: {
        name: nameOf(call.callId),
        chart: "call",
        spec: "call",
        input: { tool: call.tool, callId: call.callId, about: call.about, request, repeatable: call.repeatable, limitMs: call.limitMs },
        watch: true,
      },
    },
  ];
}

/** Each result is committed by itself; the next call in order starts in the same step. */
export function callDown(context: TurnContext, event: DownEvent): Decision<TurnContext> {
  const call = inOrder(context.calls).find((each) => addressOf(context, each.callId) === event.address);
  if (!call || call.state === "done") return {};
  const end = (event.output as CallOutput | null)?.end ?? null;
  let calls = context.calls.put(call.callId, { ...call, state: "done" });
  const effects = settle(context, call, event, end);
  const next = inOrder(calls).find((each) => each.state === "waiting");
  if (next && context.stoppingSince === null && event.reason.kind !== "stopped") {
    calls = calls.put(next.callId, { ...next, state: "running" });
    effects.push(...start(context, next));
  }
  return {
    set: {
      calls,
      filesWritten: [...context.filesWritten, ...(end?.filesWritten ?? []).filter((path) => !context.filesWritten.includes(path))],
      processes: context.processes + (end?.processes ?? 0),
    },
    effects,
  };
}

function settle(context: TurnContext, call: OpenCall, event: DownEvent, end: CallEnd | null): Effect[] {
  const code =
    end?.code ?? (event.reason.kind === "crash" ? "CRASHED" : event.reason.kind === "stopped" ? "TOOL_CANCELLED" : "TOOL_INTERRUPTED");
  const ok = end?.ok ?? false;
  const summary = end?.summary ?? (code === "TOOL_CANCELLED" ? "stopped" : "interrupted");
  const ms = end?.ms ?? Math.max(0, event.at - call.startedAt);
  const output = end?.output
    ? { payload: end.output }
    : { ok: false, error: { code, message: wordsFor(code, event) }, ...(end?.known ? { known: end.known } : {}) };
  return [
    record(context, "tool_result", {
      callId: call.callId,
      ok,
      output,
      summary,
      ...(ok ? {} : { code }),
      ms,
      ...(end?.changes && end.changes.length > 0 ? { changes: end.changes } : {}),
      ...(end?.interrupted ? { interrupted: true } : {}),
    }),
    publish(context, "call.settled", { callId: call.callId, ok, summary, ms, ...(ok ? {} : { code }) }),
  ];
}

function wordsFor(code: string, event: DownEvent): string {
  if (code === "TOOL_CANCELLED") return "The call was stopped before it ended.";
  if (code === "CRASHED") return `The call crashed: ${event.reason.kind === "crash" ? event.reason.error.message : ""}`;
  return "Interrupted: the server died while it ran. Outcome unknown, not run again. Look at what it may have done before you repeat it.";
}

/**
 * The server died while calls ran, and the turn may not go on: those that ran are stopped and waited for, so that what is known
 * of each stands in the transcript; those that waited are answered. No call stays without a result (P8).
 */
export function refuseResume(context: TurnContext, event: ResumedEvent): Decision<TurnContext> {
  const { set, effects = [] } = refuse(context, event);
  let { calls } = context;
  for (const call of inOrder(calls)) {
    if (call.state === "running")
      effects.push({
        type: "stop",
        params: { address: addressOf(context, call.callId), reason: { by: "crash", note: "the server died while it ran" } },
      });
    if (call.state !== "waiting") continue;
    calls = calls.put(call.callId, { ...call, state: "done" });
    effects.push(
      record(context, "tool_result", {
        callId: call.callId,
        ok: false,
        output: { ok: false, error: { code: "TOOL_CANCELLED", message: "The server died before this call was its turn; it was not run." } },
        summary: "not run",
        code: "TOOL_CANCELLED",
        ms: 0,
      }),
    );
  }
  return { set: { ...set, calls }, effects };
}

/** A watch on a call that is gone answers at once, so a lost `down` comes again; the session says again what it wants steered. */
export function lookAgain(context: TurnContext, _: ResumedEvent): Decision<TurnContext> {
  const watches = inOrder(context.calls)
    .filter((call) => call.state === "running")
    .map((call): Effect => ({ type: "watch", params: { address: addressOf(context, call.callId) } }));
  return {
    effects: [...watches, { type: "send", params: { to: context.sessionAddress, event: { type: "steer.again", turnId: context.turnId } } }],
  };
}
