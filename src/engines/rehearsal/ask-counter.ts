/**
 * How often the very same request came: what `fail: { times }` counts by. The one thing about a rehearsal that is no function
 * of script and messages (a failed request leaves nothing in them); after a restart it begins anew.
 */
import { createHash } from "node:crypto";
import type { ChatMessage } from "../../ports/engine.port.ts";

const KEPT = 1_000;

export interface AskCounter {
  /** 1 at the first time. */
  count(who: string[], messages: readonly ChatMessage[]): number;
}

export function createAskCounter(): AskCounter {
  const counts = new Map<string, number>();
  return {
    count(who, messages) {
      const key = createHash("sha256")
        .update(JSON.stringify([who, messages]))
        .digest("base64");
      const count = (counts.get(key) ?? 0) + 1;
      counts.delete(key);
      counts.set(key, count);
      const oldest = counts.size > KEPT ? counts.keys().next().value : undefined;
      if (oldest !== undefined) counts.delete(oldest);
      return count;
    },
  };
}
