/** What a session decides, without anything that runs. */
import { describe, expect, it } from "vitest";
import { Play } from "../../test/support/chart-play.ts";
import type { SessionContext } from "./session-types.ts";
import { sessionMachine } from "./session.machine.ts";

const ADDRESS = "/agents/ada/sessions/main";
const text = (preview: string) => [{ id: `p ${preview}`, kind: "message", size: preview.length, preview }];
const send = (words: string, more: object = {}) => ({
  type: "send",
  origin: { kind: "human" },
  attachments: [],
  steer: false,
  clientKey: null,
  digest: words,
  cwd: null,
  retryOf: null,
  payloads: text(words),
  ...more,
});
const end = {
  outcome: "completed",
  outcomeReason: null,
  error: null,
  retryable: false,
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  costUsd: null,
  toolCalls: 0,
  rounds: 1,
  provider: "p",
  model: "p/m",
  filesWritten: [],
  processes: 0,
  applied: [] as string[],
};
const normal = { kind: "normal" };
const stoppedBy = (scope: string) => ({ kind: "stopped", stop: { by: "user", scope } });

class Session extends Play {
  constructor() {
    super(sessionMachine, { agent: "ada", session: "main", cwd: null, createdAt: 1, address: ADDRESS });
  }
  get context(): SessionContext {
    return this.snapshot.context as SessionContext;
  }
  /** Sends and gives the id it was accepted under. */
  accept(words: string, more: object = {}): string {
    this.send(send(words, more));
    const { turnId, steerId } = this.reply as { turnId?: string; steerId?: string };
    return (turnId ?? steerId) as string;
  }
  get reply(): Record<string, unknown> {
    return this.of("reply").at(-1)?.value as Record<string, unknown>;
  }
  get refusal(): string | undefined {
    return this.of("refuse").at(-1)?.code;
  }
  down(more: object = {}): void {
    this.send({
      type: "down",
      address: `${ADDRESS}/turns/${this.context.running}`,
      birth: "1.1.1",
      reason: normal,
      output: end,
      lost: [],
      ...more,
    });
  }
}

/** One turn runs, `waiting` wait behind it. */
function busy(...waiting: string[]): { session: Session; running: string; ids: string[] } {
  const session = new Session();
  const running = session.accept("first");
  return { session, running, ids: waiting.map((words) => session.accept(words)) };
}

describe("an idle session", () => {
  it("writes the message, starts its turn and watches it in the step that accepts it", () => {
    const session = new Session();
    const id = session.accept("hello");
    expect(session.reply).toEqual({ turnId: id, position: 0 });
    expect(session.rows("user_message")).toHaveLength(1);
    expect(session.of("spawn")).toMatchObject([{ name: `turns/${id}`, chart: "turn", watch: true }]);
  });
  it("takes its title from the first message, at most 60 characters", () => {
    const session = new Session();
    session.accept("x".repeat(80));
    expect([...(session.context.title as string)]).toHaveLength(60);
    session.down();
    session.accept("another");
    expect(session.context.title).toMatch(/^x+…$/);
  });
  it("answers a steering message as an ordinary one", () => {
    const session = new Session();
    session.send(send("hello", { steer: true }));
    expect(session.reply).toMatchObject({ position: 0, steered: false });
  });
  it("keeps its folder: another one is refused", () => {
    const session = new Session();
    session.accept("a", { cwd: "/one" });
    session.send(send("b", { cwd: "/two" }));
    expect(session.refusal).toBe("FOLDER_INVALID");
  });
});

describe("a session whose turn runs", () => {
  it("queues in order of arrival, says the place, and starts one after the other", () => {
    const { session, ids } = busy("a", "b");
    expect(session.reply).toMatchObject({ position: 2 });
    session.down();
    expect(session.context.running).toBe(ids[0]);
    expect(
      session
        .of("publish")
        .filter(({ type }) => type === "turn.moved")
        .map(({ data }) => data),
    ).toEqual([{ turnId: ids[1], position: 1 }]);
    session.down();
    expect(session.context.running).toBe(ids[1]);
  });
  it("writes the last word of each turn exactly once, from its down", () => {
    const { session, running } = busy();
    session.down();
    expect(session.rows("turn_end")).toMatchObject([{ outcome: "completed" }]);
    session.send({ type: "down", address: `${ADDRESS}/turns/${running}`, birth: "1.1.1", reason: normal, output: end, lost: [] });
    expect(session.effects).toEqual([]);
  });
  it.each([
    [stoppedBy(`${ADDRESS}/turns/x`), [], "cancelled", "CANCELLED"],
    [{ kind: "crash", error: { code: "CRASHED", message: "planted" } }, [], "failed", "CRASHED"],
    [{ kind: "gone" }, [], "failed", "INTERRUPTED"],
    [stoppedBy(`${ADDRESS}/turns/x`), [{ pid: 7, command: "sleep" }], "failed", "STOP_FAILED"],
  ])("says of a turn that went down as %o: %s %s", (reason, lost, outcome, code) => {
    const { session } = busy();
    session.down({ reason, lost });
    expect(session.rows("turn_end")).toMatchObject([{ outcome, error: { code } }]);
  });
  it("keeps its queue when one turn is stopped", () => {
    const { session, running, ids } = busy("a");
    session.down({ reason: stoppedBy(`${ADDRESS}/turns/${running}`) });
    expect(session.context.running).toBe(ids[0]);
  });
  it("ends what waits and what was to be steered as cancelled when all of it is stopped", () => {
    const { session, ids } = busy("a", "b");
    const steer = session.accept("s", { steer: true });
    session.send({ type: "stopped", stop: { by: "user", scope: ADDRESS } });
    session.down({ reason: stoppedBy(ADDRESS) });
    expect(session.state).toBe("idle");
    expect([...ids, steer].map((id) => session.context.turns.get(id)?.outcome)).toEqual(["cancelled", "cancelled", "cancelled"]);
  });
  it("ends what waits also when `stopped` was what it crashed on", () => {
    const { session, ids } = busy("a");
    session.send({
      type: "resumed",
      cause: "crash",
      dropped: { type: "stopped", id: "1.1.1", from: "kernel", stop: { by: "user", scope: ADDRESS } },
      pending: [],
      timers: [],
    });
    expect(session.context.turns.get(ids[0] as string)?.outcome).toBe("cancelled");
  });
  it("watches its turn and its door calls again after a crash, and says again what is to be steered", () => {
    const { session, running } = busy();
    session.send({ type: "tool.call", tool: "echo", about: "", request: {}, repeatable: true, limitMs: 1 });
    const [call] = session.of("spawn");
    const one = session.accept("one", { steer: true });
    const two = session.accept("two", { steer: true });
    session.send({ type: "queue.takeBack", turnId: two });
    session.send({ type: "resumed", cause: "crash", pending: [], timers: [] });
    expect(session.of("watch").map(({ address }) => address)).toEqual([`${ADDRESS}/${call?.name}`, `${ADDRESS}/turns/${running}`]);
    expect(session.of("send").map(({ event }) => [event.type, event["steerId"]])).toEqual([
      ["steer", one],
      ["steer.withdraw", two],
    ]);
  });
});

describe("a client key", () => {
  it("answers a repeat with the first answer, without a second message", () => {
    const session = new Session();
    const id = session.accept("a", { clientKey: "k" });
    session.send(send("a", { clientKey: "k" }));
    expect(session.reply).toEqual({ turnId: id, position: 0 });
    expect(session.context.order).toBe(1);
  });
  it("refuses the same key with other content", () => {
    const session = new Session();
    session.accept("a", { clientKey: "k" });
    session.send(send("b", { clientKey: "k" }));
    expect(session.refusal).toBe("CLIENT_KEY_REUSED");
  });
  it("still answers when its message was taken back", () => {
    const { session } = busy();
    const id = session.accept("a", { clientKey: "k" });
    session.send({ type: "queue.takeBack", turnId: id });
    session.send(send("a", { clientKey: "k" }));
    expect(session.reply).toMatchObject({ turnId: id });
    expect(session.context.queue.size).toBe(0);
  });
});

describe("taking back", () => {
  it("gives text and attachments back, moves the others up, and never runs it", () => {
    const { session, ids } = busy("a", "b");
    session.send({ type: "queue.takeBack", turnId: ids[0] });
    expect(session.reply).toMatchObject({ removed: true, text: { preview: "a" } });
    expect(session.of("publish").map(({ type }) => type)).toEqual(["turn.removed", "turn.moved"]);
    session.down();
    expect(session.context.running).toBe(ids[1]);
  });
  it.each([
    ["a running one", (_: Session, running: string) => running, "TURN_STARTED"],
    ["an unknown one", () => "turn_x", "TURN_UNKNOWN"],
    [
      "one that is over",
      (s: Session, running: string) => {
        s.down();
        return running;
      },
      "TURN_OVER",
    ],
    [
      "one taken back before",
      (s: Session) => {
        const id = s.accept("x");
        s.send({ type: "queue.takeBack", turnId: id });
        return id;
      },
      "TURN_REMOVED",
    ],
  ])("of %s is refused", (_, prepare, code) => {
    const { session, running } = busy();
    session.send({ type: "queue.takeBack", turnId: prepare(session, running) });
    expect(session.refusal).toBe(code);
  });
});

describe("a steering message", () => {
  it("is told to the running turn and answered with its own id", () => {
    const { session, running } = busy();
    const id = session.accept("s", { steer: true });
    expect(session.of("send")).toMatchObject([{ to: `${ADDRESS}/turns/${running}`, event: { type: "steer", steerId: id } }]);
  });
  it("that was applied belongs to the turn that took it", () => {
    const { session, running } = busy();
    const id = session.accept("s", { steer: true });
    session.send({ type: "steer.applied", steerId: id, turnId: running });
    expect(session.context.turns.get(id)).toMatchObject({ state: "applied", appliedTo: running });
  });
  it("that was not applied waits in its turn when the turn ends", () => {
    const { session } = busy("a");
    const id = session.accept("s", { steer: true });
    session.down();
    session.down();
    expect(session.context.running).toBe(id);
  });
  it("whose `applied` was lost counts as applied by the turn's last words", () => {
    const { session, running } = busy();
    const id = session.accept("s", { steer: true });
    session.down({ output: { ...end, applied: [id] } });
    expect(session.context.turns.get(id)).toMatchObject({ state: "applied", appliedTo: running });
    expect(session.state).toBe("idle");
  });
  it("taken back is asked of the turn; withdrawn it is removed, applied it is too late", () => {
    const { session, running } = busy();
    const [one, two] = [session.accept("1", { steer: true }), session.accept("2", { steer: true })];
    for (const turnId of [one, two]) session.send({ type: "queue.takeBack", turnId });
    session.send({ type: "steer.withdrawn", steerId: one });
    expect(session.reply).toMatchObject({ removed: true });
    session.send({ type: "steer.applied", steerId: two, turnId: running });
    expect(session.refusal).toBe("TURN_STARTED");
  });
  it("made of a waiting message leaves the queue in the same step", () => {
    const { session, ids } = busy("a", "b");
    session.send({ type: "queue.steer", turnId: ids[0] });
    expect(session.reply).toEqual({ steerId: ids[0], steered: true });
    expect([session.context.queue.size, session.context.steers.size]).toEqual([1, 1]);
  });
});

describe("a held session", () => {
  it("lets the running turn go on and starts no other until it is released", () => {
    const { session, ids } = busy("a");
    session.send({ type: "queue.hold", held: true });
    session.down();
    expect(session.state).toBe("idle");
    session.send({ type: "queue.hold", held: false });
    expect(session.context.running).toBe(ids[0]);
  });
});

describe("trying again", () => {
  it("runs a failed turn's message without a second user row", () => {
    const { session, running } = busy();
    session.down({ output: { ...end, outcome: "failed", retryable: true } });
    session.send(send("", { retryOf: running, payloads: undefined }));
    expect(session.reply).toMatchObject({ position: 0 });
    expect(session.rows("user_message")).toEqual([]);
  });
  it.each([
    ["completed", "TURN_NOT_RETRYABLE"],
    [null, "TURN_UNKNOWN"],
  ])("of a turn that is %s is refused", (outcome, code) => {
    const { session, running } = busy();
    session.down();
    session.send(send("", { retryOf: outcome === null ? "turn_x" : running, payloads: undefined }));
    expect(session.refusal).toBe(code);
  });
});

describe("a full queue", () => {
  it("refuses the message after 1,000 waiting ones and takes one again when a place is free", () => {
    const { session, ids } = busy(...Array.from({ length: 1000 }, (_, n) => String(n)));
    session.send(send("one more"));
    expect(session.refusal).toBe("QUEUE_FULL");
    session.send({ type: "queue.takeBack", turnId: ids[500] });
    session.accept("fits");
    expect(session.context.queue.size).toBe(1000);
  });
});

describe("a tool run at the door", () => {
  it("is answered when its call is down, once", () => {
    const session = new Session();
    session.send({ type: "tool.call", tool: "echo", about: "", request: {}, repeatable: true, limitMs: 1 });
    const address = `${ADDRESS}/${session.of("spawn")[0]?.name}`;
    const down = { type: "down", address, birth: "1.1.1", reason: normal, output: { token: null, end: { ok: true } }, lost: [] };
    session.send(down);
    expect(session.reply).toEqual({ reason: "normal", end: { ok: true } });
    expect(session.send(down)).toEqual([]);
  });
});
