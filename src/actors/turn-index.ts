/**
 * Which session a turn id belongs to, how it ended, and who waits for that. Built from the restored charts, kept up by committed
 * facts: what it says is on disk, also while the charts in memory are ahead of it.
 */
import type { SessionContext, TurnItem } from "../machines/index.ts";
import { type Address, sessionAddress } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import { sessionOfTopic } from "../protocol/live-ops.ts";
import type { CommitNews } from "./kernel/core.ts";
import type { Kernel } from "./kernel/kernel.ts";

/** `appliedTo`: a steer that this turn took. */
export type TurnOver = Pick<TurnItem, "outcome" | "outcomeReason" | "error"> | { appliedTo: string };

interface Known {
  session: Address;
  over: TurnOver | null;
}

export class TurnIndex {
  readonly #turns = new Map<string, Known>();
  readonly #waiters = new Map<string, Set<() => void>>();

  start(kernel: Kernel): void {
    for (const session of kernel.addresses()) {
      if (kernel.committed(session)?.kind !== "session") continue;
      const context = kernel.context(session) as unknown as SessionContext;
      for (const parts of [context.queue, context.steers])
        for (const [turnId] of parts.entries()) this.#turns.set(turnId, { session, over: null });
      for (const [turnId, turn] of context.turns.entries()) this.#turns.set(turnId, { session, over: overOf(turn) });
    }
  }

  take(news: CommitNews): void {
    for (const fact of news.facts) {
      if (fact.kind !== "publish") continue;
      const { topic, type, data } = fact.publish;
      const place = sessionOfTopic(topic);
      if (!place) continue;
      const id = data["turnId"] ?? data["steerId"];
      if (typeof id !== "string") continue;
      const session = sessionAddress(place.agent, place.session);
      if (type === "turn.queued" || type === "turn.started" || type === "steer.accepted") {
        if (!this.#turns.get(id)?.over) this.#turns.set(id, { session, over: null });
        continue;
      }
      const over = factOver(type, data);
      if (over === null) continue;
      this.#turns.set(id, { session, over });
      this.#waiters.get(id)?.forEach((wake) => wake());
    }
  }

  sessionOf(turnId: string): Address | null {
    return this.#turns.get(turnId)?.session ?? null;
  }

  /** How it ended, as far as that is on disk. */
  overOf(turnId: string): TurnOver | null {
    return this.#turns.get(turnId)?.over ?? null;
  }

  forget(session: Address): void {
    for (const [turnId, known] of this.#turns) if (known.session === session) this.#turns.delete(turnId);
  }

  /** Calls `wake` when something final is told of the turn; returns how to stop. */
  onEnd(turnId: string, wake: () => void): () => void {
    const waiters = this.#waiters.get(turnId) ?? new Set();
    this.#waiters.set(turnId, waiters);
    waiters.add(wake);
    return () => {
      waiters.delete(wake);
      if (waiters.size === 0) this.#waiters.delete(turnId);
    };
  }
}

function overOf(turn: TurnItem): TurnOver | null {
  if (turn.state === "applied" && turn.appliedTo !== null) return { appliedTo: turn.appliedTo };
  return turn.state === "ended" ? { outcome: turn.outcome, outcomeReason: turn.outcomeReason, error: turn.error } : null;
}

function factOver(type: string, data: JsonObject): TurnOver | null {
  // Back in the queue is not over; made a steer of is not either.
  if (type === "steer.applied") return data["appliedTo"] === "" ? null : { appliedTo: String(data["appliedTo"]) };
  if (type === "turn.removed") return data["by"] === "steer" ? null : { outcome: "removed", outcomeReason: null, error: null };
  if (type !== "turn.settled") return null;
  return {
    outcome: data["outcome"] as TurnItem["outcome"],
    outcomeReason: (data["outcomeReason"] ?? null) as string | null,
    error: (data["error"] ?? null) as TurnItem["error"],
  };
}
