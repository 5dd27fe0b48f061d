/** Which session a turn id belongs to, and who waits for its end. Built from the restored charts, kept up by committed facts. */
import type { SessionContext } from "../machines/index.ts";
import { type Address, sessionAddress } from "../protocol/ids.ts";
import { sessionOfTopic } from "../protocol/live-ops.ts";
import type { CommitNews } from "./kernel/core.ts";
import type { Kernel } from "./kernel/kernel.ts";

export class TurnIndex {
  readonly #sessions = new Map<string, Address>();
  readonly #waiters = new Map<string, Set<() => void>>();

  start(kernel: Kernel): void {
    for (const address of kernel.addresses()) {
      if (kernel.committed(address)?.kind !== "session") continue;
      const context = kernel.context(address) as unknown as SessionContext;
      for (const parts of [context.turns, context.queue, context.steers]) for (const [turnId] of parts.entries()) this.#sessions.set(turnId, address);
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
      if (type === "turn.queued" || type === "turn.started" || type === "steer.accepted") this.#sessions.set(id, sessionAddress(place.agent, place.session));
      if (type === "turn.settled" || type === "turn.removed" || type === "steer.applied") this.#waiters.get(id)?.forEach((wake) => wake());
    }
  }

  sessionOf(turnId: string): Address | null {
    return this.#sessions.get(turnId) ?? null;
  }

  forget(session: Address): void {
    for (const [turnId, address] of this.#sessions) if (address === session) this.#sessions.delete(turnId);
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
