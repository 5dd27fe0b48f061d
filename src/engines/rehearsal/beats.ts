/**
 * A planned round as a sequence of beats in time: pure, so that the engine in process and the one served over HTTP play it
 * alike. Who plays waits at `wait`, and stops at `fail`, `cut` or `end`.
 */
import type { RoundPlan } from "./player.ts";

export type Beat =
  | { kind: "think"; text: string }
  | { kind: "say"; text: string }
  /** `ms: null` waits for ever. `stall`: nothing at all comes in this time. */
  | { kind: "wait"; ms: number | null; stall: boolean }
  | { kind: "call"; index: number; id: string; name: string; arguments: string }
  | { kind: "fail"; status: number; message: string; retryAfter: number | null; begun: boolean }
  /** The stream breaks off: no finish reason, no end mark. */
  | { kind: "cut" }
  | { kind: "end"; finish: "stop" | "tools" | "length" };

/** Words with the white space behind them; one that is very long is split between characters. */
const WORD = /\S{1,24}\s*|\s+/gu;
/** At once still means several deltas. */
const PIECES_AT_ONCE = 16;
const LEAST_WAIT_MS = 20;

export function* beatsOf(plan: RoundPlan): Generator<Beat> {
  if (plan.stall?.at === "start") yield { kind: "wait", ms: plan.stall.for, stall: true };
  if (plan.fail?.at === "start") {
    yield failure(plan.fail, false);
    return;
  }
  yield* spoken("think", plan.think, plan.pace);
  yield* spoken("say", plan.say, plan.pace);
  if (plan.stall?.at === "middle") yield { kind: "wait", ms: plan.stall.for, stall: true };
  if (plan.fail !== null) {
    yield failure(plan.fail, true);
    return;
  }
  if (plan.cut === "text") {
    yield { kind: "cut" };
    return;
  }
  for (const [index, call] of plan.calls.entries()) {
    const halved = plan.cut === "arguments" && index === plan.calls.length - 1;
    yield { kind: "call", index, ...call, ...(halved ? { arguments: firstHalf(call.arguments) } : {}) };
  }
  if (plan.cut === "finish") yield { kind: "cut" };
  else yield { kind: "end", finish: plan.cut === "arguments" ? "length" : plan.calls.length > 0 ? "tools" : "stop" };
}

function* spoken(kind: "think" | "say", text: string, pace: number): Generator<Beat> {
  const words = text.match(WORD) ?? [];
  const perPiece =
    pace > 0 ? Math.max(1, Math.round((pace * LEAST_WAIT_MS) / 1000)) : Math.max(1, Math.ceil(words.length / PIECES_AT_ONCE));
  for (let at = 0; at < words.length; at += perPiece) {
    if (at > 0 && pace > 0) yield { kind: "wait", ms: (perPiece * 1000) / pace, stall: false };
    yield { kind, text: words.slice(at, at + perPiece).join("") };
  }
}

function failure(fail: NonNullable<RoundPlan["fail"]>, begun: boolean): Beat {
  return {
    kind: "fail",
    status: fail.status,
    message: fail.message ?? "The rehearsal plays a failure.",
    retryAfter: fail.retryAfter ?? null,
    begun,
  };
}

function firstHalf(text: string): string {
  return text.slice(0, Math.max(1, Math.floor(text.length / 2)));
}
