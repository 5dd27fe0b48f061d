/**
 * One `SessionView` per session, kept by the same fold that clients run, fed with committed facts and with what streams. It
 * is where a watcher starts, whenever it comes: also in the middle of a turn.
 *
 * 1. Nothing uncommitted gets in, streaming text aside: facts come from commits, the first state from restored rows.
 * 2. Frames of one session are told in one order; a row whose text must first be read holds back what comes after it.
 */
import type { TurnContext } from "../machines/index.ts";
import type { SessionContext } from "../machines/index.ts";
import { type Address, agentAddress, placeOf, sessionAddress, turnAddress } from "../protocol/ids.ts";
import type { SessionFrame } from "../protocol/frames.ts";
import type { HistoryRow } from "../protocol/history.ts";
import { sessionOfTopic } from "../protocol/live-ops.ts";
import { type ActiveTurn, emptySessionView, foldSession, type SessionView } from "../protocol/session-view.ts";
import type { CommitNews } from "./kernel/core.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { Conversations } from "./conversations.ts";
import type { PayloadTexts } from "./payload-texts.ts";

const ROWS_KEPT = 200;
const ROWS_SHOWN = 100;

export type SessionListener = (agent: string, session: string, type: string, data: unknown, at: number) => void;

interface Kept {
  view: SessionView;
  rowsLoaded: boolean;
  /** Set while frames wait for a row's text. */
  tail: Promise<void> | null;
}

export class SessionViews {
  readonly #conversations: Conversations;
  readonly #texts: PayloadTexts;
  readonly #now: () => number;
  readonly #kept = new Map<Address, Kept>();
  readonly #listeners = new Set<SessionListener>();

  constructor(conversations: Conversations, texts: PayloadTexts, now: () => number) {
    this.#conversations = conversations;
    this.#texts = texts;
    this.#now = now;
  }

  /** After the restore: views of all sessions, without rows. */
  start(kernel: Kernel): void {
    for (const address of kernel.addresses(agentAddress("").slice(0, -1) as Address)) {
      if (kernel.committed(address)?.kind === "session") this.#begin(kernel, address);
    }
  }

  #begin(kernel: Kernel, address: Address): Kept {
    const { agent = "", session = "" } = placeOf(address);
    const kept: Kept = {
      view: { ...emptySessionView(agent, session), ...stateOf(kernel, address, this.#texts) },
      rowsLoaded: false,
      tail: null,
    };
    this.#kept.set(address, kept);
    return kept;
  }

  on(listener: SessionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The view with its last 100 rows; null when there is no such session. */
  async view(agent: string, session: string): Promise<SessionView | null> {
    const address = sessionAddress(agent, session);
    const kept = this.#kept.get(address);
    if (!kept) return null;
    if (!kept.rowsLoaded) {
      const page = await this.#conversations.page(address, undefined, ROWS_SHOWN);
      const newest = page.rows.at(-1)?.seq ?? 0;
      const rows = [...page.rows, ...kept.view.rows.filter((row) => row.seq > newest)];
      kept.view = { ...kept.view, rows, oldestSeq: rows[0]?.seq ?? null, hasMore: page.hasMore, ...lastUsage(rows) };
      kept.rowsLoaded = true;
    }
    const rows = kept.view.rows.slice(-ROWS_SHOWN);
    return { ...kept.view, rows, oldestSeq: rows[0]?.seq ?? null, hasMore: kept.view.hasMore || rows.length < kept.view.rows.length };
  }

  /** What a commit brought. New sessions begin, gone ones end, facts are folded in their order. */
  take(kernel: Kernel, news: CommitNews): void {
    for (const address of news.changed) {
      const committed = kernel.committed(address);
      if (committed?.kind === "session" && !this.#kept.has(address)) this.#begin(kernel, address);
      if (!committed && this.#kept.has(address) && !kernel.has(address)) this.#kept.delete(address);
      const kept = this.#kept.get(address);
      if (committed && kept && kept.view.parked !== committed.parkedReason)
        this.#emit(address, "session.changed", { parked: committed.parkedReason }, news.at);
    }
    for (const fact of news.facts) {
      if (fact.kind === "publish") {
        const place = sessionOfTopic(fact.publish.topic);
        if (place) this.#emit(sessionAddress(place.agent, place.session), fact.publish.type, fact.publish.data, news.at);
        continue;
      }
      const row = this.#conversations.take(fact);
      if (row instanceof Promise) this.#holdUntil(fact.session, row, news.at);
      else this.#emit(fact.session, "row.added", { row }, fact.at);
    }
  }

  live(topic: string, type: string, data: unknown): void {
    const place = sessionOfTopic(topic);
    if (place) this.#emit(sessionAddress(place.agent, place.session), type, data, this.#now());
  }

  /** A row whose text is still read from the store: what comes after it waits, so that order holds. */
  #holdUntil(address: Address, row: Promise<HistoryRow>, at: number): void {
    const kept = this.#kept.get(address);
    if (!kept) return;
    this.#afterwards(kept, async () => {
      // Unreadable now: it is in the history all the same, watchers see it when they load that.
      const ready = await row.catch(() => null);
      if (ready) this.#emitNow(kept, "row.added", { row: ready }, at);
    });
  }

  #afterwards(kept: Kept, work: () => void | Promise<void>): void {
    const tail = (kept.tail ?? Promise.resolve()).then(work);
    kept.tail = tail;
    void tail.finally(() => {
      if (kept.tail === tail) kept.tail = null;
    });
  }

  #emit(address: Address, type: string, data: unknown, at: number): void {
    const kept = this.#kept.get(address);
    if (!kept) return;
    if (kept.tail) this.#afterwards(kept, () => this.#emitNow(kept, type, data, at));
    else this.#emitNow(kept, type, data, at);
  }

  #emitNow(kept: Kept, type: string, data: unknown, at: number): void {
    kept.view = foldSession(kept.view, { type, data } as SessionFrame, at);
    if (kept.view.rows.length > ROWS_KEPT) kept.view = { ...kept.view, rows: kept.view.rows.slice(-ROWS_SHOWN), hasMore: true };
    for (const listener of this.#listeners) listener(kept.view.agent, kept.view.session, type, data, at);
  }
}

/** The state a view starts from: what the restored charts hold. */
function stateOf(kernel: Kernel, address: Address, texts: PayloadTexts): Partial<SessionView> {
  const context = kernel.context(address) as unknown as SessionContext | null;
  if (!context) return {};
  const queue = [...context.queue.entries()].sort((a, b) => a[1].n - b[1].n);
  const offset = context.running === null ? 0 : 1;
  return {
    title: context.title,
    held: context.held,
    model: context.model,
    cwd: context.cwd,
    parked: kernel.parkedReason(address),
    queue: queue.map(([turnId, item], index) => ({
      turnId,
      position: index + offset,
      origin: item.origin,
      preview: item.text.preview,
      at: item.at,
    })),
    steers: [...context.steers.entries()].map(([steerId, steer]) => ({ steerId, text: steer.text.preview, after: null })),
    active: context.running === null ? null : activeOf(kernel, context, context.running, texts),
  };
}

function activeOf(kernel: Kernel, session: SessionContext, turnId: string, texts: PayloadTexts): ActiveTurn | null {
  const address = turnAddress(session.agent, session.session, turnId);
  const turn = kernel.context(address) as unknown as TurnContext | null;
  if (!turn?.prepared) return null;
  return {
    turnId,
    state: kernel.committed(address)?.state ?? "calling",
    origin: turn.origin,
    model: turn.prepared.ref,
    rehearsal: turn.prepared.rehearsal,
    attempt: turn.attempt,
    round: turn.round,
    maxRounds: turn.prepared.maxRounds,
    startedAt: turn.startedAt,
    until: null,
    why: null,
    blocks: [...turn.blocks.entries()].map(([blockId, block]) => {
      const text = texts.peek(block.ref.id) ?? "";
      return { blockId, kind: block.kind, attempt: block.attempt, text, offset: text.length, open: false };
    }),
    calls: [...turn.calls.entries()]
      .filter(([, call]) => call.state === "running")
      .map(([callId, call]) => ({
        callId,
        tool: call.tool,
        input: { preview: call.input?.preview ?? "", about: call.about },
        startedAt: call.startedAt,
        limitMs: call.limitMs,
      })),
  };
}

function lastUsage(rows: readonly HistoryRow[]): Partial<SessionView> {
  const last = rows.findLast((row) => row.kind === "turn_end" && row.data.usage.contextUsed !== undefined);
  return last?.kind === "turn_end" ? { usage: last.data.usage, lastCostUsd: last.data.costUsd } : {};
}
