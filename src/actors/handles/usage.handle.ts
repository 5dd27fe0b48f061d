/** Usage: sums of the ledger, descendants included. */
import type { LedgerSum } from "../../ports/journal.port.ts";
import type { UsageHandle } from "../../ports/handles.port.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

const NOTHING: LedgerSum = {
  agent: null,
  model: null,
  day: null,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd: null,
  unknown: 0,
  estimated: false,
};

export function usageHandle({ journal }: RuntimeParts): UsageHandle {
  return {
    async usage({ by, under }) {
      const scope = under === undefined ? {} : { under };
      const rows = await journal.reader.ledger({ by, ...scope });
      const [total] = await journal.reader.ledger({ by: [], ...scope });
      return { rows, total: total ?? NOTHING };
    },
  };
}
