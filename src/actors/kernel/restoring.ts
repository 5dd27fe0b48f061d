/**
 * From rows back to a running kernel (design §3.5, Restore).
 *
 * Order: newest rows, oldest birth first → tree, watches, mail, timers → drivers are asked what became of each effect without
 * an outcome → all answers in → the first commit (attempt numbers, `resumed`) → performs are released, timers armed.
 *
 * 1. `recover` is asked once per pending effect whose outcome is not in the mail; past 10 s it counts as unknown.
 * 2. Done is taken over (ended by a stop that is not on disk is not done, but unknown); not-started is performed as if nothing had
 *    been; harmless (`repeatable`) is performed again under the same key as its next attempt; else the chart hears `interrupted` with
 *    what is known (P7). Taken back or fenced: `aborted`, unless it was done.
 * 3. A stop under way goes on: its fence tells its scope again (K6).
 */
import type { Address, Birth, EffectKey } from "../../protocol/ids.ts";
import { parentOf } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Outcome, Recovery } from "../../ports/driver.port.ts";
import type { StoredRow } from "../../ports/journal.port.ts";
import { blankActor, supervisorOf } from "./applying.ts";
import { type Actor, type Core, fenceOf, makeReady, markDirty, pushFront, type Tombstone } from "./core.ts";
import { kernelMail, liftIfThrough, tellScope, TOMBSTONE_MS } from "./ending.ts";
import { resumeRestarts } from "./supervising.ts";
import { attach, contextOf, follow, release, settle } from "./performs.ts";
import { type ActorBody, type ActorHead, committedView, type PartHead, readHead, statusOf } from "./rows.ts";
import { rearmTimers, type TimerHeap } from "./timers.ts";
import { rebuildWaits } from "./waits.ts";

const RECOVER_LIMIT_MS = 10_000;

interface Asked {
  actor: Actor;
  name: string;
  recovery: Recovery;
  takenBack: boolean;
}

export async function restore(core: Core, heap: TimerHeap): Promise<void> {
  core.roundAt = core.clock.now();
  const { actors, parts } = await readNewest(core);
  for (const { head, body } of actors) revive(core, head, body, parts);
  for (const actor of core.actors.values()) rebuildWatches(core, actor);
  rebuildWaits(core);
  const answers = await askDrivers(core);
  // Fences first: what is below one is taken back, not performed again.
  for (const actor of [...core.actors.values()]) {
    if (!actor.fence) continue;
    tellScope(core, actor, actor.fence);
    liftIfThrough(core, actor);
  }
  const touched = new Set<Actor>();
  for (const answer of answers) takeAnswer(core, answer, touched);
  for (const actor of [...touched]) for (let above = actor.parent; above; above = above.parent) touched.add(above);
  for (const actor of touched)
    if (actor.spec.identity === "keep" && actor.snapshot !== null && actor.parked === null && fenceOf(actor) === null)
      pushFront(core, actor, kernelMail(core, "resumed", { type: "resumed", cause: "restart" }));
  resumeRestarts(core);
  for (const actor of core.actors.values()) {
    rearmTimers(core, heap, actor);
    makeReady(core, actor);
  }
}

async function readNewest(
  core: Core,
): Promise<{ actors: { head: ActorHead; body: ActorBody }[]; parts: Map<string, Map<string, [string, Json][]>> }> {
  const actors: { head: ActorHead; body: ActorBody; order: [number, number, number] }[] = [];
  const parts = new Map<string, Map<string, [string, Json][]>>();
  for (const row of await core.journal.newest()) {
    if (row.kind === "actor") readActor(core, row, actors);
    else if (row.kind === "part" && row.body !== null) {
      const head = JSON.parse(row.head) as PartHead;
      if (head.gone) continue;
      const owner = `${head.address}#${head.birth}`;
      const collections = parts.get(owner) ?? new Map<string, [string, Json][]>();
      parts.set(owner, collections);
      const entries = collections.get(head.collection) ?? [];
      collections.set(head.collection, entries);
      entries.push([head.entry, JSON.parse(row.body) as Json]);
    }
  }
  actors.sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1] || a.order[2] - b.order[2]);
  return { actors, parts };
}

function readActor(core: Core, row: StoredRow, actors: { head: ActorHead; body: ActorBody; order: [number, number, number] }[]): void {
  const head = readHead(row.head);
  if (head.recorded) {
    const known = core.historyNumbers.get(head.recorded.session) ?? 0;
    if (head.recorded.seq > known) core.historyNumbers.set(head.recorded.session, head.recorded.seq);
  }
  if (head.status === "down") {
    if (core.clock.now() - head.at < TOMBSTONE_MS) {
      const stone: Tombstone = {
        address: head.address,
        birth: head.birth,
        reason: head.reason ?? { kind: "gone" },
        output: head.output ?? null,
        lost: head.lost,
        at: head.at,
        kind: head.kind,
      };
      core.tombstones.set(head.address, stone);
    }
    return;
  }
  // By their first births: start order outlives a restart of one child.
  const [epoch = 0, commit = 0, k = 0] = (head.place ?? head.birth).split(".").map(Number);
  actors.push({ head, body: JSON.parse(row.body ?? "{}") as ActorBody, order: [epoch, commit, k] });
}

/** Parents are born before their children, so they are there already; a `fresh` one reborn later is found on the second look. */
function revive(core: Core, head: ActorHead, body: ActorBody, parts: Map<string, Map<string, [string, Json][]>>): void {
  const chart = core.charts.get(head.kind);
  const spec = core.specs[head.spec];
  if (!chart || !spec)
    throw new Error(`the store holds ${head.address} of kind "${head.kind}" (spec "${head.spec}"), which this build does not know`);
  const actor = blankActor({
    address: head.address,
    parent: parentFor(core, head.address),
    birth: head.birth,
    chart,
    specName: head.spec,
    spec,
    input: body.input,
  });
  const mine = parts.get(`${head.address}#${head.birth}`);
  if (body.snapshot) actor.snapshot = chart.thaw(body.snapshot, body.version, (collection) => mine?.get(collection) ?? []);
  actor.mail = body.mail;
  if (body.pending.length > 0) {
    actor.pending = new Map(body.pending.map((pending) => [pending.name, pending]));
    for (const pending of body.pending) core.pendingByKey.set(pending.key, actor);
  }
  if (head.timers.length > 0) actor.timers = new Map(head.timers.map((timer) => [timer.id, timer]));
  if (head.watches.length > 0) actor.watching = new Map(head.watches);
  if (head.waits.length > 0) actor.waits = new Map(head.waits.map((wait) => [wait.name, wait]));
  actor.line ??= head.line;
  actor.ending = head.ending;
  actor.parked = head.parked;
  actor.fence = head.fence ? { ...head.fence, left: 0 } : null;
  actor.suspended = head.status === "suspended" || head.status === "restarting";
  actor.place = head.place ?? head.birth;
  actor.restartAt = head.restartAt;
  actor.group = head.group ? { ...head.group, stepping: false } : null;
  actor.grouped = head.grouped;
  actor.starting = head.starting;
  actor.crash = head.crash;
  actor.crashes = head.crashes;
  actor.restarts = head.restarts;
  actor.effectCount = head.n;
  actor.recorded = head.recorded;
  actor.booked = head.cost !== null;
  actor.costUsd = head.cost?.[0] ?? 0;
  actor.costUnknown = head.cost?.[1] ?? false;
  actor.lost = head.lost;
  actor.stateSince = head.since;
  core.actors.set(head.address, actor);
  core.tombstones.delete(head.address);
  if (actor.parent) {
    actor.parent.children ??= new Map();
    actor.parent.children.set(head.address, actor);
  }
  actor.committed = committedView(actor, head.state, statusOf(actor, head.status === "stopping"));
}

function parentFor(core: Core, address: Address): Actor | null {
  if (parentOf(address) === null) return null;
  const parent = supervisorOf(core, address);
  if (!parent) throw new Error(`the store holds ${address} without a living parent`);
  return parent;
}

/** A consistent cut holds both sides (K3); a watch on what went down meanwhile is answered from the tombstone all the same. */
function rebuildWatches(core: Core, actor: Actor): void {
  for (const [address, birth] of actor.watching ?? []) {
    const target = core.actors.get(address);
    if (!target || target.birth !== (birth as Birth)) continue;
    target.watchers ??= new Set();
    target.watchers.add(actor);
  }
}

async function askDrivers(core: Core): Promise<Asked[]> {
  const asked: Promise<Asked>[] = [];
  for (const actor of core.actors.values()) {
    for (const pending of actor.pending?.values() ?? []) {
      if (pending.settled) continue;
      const takenBack = pending.mark || (!pending.cleanup && fenceOf(actor) !== null);
      const driver = core.drivers.get(pending.driver);
      const answer = driver?.recover
        ? limited(
            core,
            driver.recover(pending.request, {
              ...contextOf(core, { pending, actor, controller: new AbortController(), tell: [], spoken: false, booked: false }),
              takenBack,
            }),
          )
        : Promise.resolve<Recovery>({ kind: "unknown" });
      asked.push(answer.then((recovery) => ({ actor, name: pending.name, recovery, takenBack })));
    }
  }
  return Promise.all(asked);
}

function limited(core: Core, recovery: Promise<Recovery>): Promise<Recovery> {
  return new Promise((resolve) => {
    const cancel = core.clock.setTimer(RECOVER_LIMIT_MS, () => resolve({ kind: "unknown" }));
    recovery.then(
      (answer) => {
        cancel();
        resolve(answer);
      },
      () => {
        cancel();
        resolve({ kind: "unknown" });
      },
    );
  });
}

function takeAnswer(core: Core, { actor, name, recovery: found, takenBack }: Asked, touched: Set<Actor>): void {
  const pending = actor.pending?.get(name);
  if (!pending || pending.settled) return;
  // A stop ends outer work before its fence is on disk. When the server dies between the two nobody is being stopped any more.
  const recovery: Recovery = found.kind === "done" && found.outcome.status === "aborted" && !takenBack ? unknownFrom(found.outcome) : found;
  const end = (outcome: Outcome, status: "done" | "failed" | "aborted" | "interrupted"): void =>
    settle(core, pending.key as EffectKey, outcome, status, true, pending.attempt);
  if (recovery.kind === "done") {
    // It ended while nobody was there: who waits for it was interrupted all the same, and hears so.
    if (!takenBack) touched.add(actor);
    return end(recovery.outcome, recovery.outcome.status);
  }
  if (recovery.kind === "running" && !takenBack) {
    follow(core, attach(core, actor, pending), recovery.outcome);
    return;
  }
  const known: Outcome =
    recovery.kind === "unknown"
      ? {
          status: "aborted",
          ...(recovery.value === undefined ? {} : { value: recovery.value }),
          ...(recovery.payloads === undefined ? {} : { payloads: recovery.payloads }),
        }
      : { status: "aborted" };
  if (takenBack) return end(known, "aborted");
  if (recovery.kind === "not-started") {
    // Nothing was interrupted: it is the first attempt still, and nobody needs to look again.
    core.open.outer.push({ release: () => release(core, actor, pending) });
    return;
  }
  touched.add(actor);
  if (pending.repeatable) {
    pending.attempt += 1;
    pending.since = core.clock.now();
    markDirty(core, actor);
    core.open.outer.push({ release: () => release(core, actor, pending) });
    return;
  }
  end(known, "interrupted");
}

function unknownFrom({ value, payloads }: Outcome): Recovery {
  return { kind: "unknown", ...(value === undefined ? {} : { value }), ...(payloads === undefined ? {} : { payloads }) };
}
