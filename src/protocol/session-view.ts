/**
 * What a watcher of a session sees, and how each frame changes it. The server folds every frame into its view before the
 * frame gets its number; a client folds the same frames into the snapshot it got. Both run this file, so both hold the same.
 * Pure: a fold gives a new view and shares what did not change.
 */
import type { HistoryRow, Origin } from "./history.ts";
import type { Json } from "./json.ts";
import type { QueueEntry } from "./turn.ts";
import type { SessionFrame } from "./frames.ts";
import type { Usage } from "./usage.ts";

export interface BlockView {
  blockId: string;
  kind: "text" | "thinking";
  attempt: number;
  text: string;
  /** Where the next delta begins, in UTF-16 units; equals text.length. */
  offset: number;
  open: boolean;
}
export interface CallView {
  callId: string;
  tool: string;
  input: Json;
  startedAt: number;
  limitMs?: number;
  progress?: string;
  settled?: { ok: boolean; summary: string; ms: number; code?: string };
}
export interface ActiveTurn {
  turnId: string;
  state: string;
  origin: Origin;
  model: string;
  rehearsal: boolean;
  attempt: number;
  round: number;
  maxRounds: number | null;
  startedAt: number;
  /** When a wait (429) ends, and why. */
  until: number | null;
  why: string | null;
  /** Not yet rows: what streams now. */
  blocks: BlockView[];
  calls: CallView[];
}
export interface SteerView {
  steerId: string;
  text: string;
  after: string | null;
}
export interface SessionView {
  agent: string;
  session: string;
  /** The last rows, oldest first, at most 100 in a snapshot; a client that watches goes on collecting. */
  rows: HistoryRow[];
  oldestSeq: number | null;
  hasMore: boolean;
  active: ActiveTurn | null;
  queue: QueueEntry[];
  steers: SteerView[];
  questions: Json[];
  model: string | null;
  title: string | null;
  held: boolean;
  parked: string | null;
  cwd: string | null;
  usage: Usage | null;
  lastCostUsd: number | null;
}

export function emptySessionView(agent: string, session: string): SessionView {
  return {
    agent,
    session,
    rows: [],
    oldestSeq: null,
    hasMore: false,
    active: null,
    queue: [],
    steers: [],
    questions: [],
    model: null,
    title: null,
    held: false,
    parked: null,
    cwd: null,
    usage: null,
    lastCostUsd: null,
  };
}

function withActive(view: SessionView, turnId: string, change: (active: ActiveTurn) => ActiveTurn): SessionView {
  return view.active?.turnId === turnId ? { ...view, active: change(view.active) } : view;
}

function withBlock(view: SessionView, turnId: string, blockId: string, change: (block: BlockView) => BlockView): SessionView {
  return withActive(view, turnId, (active) => {
    const at = active.blocks.findIndex((block) => block.blockId === blockId);
    if (at < 0) return active;
    const blocks = active.blocks.slice();
    blocks[at] = change(blocks[at] as BlockView);
    return { ...active, blocks };
  });
}

function withCall(view: SessionView, turnId: string, callId: string, change: (call: CallView) => CallView): SessionView {
  return withActive(view, turnId, (active) => ({
    ...active,
    calls: active.calls.map((call) => (call.callId === callId ? change(call) : call)),
  }));
}

function openBlock(view: SessionView, kind: "text" | "thinking", data: { turnId: string; blockId: string; attempt: number }): SessionView {
  const block: BlockView = { blockId: data.blockId, kind, attempt: data.attempt, text: "", offset: 0, open: true };
  return withActive(view, data.turnId, (active) => ({
    ...active,
    blocks: [...active.blocks.filter((other) => other.blockId !== data.blockId), block],
  }));
}

/** Appends at `offset`; what is there already is not appended again, so a repeated delta changes nothing. */
function append(block: BlockView, offset: number, text: string): BlockView {
  if (offset > block.text.length) return block;
  const fresh = text.slice(block.text.length - offset);
  if (fresh.length === 0) return block;
  const whole = block.text + fresh;
  return { ...block, text: whole, offset: whole.length };
}

function addRow(view: SessionView, row: HistoryRow, fromBlock: boolean): SessionView {
  const newest = view.rows.at(-1)?.seq ?? 0;
  if (row.seq <= newest) return view;
  let added = row;
  let active = view.active;
  if ((row.kind === "assistant_message" || row.kind === "thinking") && active?.turnId === row.turnId) {
    const { blockId } = row.data;
    const block = active.blocks.find((other) => other.blockId === blockId);
    if (fromBlock && block) added = { ...row, data: { ...row.data, text: block.text } } as HistoryRow;
    active = { ...active, blocks: active.blocks.filter((other) => other.blockId !== blockId) };
  }
  if (row.kind === "tool_result" && active?.turnId === row.turnId) {
    const { callId } = row.data;
    active = { ...active, calls: active.calls.filter((call) => call.callId !== callId) };
  }
  return { ...view, active, rows: [...view.rows, added], oldestSeq: view.oldestSeq ?? row.seq };
}

/** A long queue moves up by one such frame for each entry: it is sorted only when the order changes. */
function moved(queue: QueueEntry[], turnId: string, position: number): QueueEntry[] {
  const at = queue.findIndex((entry) => entry.turnId === turnId);
  const entry = queue[at];
  if (entry === undefined || entry.position === position) return queue;
  const next = queue.slice();
  next[at] = { ...entry, position };
  const inOrder = (queue[at - 1]?.position ?? position) <= position && position <= (queue[at + 1]?.position ?? position);
  return inOrder ? next : next.sort((a, b) => a.position - b.position);
}

/** `at` is the frame's own time, for clocks on running things. */
export function foldSession(view: SessionView, frame: SessionFrame, at: number): SessionView {
  switch (frame.type) {
    case "turn.queued": {
      const { turnId, position, text, origin } = frame.data;
      if (view.queue.some((entry) => entry.turnId === turnId)) return view;
      return {
        ...view,
        queue: [...view.queue, { turnId, position, origin, preview: text, at: frame.data.at ?? at }].sort(
          (a, b) => a.position - b.position,
        ),
      };
    }
    case "turn.moved":
      return { ...view, queue: moved(view.queue, frame.data.turnId, frame.data.position) };
    case "turn.removed":
      return {
        ...view,
        queue: view.queue.filter((entry) => entry.turnId !== frame.data.turnId),
        steers: view.steers.filter((steer) => steer.steerId !== frame.data.turnId),
      };
    case "turn.started": {
      const { turnId, origin, model, attempt, rehearsal } = frame.data;
      const before = view.active?.turnId === turnId ? view.active : null;
      const active: ActiveTurn = {
        turnId,
        origin,
        model,
        attempt,
        rehearsal: rehearsal ?? false,
        state: before?.state ?? "preparing",
        round: before?.round ?? 0,
        maxRounds: before?.maxRounds ?? null,
        startedAt: before?.startedAt ?? at,
        until: null,
        why: null,
        blocks: before?.blocks ?? [],
        calls: before?.calls ?? [],
      };
      return { ...view, active, queue: view.queue.filter((entry) => entry.turnId !== turnId) };
    }
    case "turn.state":
      return withActive(view, frame.data.turnId, (active) => ({
        ...active,
        state: frame.data.state,
        round: frame.data.round,
        maxRounds: frame.data.maxRounds ?? active.maxRounds,
        until: frame.data.until ?? null,
        why: frame.data.why ?? null,
      }));
    case "text.start":
      return openBlock(view, "text", frame.data);
    case "thinking.start":
      return openBlock(view, "thinking", frame.data);
    case "text.delta":
    case "thinking.delta":
      return withBlock(view, frame.data.turnId, frame.data.blockId, (block) => append(block, frame.data.offset, frame.data.text));
    case "text.end":
    case "thinking.end":
      return withBlock(view, frame.data.turnId, frame.data.blockId, (block) => ({ ...block, open: false }));
    case "text.reset":
      return withActive(view, frame.data.turnId, (active) => ({
        ...active,
        blocks: active.blocks.filter((block) => block.blockId !== frame.data.blockId),
      }));
    case "call.started": {
      const { turnId, callId, tool, input, limitMs } = frame.data;
      return withActive(view, turnId, (active) => {
        if (active.calls.some((call) => call.callId === callId)) return active;
        return {
          ...active,
          calls: [...active.calls, { callId, tool, input, startedAt: at, ...(limitMs === undefined ? {} : { limitMs }) }],
        };
      });
    }
    case "call.progress":
      return withCall(view, frame.data.turnId, frame.data.callId, (call) =>
        frame.data.text === undefined ? call : { ...call, progress: frame.data.text },
      );
    case "call.settled": {
      const { ok, summary, ms, code } = frame.data;
      return withCall(view, frame.data.turnId, frame.data.callId, (call) => ({
        ...call,
        settled: { ok, summary, ms, ...(code === undefined ? {} : { code }) },
      }));
    }
    case "steer.accepted":
      return view.steers.some((steer) => steer.steerId === frame.data.steerId)
        ? view
        : { ...view, steers: [...view.steers, { steerId: frame.data.steerId, text: frame.data.text, after: frame.data.after ?? null }] };
    case "steer.applied":
      return { ...view, steers: view.steers.filter((steer) => steer.steerId !== frame.data.steerId) };
    case "session.changed": {
      const { model, title, held, parked } = frame.data;
      return {
        ...view,
        ...(model === undefined ? {} : { model }),
        ...(title === undefined ? {} : { title }),
        ...(held === undefined ? {} : { held }),
        ...(parked === undefined ? {} : { parked }),
      };
    }
    case "turn.settled":
      return {
        ...view,
        active: view.active?.turnId === frame.data.turnId ? null : view.active,
        queue: view.queue.filter((entry) => entry.turnId !== frame.data.turnId),
        usage: frame.data.usage.contextUsed === undefined ? view.usage : frame.data.usage,
        lastCostUsd: frame.data.costUsd,
      };
    case "row.added":
      return addRow(view, frame.data.row, frame.data.fromBlock ?? false);
    case "notice":
    case "model.fallback":
      return view;
  }
}
