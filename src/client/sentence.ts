/**
 * The one sentence: what something does, for what or whom, since when, what happens next. Pure; page, tree, command line
 * and terminal share it. Knows two sources: what a session's own topic says (finer), and what the tree says (anywhere).
 */
import type { ActorView } from "../protocol/actor-view.ts";
import type { ErrorBody, HistoryRow } from "../protocol/history.ts";
import type { ActiveTurn, SessionView } from "../protocol/session-view.ts";
import { lineName } from "./wait-chain.ts";
import { saying, type MarkName, type Saying } from "./marks.ts";
import { atTime, clockTime, codeWord, count, exactTime, ordinal, spanWords } from "./words.ts";

export interface Seen {
  actor?: ActorView | null | undefined;
  session?: SessionView | null | undefined;
  now: number;
  /** No connection: when what is shown was true. The sentence then speaks in the past. */
  frozenAt?: number | null | undefined;
  /** Stop was asked for and is not through. */
  stopping?: boolean | undefined;
}

export function sentenceOf(seen: Seen): Saying {
  const live = liveSentence(seen);
  return seen.frozenAt === null || seen.frozenAt === undefined ? live : frozen(live, seen.frozenAt);
}

function liveSentence({ actor, session, now, stopping }: Seen): Saying {
  const parked = session?.parked ?? actor?.parkedReason ?? null;
  if (parked !== null || actor?.status === "parked")
    return saying(
      "parked",
      `Parked: ${endless(parked ?? "it crashed too often")}. ${parked === "folder gone" ? "Put it back and it goes on." : "Resume or stop it."}`,
    );
  if (actor?.kind === "lost") return saying("stopfail", `${endless(actor.stuck ?? "A process does not end")}. The server goes on.`);
  if (actor?.stuck !== undefined) return ofStuck(actor, actor.stuck, now);
  if (stopping === true || actor?.status === "stopping") return saying("stopping", "Stopping: what hangs on it ends first.");
  if (session !== null && session !== undefined) {
    if (session.active !== null) return ofTurn(session.active, session, now);
    return ofRest(session, actor, now);
  }
  return actor === null || actor === undefined ? saying("idle", "Nothing is known of it yet.") : ofActor(actor, now);
}

function ofTurn(turn: ActiveTurn, session: SessionView, now: number): Saying {
  const round = turn.round > 0 ? `, round ${turn.round}${turn.maxRounds === null ? "" : ` of at most ${turn.maxRounds}`}` : "";
  if (turn.state === "waiting") {
    const left = turn.until === null ? "" : ` ${spanWords(Math.max(0, turn.until - now))}`;
    return saying(
      "clock",
      `Waits${left}${turn.why === null ? "" : `: ${endless(turn.why.replace(/\.? Again in [\d.]+ s\.?$/u, ""))}`}. Then it asks again by itself.`,
    );
  }
  if (turn.state === "settling") return saying("settling", "Saves the outcome.");
  const running = turn.calls.filter((call) => call.settled === undefined);
  const [first] = running;
  if (first !== undefined) {
    const since = now - first.startedAt;
    const also = running.length > 1 ? ` and ${count(running.length - 1, "more call")} run` : " runs";
    const limit = first.limitMs === undefined ? "" : `; it is cut at ${spanWords(first.limitMs)}`;
    return saying("tool", `${first.tool}${also} for ${spanWords(since)}${running.length > 1 ? "" : limit}.`);
  }
  const open = turn.blocks.findLast((block) => block.open);
  if (open?.kind === "text") return saying("writing", `Writing${round}; nothing else of this turn runs.`);
  if (open?.kind === "thinking") return saying("thinking", `Thinking${round}.`);
  if (turn.state === "tools") return saying("tool", `Tools are done; hands them to the model${round}.`);
  if (turn.state === "calling") return saying("thinking", `Waits for ${modelName(turn)}'s first word${round}.`);
  const rest =
    session.queue.length > 0 ? ` ${count(session.queue.length, "message")} ${session.queue.length === 1 ? "waits" : "wait"} for it.` : "";
  return saying("preparing", `Preparing: puts the conversation together.${rest}`);
}

function ofRest(session: SessionView, actor: ActorView | null | undefined, now: number): Saying {
  const rest = restOf({ waiting: session.queue.length, held: session.held, end: lastEnd(session.rows) }, now);
  if (rest !== null) return rest;
  const since = actor?.since === undefined ? "" : ` since ${atTime(actor.since, now)}`;
  return saying("idle", `Idle${since}. Nothing runs and nothing waits; ${session.agent} starts when you write.`);
}

/** A session without a running turn, whoever tells of it. Null: nothing was ever said in it. */
function restOf({ waiting, held, end }: { waiting: number; held: boolean; end: EndOfTurn | null }, now: number): Saying | null {
  if (held)
    return saying(
      "held",
      waiting === 0
        ? "Held: new messages wait until you release them."
        : `Held: ${count(waiting, "message")} ${waiting === 1 ? "waits" : "wait"} until you release ${waiting === 1 ? "it" : "them"}.`,
    );
  if (waiting > 0)
    return saying("queued", `${count(waiting, "message")} ${waiting === 1 ? "waits" : "wait"}; the next one starts now.`, {
      word: `queued ${waiting}`,
    });
  if (end === null) return null;
  const last = ofEnd(end, now);
  if (last.move !== "none") return last;
  return saying("idle", `Idle since ${atTime(end.at, now)}, nothing waits. Last turn: ${last.word}.`);
}

type EndRow = Extract<HistoryRow, { kind: "turn_end" }>;
interface EndOfTurn {
  at: number;
  data: Pick<EndRow["data"], "outcome" | "outcomeReason" | "error" | "stopped" | "rounds">;
}

function lastEnd(rows: readonly HistoryRow[]): EndOfTurn | null {
  const end = rows.findLast((row) => row.kind === "turn_end");
  return end?.kind === "turn_end" ? end : null;
}

/** How a turn ended, as its line under the answer says it. */
export function ofEnd(row: EndOfTurn, now: number): Saying {
  const { outcome, outcomeReason, error, stopped, rounds } = row.data;
  switch (outcome) {
    case "completed":
      return saying("done", `Answered ${atTime(row.at, now)}.`);
    case "partial":
      if (outcomeReason === "cut") return saying("cut", "The answer broke off; what had come is kept.", { word: "cut", move: "you" });
      if (outcomeReason === "tool_budget") return saying("partial", "The limit of tool calls forced the end, then it answered.");
      return saying("partial", `The limit of ${rounds === undefined ? "" : `${rounds} `}rounds forced the end, then it answered.`);
    case "degraded":
      return saying("degraded", `The text is somora's, not the model's${error === undefined ? "" : `: ${endless(error.message)}`}.`);
    case "failed":
      if (error?.code === "STOP_FAILED") return saying("stopfail", `${endless(error.message)}. The session goes on.`);
      if (error?.code === "INTERRUPTED") return saying("interrupted", "The server died while it ran; outcome unknown, not repeated.");
      return saying("failed", `Failed: ${endless(error?.message ?? "no reason was given")}.`);
    case "cancelled":
      return saying(
        "cancelled",
        `Cancelled${byWhom(error)}${stopped === undefined || stopped.processes === 0 ? "" : `; ${count(stopped.processes, "process", "processes")} ended in ${(stopped.ms / 1000).toFixed(1)} s`}.`,
      );
    case "removed":
      return saying("removed", "Taken back before it started.");
  }
}

function byWhom(error: ErrorBody | undefined): string {
  const reason = error?.["reason"];
  const by = typeof reason === "object" && reason !== null && "by" in reason ? reason.by : reason;
  if (by === undefined || by === null || by === "user") return " by you";
  return typeof by === "string" ? ` (${by})` : "";
}

function ofStuck({ waitingFor, since }: ActorView, why: string, now: number): Saying {
  if (waitingFor === undefined) return saying("stuck", `Nothing here can move: ${endless(why)}.`);
  const waited = spanWords(Math.max(0, now - (waitingFor.since || since)));
  return saying("stuck", `Waits ${waited} for ${named(waitingFor.what)} Nothing there can move by itself.`);
}

/** From the tree alone: `state` is the chart's own word. */
function ofActor(actor: ActorView, now: number): Saying {
  const span = spanWords(Math.max(0, now - actor.since));
  if (actor.kind === "pool") return ofPool(actor);
  if (actor.status === "restarting") return saying("clock", "Crashed; it starts anew in a moment.");
  if (actor.status === "suspended") return saying("idle", `Stopped ${atTime(actor.since, now)}; it goes on when somebody writes.`);
  if (actor.waitingFor !== undefined && !(actor.kind === "turn" && actor.state.endsWith("calling"))) {
    const { what } = actor.waitingFor;
    const waited = spanWords(Math.max(0, now - (actor.waitingFor.since || actor.since)));
    if (actor.kind === "turn") return saying("clock", `Waits for ${what}, ${waited} so far.`);
    if (/slot/iu.test(what)) return saying("slot", `Waits for ${what} for ${waited}.`);
    if (/\b(you|person|human)\b/iu.test(what))
      return saying("you", `Waits for you for ${waited}: ${stopped(what.replace(/^you:?\s*/iu, ""))}`);
    return saying("agent", `Waits for ${what} for ${waited}.`);
  }
  const mark = markOfState(actor);
  if (actor.kind === "session" && mark === "idle") {
    const rest = restOf(restInTree(actor), now);
    if (rest !== null) return rest;
  }
  const name = actor.kind === "call" ? (text(actor.detail["tool"]) ?? "The call") : null;
  switch (mark) {
    case "tool":
      return saying(
        "tool",
        `${name ?? "A tool"} runs for ${span}${typeof actor.detail["limitMs"] === "number" ? `; it is cut at ${spanWords(actor.detail["limitMs"])}` : ""}.`,
        actor.kind === "call" ? { word: "running" } : {},
      );
    case "thinking":
      return saying("thinking", `Waits for the model for ${span}.`);
    case "writing":
      return saying("writing", `Writing for ${span}.`);
    case "preparing":
      return saying("preparing", `Preparing for ${span}.`);
    case "settling":
      return saying("settling", "Saves the outcome.");
    case "working":
      return saying("working", `Works for ${span}.`);
    case "queued": {
      const place = actor.detail["position"];
      return saying(
        "queued",
        typeof place === "number" && place > 0 ? `${capital(ordinal(place))} in line.` : `Waits in line for ${span}.`,
      );
    }
    case "clock":
      return saying("clock", `Waits for ${span}${actor.nextTimer === undefined ? "" : `; goes on ${clockTime(actor.nextTimer.at)}`}.`);
    case "failed": {
      const code = text(actor.detail["code"]);
      return saying("failed", `${name ?? "It"} failed${code === undefined ? "" : `: ${codeWord(code)}`}.`);
    }
    case "done":
    case "cancelled":
    case "interrupted":
      return saying(mark, `${capital(saying(mark, "").word)} ${atTime(actor.since, now)}.`);
    default:
      return saying("idle", `Idle since ${atTime(actor.since, now)}, nothing waits.`);
  }
}

/** What a session's actor keeps of its queue and of how its last turn ended (`SessionContext.lastEnd`). */
function restInTree({ detail, since }: ActorView): { waiting: number; held: boolean; end: EndOfTurn | null } {
  const last = (detail["lastEnd"] ?? null) as {
    outcome: EndOfTurn["data"]["outcome"];
    outcomeReason: string | null;
    error: ErrorBody | null;
    rounds: number;
  } | null;
  const end = last && {
    at: since,
    data: {
      outcome: last.outcome,
      rounds: last.rounds,
      ...(last.outcomeReason === null ? {} : { outcomeReason: last.outcomeReason }),
      ...(last.error === null ? {} : { error: last.error }),
    },
  };
  return { waiting: Number(detail["queued"] ?? 0), held: detail["held"] === true, end };
}

function ofPool({ detail }: ActorView): Saying {
  const [cap, used, waiting] = ["cap", "used", "waiting"].map((key) => Number(detail[key] ?? 0)) as [number, number, number];
  const line = waiting === 0 ? "nobody waits" : `${waiting} ${waiting === 1 ? "waits" : "wait"} for one`;
  return saying(waiting > 0 ? "slot" : "idle", `${used} of ${cap} slots in use, ${line}.`, { word: `${used} of ${cap}` });
}

const STATES: readonly [RegExp, MarkName][] = [
  [/stop|abort/u, "stopping"],
  [/interrupt/u, "interrupted"],
  [/cancel/u, "cancelled"],
  [/fail|crash/u, "failed"],
  [/prepar|starting|recall/u, "preparing"],
  [/calling|think|asking|engine|model/u, "thinking"],
  [/writ|stream|answer/u, "writing"],
  [/tool|calls/u, "tool"],
  [/settl|saving|closing|ending|finish/u, "settling"],
  [/wait|paus|back/u, "clock"],
  [/queue|pending/u, "queued"],
  [/done|complete|ended|settled/u, "done"],
  [/run|work|busy|active|turn/u, "working"],
];

function markOfState(actor: ActorView): MarkName {
  const state = actor.state.toLowerCase();
  const found = STATES.find(([pattern]) => pattern.test(state))?.[1] ?? "idle";
  return actor.kind === "call" && (found === "working" || found === "preparing") ? "tool" : found;
}

/** What was true at `at`. Blue goes: nothing may claim to be alive. */
function frozen(live: Saying, at: number): Saying {
  const was =
    live.move === "run" || live.mark === "clock"
      ? `At ${exactTime(at)} it was ${live.word === "tool" ? "running a tool" : live.word}. What it does now is not known.`
      : `At ${exactTime(at)}: ${live.sentence}`;
  return { ...live, moves: false, move: live.move === "run" ? "none" : live.move, sentence: was };
}

function modelName(turn: ActiveTurn): string {
  return turn.rehearsal ? "the rehearsal" : turn.model.slice(turn.model.lastIndexOf("/") + 1);
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
const endless = (words: string): string => words.trim().replace(/[.!]+$/u, "");
/** With a full stop, unless it asks. */
const stopped = (words: string): string => (words.trim().endsWith("?") ? words.trim() : `${endless(words)}.`);
/** An address in the runtime's words, such as `the prices (/agents/ledger/sessions/main)`, as the name people know. */
const named = (words: string): string => stopped(words.replaceAll(/\/agents\/[^\s()]+/gu, lineName));
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
