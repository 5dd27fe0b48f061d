/**
 * A session's view as what a reader sees, top to bottom: what was said, thoughts, answers, calls that share a frame,
 * dividers, ends of turns. Keys stay the same from the first streamed character to the committed row, so nothing is drawn
 * anew or moves when a row takes a block's place.
 */
import type { HistoryRow } from "../protocol/history.ts";
import type { Json } from "../protocol/json.ts";
import type { ActiveTurn, BlockView, CallView, SessionView } from "../protocol/session-view.ts";

type RowOf<Kind extends HistoryRow["kind"]> = Extract<HistoryRow, { kind: Kind }>;

export interface CallItem {
  callId: string;
  turnId: string | null;
  tool: string;
  input: Json;
  at: number;
  row: RowOf<"tool_call"> | null;
  result: RowOf<"tool_result"> | null;
  /** Something of the same turn came after its result: a failure was handled and is no longer red. */
  handled: boolean;
  /** The turn ended right here. */
  ended: boolean;
}
export type Item =
  | {
      kind: "said";
      key: string;
      row: RowOf<"user_message">;
      /** For what was steered in: the tool it came after. */
      after: string | null;
    }
  | { kind: "text"; key: string; turnId: string | null; at: number; text: string; attempt: number; open: boolean; superseded: boolean }
  | {
      kind: "thought";
      key: string;
      turnId: string | null;
      at: number;
      text: string;
      open: boolean;
      interrupted: boolean;
      ms: number | undefined;
    }
  | { kind: "calls"; key: string; calls: CallItem[] }
  | { kind: "notice"; key: string; row: RowOf<"notice"> }
  | { kind: "end"; key: string; row: RowOf<"turn_end">; answer: string; newest: boolean };

/** When it was said or ended: what stands before or after a moment of the past. */
export function timeOf(item: Item): number {
  if (item.kind === "calls") return item.calls[0]?.at ?? 0;
  return "row" in item ? item.row.at : item.at;
}

const built = new WeakMap<readonly HistoryRow[], Item[]>();

/** Committed items are built once per change of `rows`; a delta only builds the last few. */
export function timelineOf(view: Pick<SessionView, "rows" | "active">): Item[] {
  let committed = built.get(view.rows);
  if (committed === undefined) {
    committed = fromRows(view.rows);
    built.set(view.rows, committed);
  }
  return view.active === null ? committed : withActive(committed, view.active, view.rows);
}

function fromRows(rows: readonly HistoryRow[]): Item[] {
  const items: Item[] = [];
  const calls = new Map<string, CallItem>();
  let lastOfTurn: CallItem[] = [];
  let answer: string[] = [];
  const newestEnd = rows.findLast((row) => row.kind === "turn_end")?.seq;
  for (const row of rows) {
    switch (row.kind) {
      case "user_message":
        if (row.data.steer !== true) answer = [];
        items.push({ kind: "said", key: `r:${row.seq}`, row, after: row.data.steer === true ? (lastOfTurn.at(-1)?.tool ?? null) : null });
        break;
      case "assistant_message": {
        for (const call of lastOfTurn) call.handled = true;
        const { blockId, text, attempt } = row.data;
        // a repeated round's earlier text: people may read it, the model does not; what was cut or stopped both know
        const superseded = row.data.superseded === true;
        if (text === "" && !superseded) break;
        if (!superseded) answer.push(text);
        items.push({ kind: "text", key: `b:${blockId}`, turnId: row.turnId, at: row.at, text, attempt, open: false, superseded });
        break;
      }
      case "thinking":
        for (const call of lastOfTurn) call.handled = true;
        items.push({
          kind: "thought",
          key: `b:${row.data.blockId}`,
          turnId: row.turnId,
          at: row.at,
          text: row.data.text,
          open: false,
          interrupted: row.data.interrupted === true || row.data.superseded === true,
          ms: row.data.ms,
        });
        break;
      case "tool_call": {
        for (const call of lastOfTurn) call.handled = call.row?.data.round !== row.data.round;
        const call: CallItem = {
          callId: row.data.callId,
          turnId: row.turnId,
          tool: row.data.tool,
          input: row.data.input,
          at: row.at,
          row,
          result: null,
          handled: false,
          ended: false,
        };
        calls.set(call.callId, call);
        lastOfTurn.push(call);
        addCall(items, call);
        break;
      }
      case "tool_result": {
        const call = calls.get(row.data.callId);
        if (call !== undefined) call.result = row;
        break;
      }
      case "notice":
        items.push({ kind: "notice", key: `r:${row.seq}`, row });
        break;
      case "turn_end": {
        const last = lastOfTurn.at(-1);
        if (last !== undefined && !last.handled) last.ended = row.data.outcome === "failed";
        lastOfTurn = [];
        items.push({ kind: "end", key: `e:${row.turnId ?? row.seq}`, row, answer: answer.join("\n\n"), newest: row.seq === newestEnd });
        answer = [];
      }
    }
  }
  return items;
}

function addCall(items: Item[], call: CallItem): void {
  const last = items.at(-1);
  if (last?.kind === "calls" && last.calls[0]?.turnId === call.turnId) last.calls.push(call);
  else items.push({ kind: "calls", key: `c:${call.callId}`, calls: [call] });
}

function withActive(committed: readonly Item[], active: ActiveTurn, rows: readonly HistoryRow[]): Item[] {
  const items = [...committed];
  for (const block of active.blocks) items.push(fromBlock(block, active));
  const shown = new Set<string>();
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at] as HistoryRow;
    if (row.turnId !== active.turnId && row.turnId !== null) break;
    if (row.kind === "tool_call") shown.add(row.data.callId);
  }
  for (const call of active.calls) if (!shown.has(call.callId)) addLive(items, call, active);
  return items;
}

function fromBlock(block: BlockView, active: ActiveTurn): Item {
  const base = {
    key: `b:${block.blockId}`,
    turnId: active.turnId,
    at: active.startedAt,
    text: block.text,
    open: block.open,
  };
  return block.kind === "text"
    ? { kind: "text", ...base, attempt: block.attempt, superseded: false }
    : { kind: "thought", ...base, interrupted: false, ms: undefined };
}

function addLive(items: Item[], call: CallView, active: ActiveTurn): void {
  const item: CallItem = {
    callId: call.callId,
    turnId: active.turnId,
    tool: call.tool,
    input: call.input,
    at: call.startedAt,
    row: null,
    result: null,
    handled: false,
    ended: false,
  };
  const last = items.at(-1);
  if (last?.kind === "calls" && last.calls[0]?.turnId === active.turnId)
    items[items.length - 1] = { ...last, calls: [...last.calls, item] };
  else items.push({ kind: "calls", key: `c:${call.callId}`, calls: [item] });
}
