/**
 * The topic of one session. Built while frames arrive: they are kept until the start state is there, then those that it does
 * not hold yet are folded in. From then on: event → merged deltas → rows made short → view, number, watchers.
 */
import { Subject, type SchedulerLike } from "rxjs";
import { sessionFrames, type SessionFrame } from "../../protocol/frames.ts";
import type { HistoryRow } from "../../protocol/history.ts";
import { foldSession, type SessionView } from "../../protocol/session-view.ts";
import { sampleDeltas, type LiveEvent } from "./sample-deltas.ts";
import { shortenRow } from "./shorten-row.ts";
import { Topic } from "./topic.ts";

const ROWS_SHOWN = 100;
const ROWS_KEPT = 300;

export type SessionTopic = Topic<SessionView, SessionFrame>;

/** The view as a snapshot gives it: the last 100 rows. */
export function showSession(view: SessionView): SessionView {
  if (view.rows.length <= ROWS_SHOWN) return view;
  const rows = view.rows.slice(-ROWS_SHOWN);
  return { ...view, rows, hasMore: true, oldestSeq: rows[0]?.seq ?? null };
}

export interface SessionFeed {
  /** Resolves once the start state is there; null: no such session. */
  ready: Promise<SessionTopic | null>;
  take(event: LiveEvent): void;
  end(): void;
}

export function feedSession(options: {
  name: string;
  epoch: number;
  from: number;
  load: () => Promise<SessionView | null>;
  scheduler: SchedulerLike | undefined;
}): SessionFeed {
  const events = new Subject<LiveEvent>();
  let early: LiveEvent[] | null = [];
  const start = async (): Promise<SessionTopic | null> => {
    const loaded = await options.load();
    const arrived = early ?? [];
    early = null;
    if (loaded === null) return null;
    let view: SessionView = { ...loaded, rows: loaded.rows.map(shortenRow) };
    for (const event of notYetIn(view, arrived)) view = foldSession(view, shortFrame(event, view), event.at);
    const topic: SessionTopic = new Topic({
      name: options.name,
      epoch: options.epoch,
      from: options.from,
      view,
      fold: foldSession,
      show: showSession,
    });
    events.pipe(sampleDeltas(undefined, options.scheduler)).subscribe((event) => {
      topic.publish(shortFrame(event, topic.view), event.at);
      if (topic.view.rows.length > ROWS_KEPT) topic.trim(showSession);
    });
    return topic;
  };
  return {
    ready: start(),
    take(event) {
      if (!Object.hasOwn(sessionFrames, event.type)) return;
      if (early) early.push(event);
      else events.next(event);
    },
    end: () => events.complete(),
  };
}

/**
 * Frames that came while the start state was read may be in it already. Most folds take them twice without harm; what a row
 * of the start state has replaced (a block, a call, a whole turn) must not come to life again.
 */
function notYetIn(view: SessionView, events: readonly LiveEvent[]): LiveEvent[] {
  const newest = view.rows.at(-1)?.seq ?? 0;
  const past = new Set<string>();
  return events
    .slice()
    .reverse()
    .filter(({ type, data }) => {
      if (type === "row.added") {
        const { row } = data as { row: HistoryRow };
        if (row.seq > newest) return true;
        if (row.kind === "assistant_message" || row.kind === "thinking") past.add(`${row.turnId} block ${row.data.blockId}`);
        if (row.kind === "tool_result") past.add(`${row.turnId} call ${row.data.callId}`);
        if (row.kind === "turn_end") past.add(`${row.turnId} turn`);
        return false;
      }
      const { turnId, blockId, callId } = data as { turnId?: string; blockId?: string; callId?: string };
      if (past.has(`${turnId} turn`) && type !== "turn.settled") return false;
      return !past.has(`${turnId} block ${blockId}`) && !past.has(`${turnId} call ${callId}`);
    })
    .reverse();
}

/** A row whose text already went out as a block goes without it; long outputs go short. */
function shortFrame(event: LiveEvent, view: SessionView): SessionFrame {
  if (event.type !== "row.added") return { type: event.type, data: event.data } as SessionFrame;
  const { row } = event.data as { row: HistoryRow };
  if ((row.kind === "assistant_message" || row.kind === "thinking") && view.active !== null && view.active.turnId === row.turnId) {
    const { blockId, text } = row.data;
    const block = view.active.blocks.find((other) => other.blockId === blockId);
    if (text !== "" && block?.text === text) {
      return { type: "row.added", data: { row: { ...row, data: { ...row.data, text: "" } } as HistoryRow, fromBlock: true } };
    }
  }
  return { type: "row.added", data: { row: shortenRow(row) } };
}
