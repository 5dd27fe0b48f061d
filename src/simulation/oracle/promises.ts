/** P1 to P10 as far as rows, the outside and the doors can tell. */
import { type Change, type Fold, isBelow, type Row } from "./rows.ts";

interface QueueEntry {
  n: number;
}
interface TurnEntry {
  n: number;
  state: string;
  outcome: string | null;
  appliedTo: string | null;
}

/** A message a person was told is accepted. */
interface Accepted {
  session: string;
  turnId: string;
  text: string;
}

export class Promises {
  readonly #fold: Fold;
  readonly #say: (wrong: string) => void;
  readonly #accepted: Accepted[] = [];
  readonly #answers = new Map<string, { digest: string; answer: string }>();
  readonly #jobs = new Set<string>();
  readonly #jobEnds = new Map<string, number>();
  /** By session. */
  readonly #seqs = new Map<string, Set<number>>();
  readonly #said = new Map<string, number>();
  readonly #calls = new Map<string, { turnId: string; results: number }>();
  readonly #ledger = new Set<string>();
  /** What runs outside, by key. */
  readonly running = new Map<string, string>();
  readonly #begun = new Map<string, number>();
  /** Keys a restart looked up and found not begun: beginning is no repetition. */
  readonly #notBegun = new Set<string>();
  readonly #droppedGives = new Set<string>();
  readonly #crashedTurns = new Set<string>();

  constructor(fold: Fold, say: (wrong: string) => void) {
    this.#fold = fold;
    this.#say = say;
  }

  // --- rows -------------------------------------------------------------------------------------------------------------

  check(rows: readonly Row[], changes: readonly Change[]): void {
    for (const row of rows) if (row.kind === "ledger") this.#book(row);
    for (const { address, now, head } of changes)
      if (!now && head.kind === "turn" && head.reason?.kind === "crash") this.#crashedTurns.add(address);
    for (const row of rows) if (row.kind === "transcript") this.#transcript(row);
    for (const { address, head, story } of changes)
      for (const step of head.kind === "pool" ? story : [])
        if (step.crashed && step.event.type === "slot.give") this.#droppedGives.add(`${step.from} ${address}`);
    for (const change of changes) {
      const { address, now, head, story } = change;
      if (head.kind === "session") {
        if (now) this.#session(address);
        else this.#forget(address);
      }
      if (head.kind === "turn" && now) this.#oneTurn(address);
      if (head.kind === "pool") {
        // Within one commit the cap may have been wider for a while.
        const moved = story.some(({ event }) => event.type === "slot.cap");
        const capBefore = moved ? Number.POSITIVE_INFINITY : Number(change.before?.context["cap"] ?? 0);
        if (now) this.#pool(address, capBefore);
      }
      if (head.kind === "job" && now) this.#job(address);
      for (const step of story) {
        const booked = (step.event["value"] as { booked?: unknown } | null | undefined)?.booked;
        if (typeof booked === "string" && !this.#ledger.has(booked)) this.#say(`P10: ${booked}, spent by ${address}, is not booked`);
      }
    }
  }

  #book(row: Row): void {
    const { note } = JSON.parse(row.head) as { note?: string };
    if (note === undefined) return;
    if (this.#ledger.has(note)) this.#say(`P10: ${note} is booked twice`);
    this.#ledger.add(note);
  }

  #transcript(row: Row): void {
    const head = JSON.parse(row.head) as { seq: number; kind: string; turnId: string | null };
    const data = JSON.parse(row.body ?? "{}") as Record<string, unknown>;
    const session = row.key;
    const seqs = this.#seqs.get(session) ?? new Set();
    this.#seqs.set(session, seqs);
    if (seqs.has(head.seq)) this.#say(`P7: ${session} has two rows of number ${head.seq}`);
    seqs.add(head.seq);
    if (data["kind"] === "job_end" && typeof data["key"] === "string") {
      const times = (this.#jobEnds.get(data["key"]) ?? 0) + 1;
      this.#jobEnds.set(data["key"], times);
      if (times === 2) this.#say(`P3: the job ${data["key"]} ended twice`);
    }
    if (head.turnId === null) return;
    if (head.kind === "user_message")
      this.#once(`${session} user ${String(data["steerId"] ?? head.turnId)}`, "P1", "reached the transcript twice");
    if (head.kind === "turn_end") {
      this.#once(`${session} end ${head.turnId}`, "P1", "ended twice");
      this.#turnEnd(session, head.turnId, data);
    }
    if (head.kind === "tool_call") this.#calls.set(`${session} ${String(data["callId"])}`, { turnId: head.turnId, results: 0 });
    if (head.kind === "tool_result") {
      const call = this.#calls.get(`${session} ${String(data["callId"])}`);
      if (!call) this.#say(`P8: ${session} has a result of ${String(data["callId"])}, which was never called`);
      else if ((call.results += 1) === 2) this.#say(`P8: ${session} has two results of ${String(data["callId"])}`);
    }
  }

  #once(what: string, promise: string, words: string): void {
    const times = (this.#said.get(what) ?? 0) + 1;
    this.#said.set(what, times);
    if (times === 2) this.#say(`${promise}: "${what}" ${words}`);
  }

  #turnEnd(session: string, turnId: string, data: Record<string, unknown>): void {
    // One that crashed for good leaves its calls open; the repair of what goes to a model closes them.
    const crashed = this.#crashedTurns.has(`${session}/turns/${turnId}`);
    for (const [key, call] of crashed ? [] : this.#calls)
      if (key.startsWith(`${session} `) && call.turnId === turnId && call.results === 0)
        this.#say(`P8: turn ${turnId} ended and its call ${key.slice(session.length + 1)} has no result`);
    if (data["outcome"] !== "cancelled") return;
    for (const [key, address] of this.running)
      if (isBelow(address, `${session}/turns/${turnId}`)) this.#say(`P6: ${turnId} is called cancelled and ${key} still runs`);
  }

  #session(address: string): void {
    const queue = this.#fold.collection(address, "queue") as ReadonlyMap<string, QueueEntry>;
    const steers = this.#fold.collection(address, "steers") as ReadonlyMap<string, QueueEntry>;
    const turns = this.#fold.collection(address, "turns") as ReadonlyMap<string, TurnEntry>;
    let running = 0;
    for (const [id, turn] of turns) {
      if (queue.has(id) || steers.has(id)) this.#say(`P1: ${id} of ${address} waits and is ${turn.state}`);
      if (turn.state !== "running") continue;
      running += 1;
      // Judged once, when it is first seen: what is put back later may have come earlier.
      if (this.#started.has(`${address} ${id}`)) continue;
      this.#started.add(`${address} ${id}`);
      for (const [other, entry] of queue)
        if (entry.n < turn.n && !this.#putBack.has(`${address} ${other}`))
          this.#say(`P2: ${id} of ${address} runs before ${other}, which came earlier`);
    }
    for (const id of steers.keys()) this.#putBack.add(`${address} ${id}`);
    if (running > 1) this.#say(`P2: ${running} turns of ${address} run at once`);
  }
  readonly #started = new Set<string>();
  /** Once on its way into a turn, it may come back into the queue at any moment. */
  readonly #putBack = new Set<string>();

  #oneTurn(address: string): void {
    const above = address.slice(0, address.lastIndexOf("/") + 1);
    let lives = 0;
    for (const [other, { head }] of this.#fold.actors) if (head.kind === "turn" && other.startsWith(above)) lives += 1;
    if (lives > 1) this.#say(`P2: ${lives} turns live below ${above}`);
  }

  #pool(address: string, capBefore: number): void {
    const actor = this.#fold.actors.get(address);
    if (!actor) return;
    const holders = this.#fold.collection(address, "holders");
    const cap = Number(actor.context["cap"]);
    if (holders.size > Math.max(cap, capBefore, this.#holders.get(address) ?? 0))
      this.#say(`P5: ${holders.size} hold a slot of ${address}, its cap is ${cap}`);
    // It hears before all else that something was dropped, and looks again.
    const looks = actor.head.status !== "live" || actor.mail.some(({ class: of }) => of === "resumed");
    for (const holder of looks ? [] : holders.keys()) {
      const told = actor.mail.some(({ event }) => event.type === "down" && event["address"] === holder);
      if (!told && !actor.head.watches.some(([of]) => of === holder))
        this.#say(`P5: ${address} does not watch ${holder}, which holds a slot`);
    }
    for (const dropped of this.#droppedGives) {
      const [holder = "", pool] = dropped.split(" ");
      if (pool === address && !holders.has(holder)) this.#droppedGives.delete(dropped);
    }
    this.#holders.set(address, holders.size);
    for (const holder of holders.keys()) this.#job(holder);
  }
  /** A cap that was made smaller takes nothing away. */
  readonly #holders = new Map<string, number>();

  /** Who waits for others' work holds no slot; what it gave back may still be on its way. */
  #job(address: string): void {
    const actor = this.#fold.actors.get(address);
    if (!actor || actor.head.kind !== "job") return;
    if (!actor.head.waits.some(({ on }) => on !== null && this.#fold.actors.get(on)?.head.kind !== "pool")) return;
    for (const [pool, { head, mail }] of this.#fold.actors) {
      if (head.kind !== "pool" || !this.#fold.collection(pool, "holders").has(address)) continue;
      if (mail.some(({ from, event }) => from === address && event.type === "slot.give")) continue;
      if (this.#droppedGives.has(`${address} ${pool}`)) continue;
      this.#say(`P5: ${address} waits for others and holds a slot of ${pool}`);
    }
  }

  /** A session that was deleted takes what it knew along. */
  #forget(address: string): void {
    this.sessionVoid(address);
    this.#seqs.delete(address);
    for (const key of this.#calls.keys()) if (key.startsWith(`${address} `)) this.#calls.delete(key);
  }

  // --- doors ------------------------------------------------------------------------------------------------------------

  accepted(session: string, clientKey: string, digest: string, answer: { turnId?: string; steerId?: string }): void {
    const turnId = answer.turnId ?? answer.steerId ?? "";
    const of = `${session} ${clientKey}`;
    const print = JSON.stringify(answer);
    const before = this.#answers.get(of);
    if (before && before.digest !== digest) this.#say(`P1: the key ${clientKey} was taken with another text`);
    else if (before && before.answer !== print) this.#say(`P1: the key ${clientKey} was answered ${print}, before ${before.answer}`);
    this.#answers.set(of, { digest, answer: print });
    if (before) return;
    if (this.#fold.actors.has(session) && !["queue", "steers", "turns"].some((name) => this.#fold.collection(session, name).has(turnId)))
      this.#say(`P1: ${turnId} was accepted and is not on disk`);
    this.#accepted.push({ session, turnId, text: digest });
  }

  /** It was deleted, or somebody tried to: nothing is said about what it had accepted. */
  sessionVoid(session: string): void {
    for (let at = this.#accepted.length - 1; at >= 0; at -= 1) if (this.#accepted[at]?.session === session) this.#accepted.splice(at, 1);
    for (const key of this.#answers.keys()) if (key.startsWith(`${session} `)) this.#answers.delete(key);
    for (const said of this.#said.keys()) if (said.startsWith(`${session} `)) this.#said.delete(said);
  }

  jobAccepted(key: string): void {
    this.#jobs.add(key);
  }

  // --- the outside ------------------------------------------------------------------------------------------------------

  /** The outside was asked to begin: only what is on disk as pending, not taken back, not fenced, not over (K2, P6, P7). */
  begun(act: {
    key: string;
    address: string;
    attempt: number;
    repeatable: boolean;
    cleanup: boolean;
    takenBack: boolean;
    stopping: boolean;
  }): void {
    const { key, address } = act;
    const pending = this.#fold.actors.get(address)?.pending.find((each) => each.key === key);
    if (!pending) this.#say(`K2: ${key} was begun and is not on disk`);
    else if (pending.settled) this.#say(`P7: ${key} was begun again after its outcome`);
    else if (pending.mark || act.takenBack) this.#say(`P6: ${key} was begun after it was taken back`);
    else if (!pending.cleanup && (this.#fold.isFenced(address) || act.stopping)) this.#say(`P6: ${key} was begun below a fence`);
    const times = (this.#begun.get(key) ?? 0) + 1;
    this.#begun.set(key, times);
    if (times > 1 && pending && !pending.repeatable && !this.#notBegun.has(key))
      this.#say(`P7: ${key} must not be repeated and was begun ${times} times`);
    this.#notBegun.delete(key);
    this.running.set(key, address);
  }

  foundNotBegun(key: string): void {
    this.#notBegun.add(key);
  }

  factOnDisk(note: string): void {
    if (!this.#ledger.has(note)) this.#say(`P10: ${note} was told to be booked and is not on disk`);
  }

  // --- after healing ----------------------------------------------------------------------------------------------------

  healed(): void {
    for (const { session, turnId, text } of this.#accepted) {
      const turn = this.#fold.collection(session, "turns").get(turnId) as TurnEntry | undefined;
      const over = turn && ((turn.state === "ended" && turn.outcome !== null) || (turn.state === "applied" && turn.appliedTo !== null));
      if (!over) this.#say(`P1: ${turnId} of ${session} (${text}) was accepted and never ended: ${turn?.state ?? "nowhere"}`);
    }
    for (const key of this.#jobs)
      if (this.#jobEnds.get(key) !== 1) this.#say(`P1: the job ${key} was accepted and ended ${this.#jobEnds.get(key) ?? 0} times`);
    for (const { head, pending, mail } of this.#fold.actors.values()) {
      const { address } = head;
      if (head.status !== "live") this.#say(`progress: ${address} is ${head.status}${head.parked === null ? "" : ` (${head.parked})`}`);
      for (const each of pending) this.#say(`progress: ${address} waits for ${each.name} (${each.key})`);
      for (const each of mail) this.#say(`progress: ${each.event.type} of ${each.from} waits at ${address}`);
      for (const each of head.waits) this.#say(`progress: ${address} waits for ${each.to} ("${each.name}")`);
      for (const each of head.timers) this.#say(`progress: the timer "${each.id}" of ${address} waits`);
      if (["turn", "call", "job"].includes(head.kind)) this.#say(`progress: ${address} lives still, in ${head.state}`);
      const left = { session: ["queue", "steers"], worker: ["jobs"], pool: ["holders", "waiters"] }[head.kind] ?? [];
      for (const name of left)
        for (const entry of this.#fold.collection(address, name).keys()) this.#say(`progress: ${entry} is left in ${name} of ${address}`);
    }
    for (const [key, address] of this.running) this.#say(`P7: ${key} of ${address} runs outside and nobody waits for it`);
  }
}
