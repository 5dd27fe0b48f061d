import { describe, expect, it } from "vitest";
import type { ActorView } from "../protocol/actor-view.ts";
import type { HistoryRow } from "../protocol/history.ts";
import { emptySessionView, type ActiveTurn, type SessionView } from "../protocol/session-view.ts";
import { NO_USAGE } from "../protocol/usage.ts";
import { sentenceOf, type Seen } from "./sentence.ts";

const NOW = new Date(2026, 10, 3, 14, 4, 0).getTime();
const at = (hours: number, minutes: number): number => new Date(2026, 10, 3, hours, minutes).getTime();
const turn = (more: Partial<ActiveTurn>): ActiveTurn => ({
  turnId: "t",
  state: "calling",
  origin: { kind: "human" },
  model: "local/qwen3",
  rehearsal: false,
  attempt: 1,
  round: 3,
  maxRounds: 40,
  startedAt: NOW - 60_000,
  until: null,
  why: null,
  blocks: [],
  calls: [],
  ...more,
});
const view = (more: Partial<SessionView>): Seen => ({ session: { ...emptySessionView("marlow", "main"), ...more }, now: NOW });
const running = (more: Partial<ActiveTurn>): Seen => view({ active: turn(more) });
const actor = (more: Partial<ActorView>): Seen => ({
  actor: {
    address: "/agents/a",
    birth: "1.1.0",
    kind: "session",
    state: "idle",
    status: "live",
    parent: "/agents",
    since: NOW - 72_000,
    detail: {},
    pending: [],
    mailbox: 0,
    restarts: 0,
    ...more,
  },
  now: NOW,
});
type End = Extract<HistoryRow, { kind: "turn_end" }>["data"];
/** What the tree tells of a session that nobody has open. */
const restingSession = (detail: ActorView["detail"]): Seen => actor({ since: at(13, 20), detail });
const ended = (data: Partial<End>): Seen =>
  view({
    rows: [
      { seq: 1, at: at(13, 20), turnId: "t", kind: "turn_end", data: { outcome: "completed", usage: NO_USAGE, costUsd: null, ...data } },
    ],
  });
const block = (kind: "text" | "thinking") => ({ blockId: "b", kind, attempt: 1, text: "x", offset: 1, open: true });
const call = { callId: "c", tool: "exec", input: {}, startedAt: NOW - 41_000, limitMs: 300_000 };

/** mark, whose move, sentence */
const TABLE: [string, Seen, string, string, string][] = [
  ["nothing was said yet", view({}), "idle", "none", "Idle. Nothing runs and nothing waits; marlow starts when you write."],
  ["rest after an answer", ended({}), "idle", "none", "Idle since 13:20, nothing waits. Last turn: done."],
  [
    "the queue moves up",
    view({ queue: [{ turnId: "q", position: 0, origin: { kind: "human" }, preview: "x", at: 1 }] }),
    "queued",
    "none",
    "1 message waits; the next one starts now.",
  ],
  [
    "held by a person",
    view({ held: true, queue: [{ turnId: "q", position: 0, origin: { kind: "human" }, preview: "x", at: 1 }] }),
    "held",
    "you",
    "Held: 1 message waits until you release it.",
  ],
  ["preparing", running({ state: "preparing" }), "preparing", "run", "Preparing: puts the conversation together."],
  ["the model was asked", running({}), "thinking", "run", "Waits for qwen3's first word, round 3 of at most 40."],
  [
    "a rehearsal was asked",
    running({ rehearsal: true, round: 1, maxRounds: null }),
    "thinking",
    "run",
    "Waits for the rehearsal's first word, round 1.",
  ],
  ["thinking", running({ blocks: [block("thinking")] }), "thinking", "run", "Thinking, round 3 of at most 40."],
  ["writing", running({ blocks: [block("text")] }), "writing", "run", "Writing, round 3 of at most 40; nothing else of this turn runs."],
  ["one tool", running({ state: "tools", calls: [call] }), "tool", "run", "exec runs for 41 s; it is cut at 5 min."],
  [
    "three tools",
    running({ state: "tools", calls: [call, { ...call, callId: "d" }, { ...call, callId: "e" }] }),
    "tool",
    "run",
    "exec and 2 more calls run for 41 s.",
  ],
  [
    "a 429",
    running({ state: "waiting", until: NOW + 12_000, why: "the model server answered 429." }),
    "clock",
    "none",
    "Waits 12 s: the model server answered 429. Then it asks again by itself.",
  ],
  ["settling", running({ state: "settling" }), "settling", "run", "Saves the outcome."],
  ["stop was pressed", { ...running({}), stopping: true }, "stopping", "run", "Stopping: what hangs on it ends first."],
  ["parked", view({ parked: "3 crashes in 60 s" }), "parked", "you", "Parked: 3 crashes in 60 s. Resume or stop it."],
  [
    "failed",
    ended({ outcome: "failed", error: { code: "PROVIDER_REFUSED_KEY", message: "the model server refused the key (401)." } }),
    "failed",
    "bad",
    "Failed: the model server refused the key (401).",
  ],
  [
    "the server died",
    ended({ outcome: "failed", error: { code: "INTERRUPTED", message: "x" } }),
    "interrupted",
    "bad",
    "The server died while it ran; outcome unknown, not repeated.",
  ],
  [
    "a process does not die",
    ended({ outcome: "failed", error: { code: "STOP_FAILED", message: "ffmpeg (pid 48213) does not die" } }),
    "stopfail",
    "bad",
    "ffmpeg (pid 48213) does not die. The session goes on.",
  ],
  [
    "rounds used up",
    ended({ outcome: "partial", outcomeReason: "round_cap", rounds: 40 }),
    "partial",
    "you",
    "The limit of 40 rounds forced the end, then it answered.",
  ],
  ["cut", ended({ outcome: "partial", outcomeReason: "cut" }), "cut", "you", "The answer broke off; what had come is kept."],
  [
    "not the model's words",
    ended({ outcome: "degraded", error: { code: "PROVIDER_LIMITED", message: "three refusals (429)" } }),
    "degraded",
    "you",
    "The text is somora's, not the model's: three refusals (429).",
  ],
  [
    "cancelled rests",
    ended({ outcome: "cancelled", stopped: { processes: 4, ms: 400 } }),
    "idle",
    "none",
    "Idle since 13:20, nothing waits. Last turn: cancelled.",
  ],
  ["tree: idle", actor({ since: at(13, 20) }), "idle", "none", "Idle since 13:20, nothing waits."],
  [
    "tree: a session whose last turn failed",
    restingSession({
      lastEnd: { outcome: "failed", outcomeReason: null, error: { code: "PROVIDER_FAILED", message: "it said 500." }, rounds: 1 },
    }),
    "failed",
    "bad",
    "Failed: it said 500.",
  ],
  [
    "tree: a session whose answer broke off",
    restingSession({ lastEnd: { outcome: "partial", outcomeReason: "cut", error: null, rounds: 1 } }),
    "cut",
    "you",
    "The answer broke off; what had come is kept.",
  ],
  [
    "tree: a session at rest after an answer",
    restingSession({ lastEnd: { outcome: "completed", outcomeReason: null, error: null, rounds: 1 } }),
    "idle",
    "none",
    "Idle since 13:20, nothing waits. Last turn: done.",
  ],
  ["tree: a held queue", restingSession({ held: true, queued: 2 }), "held", "you", "Held: 2 messages wait until you release them."],
  ["tree: a call", actor({ kind: "call", state: "running", detail: { tool: "exec" } }), "tool", "run", "exec runs for 1 min 12 s."],
  [
    "tree: a turn asks its model",
    actor({ kind: "turn", state: "running.calling" }),
    "thinking",
    "run",
    "Waits for the model for 1 min 12 s.",
  ],
  [
    "tree: waits for an agent",
    actor({ waitingFor: { what: "ledger's answer", since: NOW - 72_000 } }),
    "agent",
    "none",
    "Waits for ledger's answer for 1 min 12 s.",
  ],
  [
    "tree: waits for a slot",
    actor({ waitingFor: { what: "a slot; 4 of 4 are taken", since: NOW - 5_000 } }),
    "slot",
    "none",
    "Waits for a slot; 4 of 4 are taken for 5 s.",
  ],
  [
    "tree: a pool with a line",
    actor({ kind: "pool", detail: { cap: 4, used: 4, free: 0, waiting: 2 } }),
    "slot",
    "none",
    "4 of 4 slots in use, 2 wait for one.",
  ],
  [
    "tree: waits for a person",
    actor({ waitingFor: { what: "you: may it run csvcut?", since: NOW - 5_000 } }),
    "you",
    "you",
    "Waits for you for 5 s: may it run csvcut?",
  ],
  [
    "tree: nothing can move",
    actor({
      waitingFor: { what: "the prices (/agents/ledger/sessions/main)", since: NOW - 72_000 },
      stuck: "/agents/a waits for /agents/ledger/sessions/main (the prices), where nothing can move by itself",
    }),
    "stuck",
    "bad",
    "Waits 1 min 12 s for the prices (ledger / main). Nothing there can move by itself.",
  ],
  [
    "tree: mail nobody may take",
    actor({ stuck: "3 messages wait for an actor that is suspended and not being stopped" }),
    "stuck",
    "bad",
    "Nothing here can move: 3 messages wait for an actor that is suspended and not being stopped.",
  ],
  [
    "tree: a process that does not die",
    actor({ kind: "lost", state: "running", stuck: "exec (process) of /agents/a does not end" }),
    "stopfail",
    "bad",
    "exec (process) of /agents/a does not end. The server goes on.",
  ],
  ["tree: stopping", actor({ status: "stopping" }), "stopping", "run", "Stopping: what hangs on it ends first."],
  [
    "tree: parked",
    actor({ status: "parked", parkedReason: "folder gone" }),
    "parked",
    "you",
    "Parked: folder gone. Put it back and it goes on.",
  ],
  [
    "no connection, it worked",
    { ...running({ blocks: [block("text")] }), frozenAt: at(14, 3) },
    "writing",
    "none",
    "At 14:03:00 it was writing. What it does now is not known.",
  ],
  [
    "no connection, it rested",
    { ...ended({}), frozenAt: at(14, 3) },
    "idle",
    "none",
    "At 14:03:00: Idle since 13:20, nothing waits. Last turn: done.",
  ],
];

describe("the sentence", () => {
  it.each(TABLE)("%s", (_, seen, mark, move, sentence) => {
    expect(sentenceOf(seen)).toMatchObject({ mark, move, sentence });
  });
});
