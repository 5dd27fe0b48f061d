/** Actors: the living tree, one actor, its story, stop and resume. */
import type { ActorView, StoryStep } from "../../protocol/actor-view.ts";
import { freeSlots, type PoolContext, type SessionContext } from "../../machines/index.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { type Address, agentAddress, placeOf, ROOT, sessionAddress } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { Parts } from "../../protocol/parts.ts";
import type { PoolView } from "../../protocol/waits.ts";
import type { ActorsHandle } from "../../ports/handles.port.ts";
import { FOLDER_GONE, folderGone } from "../folder-gone.ts";
import { type ActorBody, readHead } from "../kernel/rows.ts";
import { pastViews } from "../past.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

const STOP_LIMIT_MS = 15_000;

export function actorView(parts: RuntimeParts, address: Address): ActorView | null {
  const committed = parts.kernel.committed(address);
  if (!committed) return null;
  const { agent } = placeOf(address);
  const stuck = parts.kernel.stuck(address);
  return {
    address,
    birth: committed.birth,
    kind: committed.kind,
    ...(agent === undefined ? {} : { persona: agent }),
    state: committed.state,
    status: committed.status,
    parent: committed.parent,
    since: committed.since,
    detail: committed.detail,
    ...(committed.waitingFor === null
      ? {}
      : { waitingFor: { what: committed.waitingFor.what, since: committed.waitingFor.since || committed.since } }),
    pending: committed.pending,
    mailbox: committed.mailbox,
    ...(stuck === null ? {} : { stuck }),
    restarts: committed.restarts,
    ...(committed.parkedReason === null ? {} : { parkedReason: committed.parkedReason }),
    ...(committed.booked ? { costUsd: committed.costUsd } : {}),
    ...(committed.nextTimer === null ? {} : { nextTimer: committed.nextTimer }),
  };
}

function poolView({ kernel }: RuntimeParts, address: Address): PoolView | null {
  if (kernel.committed(address)?.kind !== "pool") return null;
  const pool = kernel.context(address) as unknown as PoolContext;
  const waiting = [...pool.waiters.entries()].sort(([, a], [, b]) => a.n - b.n);
  return {
    address,
    cap: pool.cap,
    used: pool.holders.size,
    free: freeSlots(pool),
    holders: [...pool.holders.entries()].map(([holder, { since }]) => ({ address: holder as Address, since })),
    waiting: waiting.map(([, waiter], index) => ({ address: waiter.address, since: waiter.since, position: index + 1 })),
  };
}

/** Effects that would not die, watched until they are gone (design §9). */
function lostViews({ kernel }: RuntimeParts): ActorView[] {
  return kernel.lost().map(({ key, address, driver, name, since, processes }, index) => ({
    address: `/lost/${index + 1}`,
    birth: key,
    kind: "lost",
    state: "running",
    status: "live",
    parent: ROOT,
    since,
    mailbox: 0,
    restarts: 0,
    detail: { of: address, driver, name, processes },
    pending: [],
    stuck: `${name} (${driver}) of ${address} does not end`,
  }));
}

export function actorsHandle(parts: RuntimeParts): ActorsHandle {
  const { kernel, journal } = parts;
  return {
    list(under) {
      const scope = (under ?? ROOT) as Address;
      if (!kernel.has(scope)) throw unknown(scope);
      const views: ActorView[] = [];
      for (const address of kernel.addresses(scope)) {
        const view = actorView(parts, address);
        if (view) views.push(view);
      }
      if (scope === ROOT) views.push(...lostViews(parts));
      return views;
    },
    past: async (at, under) => pastViews(await journal.reader.actorsAt(at), (under ?? ROOT) as Address),
    activity: (span) => journal.reader.activity(span),
    waits: () => kernel.waits(),
    slots: () => [...kernel.addresses()].flatMap((address) => poolView(parts, address) ?? []),
    get(address) {
      const actor = actorView(parts, address as Address);
      const relations = kernel.relations(address as Address);
      if (!actor || !relations) return null;
      return {
        actor,
        context: plain(kernel.context(address as Address)),
        watches: relations.watches,
        watchers: relations.watchers,
        timers: relations.timers,
        queue: relations.mail,
      };
    },
    async story(address, limit) {
      const rows = await journal.reader.story(address, limit);
      return rows.flatMap(storyOf).slice(-limit);
    },
    async stop(address, reason) {
      const began = parts.clock.monotonic();
      const { queued, running } = workUnder(parts, address as Address);
      const report = await parts.within(
        STOP_LIMIT_MS,
        kernel.stop(address as Address, { by: "user", ...(reason === undefined ? {} : { note: reason }) }),
      );
      const ms = Math.round(parts.clock.monotonic() - began);
      if (report === null)
        return {
          stopped: false,
          actors: 0,
          cancelledQueued: 0,
          processes: 0,
          ms,
          ...(kernel.stalled === null ? { stuck: kernel.lost().flatMap((each) => each.processes) } : { stalled: true as const }),
        };
      return {
        stopped: report.lost.length === 0,
        actors: report.told,
        cancelledQueued: queued,
        processes: await endedProcesses(parts, running),
        ms,
        ...(report.lost.length > 0 ? { stuck: report.lost } : {}),
      };
    },
    async resume(address) {
      const { agent } = placeOf(address as Address);
      if (agent !== undefined && kernel.parkedReason(agentAddress(agent)) === FOLDER_GONE) throw folderGone(agent);
      if (!kernel.resume(address as Address))
        throw new SomoraError("NOT_PARKED", address === ROOT ? "No turns are held." : `${address} is not parked.`);
    },
  };
}

interface RunningTurn {
  session: Address;
  turnId: string;
}

/** What a stop of `scope` will cancel: the messages that wait in its sessions, and the turns that run there. */
function workUnder({ kernel }: RuntimeParts, scope: Address): { queued: number; running: RunningTurn[] } {
  let queued = 0;
  const running: RunningTurn[] = [];
  for (const address of kernel.addresses(scope)) {
    const kind = kernel.committed(address)?.kind;
    if (kind === "session") {
      const { queue, steers } = kernel.context(address) as unknown as SessionContext;
      queued += queue.size + steers.size;
    }
    if (kind === "turn") {
      const { agent = "", session = "" } = placeOf(address);
      running.push({ session: sessionAddress(agent, session), turnId: address.slice(address.lastIndexOf("/") + 1) });
    }
  }
  return { queued, running };
}

/** As the ends of these turns say. */
async function endedProcesses({ conversations }: RuntimeParts, turns: readonly RunningTurn[]): Promise<number> {
  let processes = 0;
  for (const { session, turnId } of turns) {
    const { rows } = await conversations.page(session, undefined, 20);
    const end = rows.findLast((row) => row.kind === "turn_end" && row.turnId === turnId);
    if (end?.kind === "turn_end") processes += end.data.stopped?.processes ?? 0;
  }
  return processes;
}

function unknown(address: string): SomoraError {
  return new SomoraError("ACTOR_UNKNOWN", `There is no actor at ${address}.`, { hint: "See `somora actors`." });
}

/** Collections as plain objects, for people. */
function plain(context: Record<string, unknown> | null): Json {
  if (!context) return null;
  return Object.fromEntries(
    Object.entries(context).map(([key, value]) => [key, value instanceof Parts ? Object.fromEntries(value.entries()) : value]),
  ) as Json;
}

function storyOf(row: { head: string; body: string | null; epoch: number; commit: number }): StoryStep[] {
  const head = readHead(row.head);
  const body = JSON.parse(row.body ?? "{}") as Partial<ActorBody>;
  return (body.story ?? []).map((entry) => ({
    at: entry.at,
    epoch: row.epoch,
    commit: row.commit,
    eventId: entry.id,
    type: entry.event.type,
    from: entry.from,
    state: entry.crashed ? `crashed: ${entry.crashed.message}` : head.state,
    effects: entry.effects,
  }));
}
