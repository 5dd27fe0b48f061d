/** The tree as it was: actors from their rows, without a kernel. A row says less than a living actor: plain facts of its context. */
import type { ActorView } from "../protocol/actor-view.ts";
import { type Address, isWithin, placeOf } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { StoredRow } from "../ports/journal.port.ts";
import { type ActorBody, blockedOn, nearest, openWork, readHead } from "./kernel/rows.ts";

/** Longer texts are no facts for a row of the tree. */
const LONGEST_FACT = 120;

/** Those that lived then, below `under`. */
export function pastViews(rows: readonly StoredRow[], under: Address): ActorView[] {
  return rows.flatMap((row) => {
    const head = readHead(row.head);
    if (head.status === "down" || !isWithin(head.address, under)) return [];
    const body = JSON.parse(row.body ?? "{}") as Partial<ActorBody>;
    const { agent } = placeOf(head.address);
    const waitingFor = blockedOn(head.waits);
    const nextTimer = nearest(head.timers);
    return [
      {
        address: head.address,
        birth: head.birth,
        kind: head.kind,
        ...(agent === undefined ? {} : { persona: agent }),
        state: head.state,
        status: head.status,
        parent: head.parent,
        since: head.since,
        detail: plainFacts(body.snapshot?.context ?? {}),
        ...(waitingFor === null ? {} : { waitingFor }),
        pending: openWork(body.pending ?? []),
        mailbox: body.mail?.length ?? 0,
        restarts: head.restarts,
        ...(head.parked === null ? {} : { parkedReason: head.parked }),
        ...(head.cost === null ? {} : { costUsd: head.cost[1] ? null : head.cost[0] }),
        ...(nextTimer === null ? {} : { nextTimer }),
      },
    ];
  });
}

function plainFacts(context: JsonObject): { [field: string]: Json } {
  return Object.fromEntries(
    Object.entries(context).filter(
      ([, value]) => typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length <= LONGEST_FACT),
    ),
  );
}
