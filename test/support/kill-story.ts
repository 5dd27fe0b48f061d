/**
 * One story for the kill tests: a session whose first turn streams, runs two calls side by side, streams, runs a third and
 * answers, with a steered message and three more messages waiting. The server is killed in it as often as it is told to.
 * What is known of it comes from outside: answers to HTTP, requests at the model server, marker files, /proc.
 */
import { readFileSync, watch } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { KILLING_SERVER_FILE, type ServerProcess, startServer, type TestHome } from "./server-process.ts";
import { effectOf, type ModelServer } from "./model-server.ts";

export const PHASES = ["accepted", "started", "streaming", "tool running", "tool done", "settling"] as const;
export type Phase = (typeof PHASES)[number];

/** How long a round of the script says nothing, before it streams. */
const STALL_MS = 250;
const WORDS = "so we go on with one word after the other until all of what had to be said here is said and read and done".repeat(2);

export const STORY_SCRIPT = `
rehearsal: 1
about: What the kill tests play.
pace: 120
turns:
  - when: { text: "^heavy-" }
    rounds:
      - stall: ${STALL_MS}ms
        think: Two things at once.
        say: "I begin. ${WORDS}"
        call:
          - { id: a, tool: exec, input: { command: "echo begun >> {{said}}.a; sleep 0.25; echo ended >> {{said}}.a" } }
          - { id: b, tool: exec, input: { command: "echo begun >> {{said}}.b; sleep 0.15; echo ended >> {{said}}.b" } }
      - stall: ${STALL_MS}ms
        say: "I go on. ${WORDS}"
        call: [{ id: c, tool: exec, input: { command: "echo begun >> {{said}}.c; sleep 0.1; echo ended >> {{said}}.c" } }]
      - { stall: ${STALL_MS}ms, say: "Answer to {{said}}. ${WORDS}" }
  - rounds:
      - { say: "Answer to {{said}}.", pace: 0 }
`;
export const CALL_NAMES = ["a", "b", "c"] as const;

interface ActorSummary {
  address: string;
  kind: string;
  state: string;
  status: string;
  events: string[];
  pending: string[];
}
interface CommitLine {
  commit: number;
  actors: ActorSummary[];
  rows: { session: string; row: string; turnId: string | null; callId?: string }[];
  killed?: "before" | "after" | "released";
  at?: number;
}

/** What is on disk of a session, as far as the server had told before it died. */
export interface Committed {
  actors: Map<string, ActorSummary>;
  rows: CommitLine["rows"];
  /** The commit at which it died, when it died at one. */
  last: CommitLine | null;
  lastIsIn: boolean;
}

export interface SentMessage {
  text: string;
  key: string;
  steer: boolean;
  /** Null until it was accepted. */
  answer: { turnId?: string; steerId?: string; position?: number; steered?: boolean } | null;
}

export interface KillRecord {
  session: string;
  target: Phase;
  where: string;
  phase: Phase;
  turnRunning: boolean;
  /** Two parallel calls, a queue of three and a steered message. */
  heavy: boolean;
  at: number;
  /** Effects whose outcome was not known to be on disk. */
  open: Set<string>;
  /** Calls whose outcome was on disk. */
  outcomes: Set<string>;
  servingMs: number;
}

export interface Lane {
  home: TestHome;
  model: ModelServer;
  server: ServerProcess;
  committed: Committed;
  random: () => number;
}

export async function startLane(lane: Omit<Lane, "server" | "committed">): Promise<Lane> {
  const whole: Lane = { ...lane, server: null as never, committed: emptyCommitted() };
  await restart(whole);
  return whole;
}

function emptyCommitted(): Committed {
  return { actors: new Map(), rows: [], last: null, lastIsIn: false };
}

/** Starts that died are a minute apart as far as the server can know: three within one would hold its turns. */
export async function restart(lane: Lane): Promise<void> {
  await rm(join(lane.home.folder, "run", "starts.json"), { force: true });
  lane.server = await startServer(lane.home, { script: KILLING_SERVER_FILE });
}

/** A start that is killed at one of its own first commits, most of which are those of the restore. */
export async function killedStart(lane: Lane, story: Story): Promise<void> {
  await rm(join(lane.home.folder, "run", "starts.json"), { force: true });
  const where = ["before", "after", "released"][Math.floor(lane.random() * 3)];
  const commit = 1 + Math.floor(lane.random() * 2);
  const lines: string[] = [];
  const served = await startServer(lane.home, {
    script: KILLING_SERVER_FILE,
    lines,
    env: { HOSTILE_KILL: JSON.stringify({ commit, where }) },
  }).catch((error: Error) => {
    if (!error.message.includes("SIGKILL")) throw error;
    return null;
  });
  // Nothing was left to restore, so there was no such commit.
  if (served !== null) await served.kill();
  const at = Date.now();
  foldLines(lane, lines);
  story.startKills.push({ at, ...openOf(lane.committed, story.address) });
}

/** Effects and calls whose outcome is, or is not, known to be on disk. */
function openOf(committed: Committed, session: string): Pick<KillRecord, "open" | "outcomes"> {
  const rows = committed.rows.filter((row) => row.session === session);
  return {
    open: new Set([...committed.actors.values()].filter((actor) => actor.status !== "down").flatMap((actor) => actor.pending)),
    outcomes: new Set(rows.filter((row) => row.row === "tool_result").map((row) => row.callId ?? "")),
  };
}

/** Folds what a dead server had told. */
function foldLines(lane: Lane, lines: readonly string[]): void {
  const { committed } = lane;
  committed.last = null;
  for (const text of lines) {
    const line = JSON.parse(text) as CommitLine;
    if (line.killed !== undefined) committed.last = line;
    // `released` was told before as done.
    if (line.killed === "before" || line.killed === "released") continue;
    for (const actor of line.actors) committed.actors.set(actor.address, actor);
    committed.rows.push(...line.rows);
  }
  committed.lastIsIn = committed.last !== null && committed.last.killed !== "before";
}

export class Story {
  readonly session: string;
  readonly address: string;
  readonly messages: SentMessage[];
  readonly kills: KillRecord[] = [];
  /** Kills of starts, between the others. */
  readonly startKills: Pick<KillRecord, "at" | "open" | "outcomes">[] = [];
  readonly #lane: Lane;
  readonly #name: string;

  constructor(lane: Lane, n: string) {
    this.#lane = lane;
    this.#name = n;
    this.session = `story-${n}`;
    this.address = `/agents/probe/sessions/${this.session}`;
    const message = (text: string, steer = false): SentMessage => ({ text, key: `key-${text}`, steer, answer: null });
    this.messages = [message(`heavy-${n}`), message(`one-${n}`), message(`two-${n}`), message(`three-${n}`), message(`steer-${n}`, true)];
  }

  get head(): string {
    return `heavy-${this.#name}`;
  }

  async begin(): Promise<void> {
    const made = await this.#lane.server.api("POST", "/agents/probe/sessions", { slug: this.session });
    if (made.status !== 201) throw new Error(`no session: ${JSON.stringify(made.body)}`);
  }

  /** One after the other; what was accepted is not sent again. Ends early when the server dies. */
  async sendAll(): Promise<void> {
    for (const message of this.messages) {
      if (message.answer !== null) continue;
      const answer = await this.send(message).catch(() => null);
      if (answer === null) return;
      if (answer.status !== 202) throw new Error(`${message.text} was refused: ${JSON.stringify(answer.body)}`);
      message.answer = answer.body;
    }
  }

  send({ text, key, steer }: SentMessage) {
    return this.#lane.server.api<NonNullable<SentMessage["answer"]>>("POST", "/chat/send", {
      agent: "probe",
      session: this.session,
      text,
      clientKey: key,
      ...(steer ? { steer } : {}),
    });
  }

  /** Resolves when the server is dead, or false when the story was over before. */
  async killAt(target: Phase): Promise<boolean> {
    const lane = this.#lane;
    const { server } = lane;
    const where = await this.#arm(target);
    const sending = this.sendAll();
    const over = sending.then(() => this.#settled());
    const died = await Promise.race([server.exited.then(() => true), over.then(() => false)]);
    if (!died) {
      this.#putDown();
      await order(server, null).catch(() => undefined);
      return false;
    }
    this.#putDown();
    await Promise.allSettled([sending]);
    foldLines(lane, server.lines);
    this.kills.push({ session: this.session, target, where, ...this.#whatWasHit(lane.committed.last?.at ?? this.#shotAt), servingMs: -1 });
    return true;
  }

  #disarm: (() => void) | null = null;
  #shot: NodeJS.Timeout | undefined;
  #shotAt = 0;

  /** A shot that comes too late must not hit the next story. */
  #putDown(): void {
    this.#disarm?.();
    this.#disarm = null;
    clearTimeout(this.#shot);
  }

  /** Boundaries of the journal, or a moment of the outside world. Gives a word for the report. */
  async #arm(target: Phase): Promise<string> {
    const { server, random, model, home } = this.#lane;
    const pick = <Item>(...items: Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const atCommit = async (what: object, ...wheres: string[]): Promise<string> => {
      const where = pick(...wheres);
      await order(server, { ...what, under: this.address, where });
      return `${where} ${JSON.stringify(what)}`;
    };
    const later = (ms: number): void => {
      this.#shot = setTimeout(() => {
        if (!server.isAlive()) return;
        this.#shotAt = Date.now();
        server.child.kill("SIGKILL");
      }, ms);
    };
    const atRequest = (round: number, ms: number): string => {
      let seen = 0;
      this.#disarm = model.onRequest((request) => {
        if (!effectOf(request).startsWith(`${this.address}/`)) return;
        seen += 1;
        if (seen === round) later(ms);
      });
      return `${ms} ms after request ${round}`;
    };
    const unaccepted = this.messages.filter((message) => message.answer === null).length;
    switch (target) {
      case "accepted":
        if (unaccepted === 0) return atRequest(1, 0);
        return atCommit(
          { kind: "session", event: "send", nth: pick(1, unaccepted, unaccepted, unaccepted) },
          "before",
          "after",
          "released",
        );
      case "started":
        return pick(0, 1, 2) === 0
          ? atCommit({ kind: "turn", event: "prepare.done" }, "after", "released")
          : atRequest(pick(1, 2, 2), Math.floor(random() * STALL_MS * 0.4));
      case "streaming":
        return pick(0, 1, 2) === 0
          ? atCommit({ kind: "turn", event: "text.stored", nth: pick(1, 2) }, "before", "after", "released")
          : atRequest(pick(1, 1, 2), STALL_MS + 30 + Math.floor(random() * 300));
      case "tool running":
        if (pick(0, 1) === 0) return atCommit({ kind: "call", event: "start", nth: pick(1, 2) }, "after", "released");
        const ms = Math.floor(random() * 120);
        const watcher = watch(home.workspace, (_, file) => {
          if (file?.startsWith(`${this.head}.`)) {
            watcher.close();
            later(ms);
          }
        });
        this.#disarm = () => watcher.close();
        return `${ms} ms after a marker`;
      case "tool done":
        return atCommit({ kind: "call", event: "tool.done", nth: pick(1, 1, 2) }, "after", "released");
      case "settling":
        return atCommit({ row: "turn_end", nth: pick(1, 1, 1, 2) }, "before", "after", "released");
    }
  }

  /** The phase, from what was committed and seen. */
  #whatWasHit(at: number): Pick<KillRecord, "phase" | "turnRunning" | "heavy" | "at" | "open" | "outcomes"> {
    const { committed } = this.#lane;
    const mine = [...committed.actors.values()].filter((actor) => actor.address.startsWith(`${this.address}/`) && actor.status !== "down");
    const turn = mine.find((actor) => actor.kind === "turn");
    const rows = committed.rows.filter((row) => row.session === this.address);
    const { open, outcomes } = openOf(committed, this.address);
    const heavy = this.messages.filter((message) => message.answer !== null).length >= 4;
    return {
      phase: this.#phase(turn ?? null, at, outcomes),
      turnRunning: turn !== undefined,
      heavy: heavy && !rows.some((row) => row.row === "turn_end"),
      at,
      open,
      outcomes,
    };
  }

  #phase(turn: ActorSummary | null, at: number, outcomes: Set<string>): Phase {
    const { committed, model } = this.#lane;
    const { last } = committed;
    if (last?.rows.some((row) => row.row === "turn_end" && row.session === this.address)) return "settling";
    if (last?.actors.some((actor) => actor.address === this.address && actor.events.includes("send"))) return "accepted";
    if (last?.actors.some((actor) => actor.kind === "call" && actor.events.includes("tool.done")) && committed.lastIsIn) return "tool done";
    if (turn === null || turn.state === "starting" || turn.state === "preparing") return "accepted";
    if (turn.state === "tools") {
      const running = [...committed.actors.values()].filter(
        (actor) => actor.kind === "call" && actor.address.startsWith(`${turn.address}/`) && actor.status !== "down",
      ).length;
      return running > 0 || outcomes.size === 0 ? "tool running" : "tool done";
    }
    const key = turn.pending[0] ?? "";
    const request = model.requests().findLast((each) => effectOf(each) === key);
    return request === undefined || at - request.at < STALL_MS ? "started" : "streaming";
  }

  /** Null when the server dies meanwhile. */
  async #settled(): Promise<void> {
    for (const message of this.messages) {
      if (message.answer === null) return new Promise(() => undefined);
      const result = await this.result(message).catch(() => null);
      if (result === null) return new Promise(() => undefined);
      if (result.body["state"] === "pending") throw new Error(`${message.text} does not end: ${JSON.stringify(result.body)}`);
    }
  }

  result({ answer }: SentMessage) {
    return this.#lane.server.api("GET", `/chat/turns/${answer?.turnId ?? answer?.steerId}?waitMs=20000`);
  }

  settled(): Promise<void> {
    return this.#settled();
  }

  /** How often a call of the first turn has begun and ended, by its own file. */
  marks(call: string): { begun: number; ended: number } {
    try {
      const lines = readFileSync(join(this.#lane.home.workspace, `${this.head}.${call}`), "utf8").split("\n");
      return { begun: lines.filter((line) => line === "begun").length, ended: lines.filter((line) => line === "ended").length };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return { begun: 0, ended: 0 };
    }
  }
}

/** Gives the killing server its next order; resolves when it has it. */
function order(server: ServerProcess, what: object | null): Promise<void> {
  return new Promise((resolve, reject) => {
    server.child.once("message", () => resolve());
    server.child.once("exit", () => reject(new Error("the server died before it had its order")));
    server.child.send(what as never, (error) => error && reject(error));
  });
}
