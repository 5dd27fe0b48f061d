import { VirtualTimeScheduler } from "rxjs";
import { connect, type Socket } from "node:net";
import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { Frame, SessionFrame } from "../../protocol/frames.ts";
import type { HistoryRow } from "../../protocol/history.ts";
import type { SessionView } from "../../protocol/session-view.ts";
import { NO_USAGE } from "../../protocol/usage.ts";
import { actorView, agentLine, fakeHouse, type FakeHouse } from "../../../test/support/fake-house.ts";
import { apply, LiveClient, numberOf } from "../../../test/support/live-client.ts";
import { createApp, type App } from "../app.ts";
import { listen, type Door } from "../listen.ts";
import { createHub, type Hub } from "./hub.ts";
import { showSession } from "./session-topic.ts";

const KEY = "the-key";
const MAIN = "session:guide/main";
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface World {
  house: FakeHouse;
  hub: Hub;
  app: App;
  door: Door;
  /** Lets virtual time pass; in real time when the world was made so. */
  pass(ms: number): void;
  client(options?: ConstructorParameters<typeof LiveClient>[1]): Promise<LiveClient>;
}

async function world(time: "virtual" | "real" = "virtual"): Promise<World> {
  const house = fakeHouse();
  const scheduler = new VirtualTimeScheduler();
  const hub = createHub(house.handles, time === "virtual" ? { scheduler } : {});
  const app = createApp(house.handles, { key: KEY, listenHost: "127.0.0.1", homeId: "t", ui: null });
  const door = await listen({ app, hub, host: "127.0.0.1", port: 0 });
  cleanups.push(() => door.close(200));
  return {
    house,
    hub,
    app,
    door,
    pass(ms) {
      scheduler.maxFrames = scheduler.now() + ms;
      scheduler.flush();
      scheduler.frame = scheduler.maxFrames;
    },
    async client(options = { key: KEY }) {
      const client = new LiveClient(door.url, options);
      cleanups.push(() => client.socket.terminate());
      return client.open();
    },
  };
}

const turn = "turn_7.1.1";
const origin = { kind: "human" as const };
const answerRow = (seq: number, blockId: string, text: string): HistoryRow => ({
  seq,
  at: seq,
  turnId: turn,
  kind: "assistant_message",
  data: { text, attempt: 1, blockId, round: 1 },
});

type Step = { [Type in SessionFrame["type"]]: [Type, Extract<SessionFrame, { type: Type }>["data"]] }[SessionFrame["type"]];

/** A turn with a queue, thinking, text in many pieces, two calls, a repeated round, a steer and an end. */
function longTurn(): Step[] {
  const steps: Step[] = [
    ["turn.queued", { turnId: turn, position: 0, text: "list the files", origin }],
    ["turn.started", { turnId: turn, origin, model: "rehearsal/guide", attempt: 1, rehearsal: true }],
    ["row.added", { row: { seq: 1, at: 1, turnId: turn, kind: "user_message", data: { text: "list the files", origin } } }],
    ["turn.state", { turnId: turn, state: "calling", round: 1, maxRounds: 40 }],
    ["thinking.start", { turnId: turn, blockId: "r1", attempt: 1 }],
    ["thinking.delta", { turnId: turn, blockId: "r1", offset: 0, text: "Where am " }],
    ["thinking.delta", { turnId: turn, blockId: "r1", offset: 9, text: "I?" }],
    ["thinking.end", { turnId: turn, blockId: "r1" }],
    ["turn.queued", { turnId: "turn_7.2.1", position: 1, text: "and then", origin }],
    ["text.start", { turnId: turn, blockId: "t1", attempt: 1 }],
  ];
  const words = "I look around 😀 first, 世界 and see what there is to see here. ";
  let offset = 0;
  for (const character of words.repeat(2)) {
    for (const half of character.split("")) {
      steps.push(["text.delta", { turnId: turn, blockId: "t1", offset, text: half }]);
      offset += half.length;
    }
  }
  steps.push(
    ["text.end", { turnId: turn, blockId: "t1" }],
    [
      "row.added",
      { row: { seq: 2, at: 2, turnId: turn, kind: "thinking", data: { text: "Where am I?", attempt: 1, blockId: "r1", round: 1 } } },
    ],
    ["row.added", { row: answerRow(3, "t1", words.repeat(2)) }],
    ["call.started", { turnId: turn, callId: "c1", tool: "file_list", input: { path: "." } }],
    ["call.started", { turnId: turn, callId: "c2", tool: "exec", input: { command: "x" }, limitMs: 5 }],
    [
      "row.added",
      {
        row: { seq: 4, at: 4, turnId: turn, kind: "tool_call", data: { callId: "c1", tool: "file_list", input: { path: "." }, round: 1 } },
      },
    ],
    ["call.progress", { turnId: turn, callId: "c2", text: "half" }],
    ["call.settled", { turnId: turn, callId: "c1", ok: true, summary: "3 entries", ms: 3 }],
    [
      "row.added",
      {
        row: {
          seq: 5,
          at: 5,
          turnId: turn,
          kind: "tool_result",
          data: { callId: "c1", ok: true, output: { ok: true, data: { text: "x".repeat(9_000) } } },
        },
      },
    ],
    ["call.settled", { turnId: turn, callId: "c2", ok: false, summary: "exit 1", ms: 9, code: "TOOL_FAILED" }],
    [
      "row.added",
      {
        row: {
          seq: 6,
          at: 6,
          turnId: turn,
          kind: "tool_result",
          data: { callId: "c2", ok: false, output: { ok: false, error: { code: "TOOL_FAILED", message: "no" } } },
        },
      },
    ],
    ["steer.accepted", { steerId: "turn_7.3.1", text: "shorter", after: "c2" }],
    ["text.start", { turnId: turn, blockId: "t2", attempt: 1 }],
    ["text.delta", { turnId: turn, blockId: "t2", offset: 0, text: "Half an ans" }],
    ["text.reset", { turnId: turn, blockId: "t2", attempt: 2 }],
    [
      "row.added",
      {
        row: {
          ...answerRow(7, "t2", "Half an ans"),
          data: { text: "Half an ans", attempt: 1, blockId: "t2", round: 2, interrupted: true },
        } as HistoryRow,
      },
    ],
    ["turn.started", { turnId: turn, origin, model: "rehearsal/guide", attempt: 2, rehearsal: true }],
    ["steer.applied", { steerId: "turn_7.3.1", appliedTo: turn }],
    ["text.start", { turnId: turn, blockId: "t3", attempt: 2 }],
    ["text.delta", { turnId: turn, blockId: "t3", offset: 0, text: "Three files." }],
    ["text.end", { turnId: turn, blockId: "t3" }],
    ["row.added", { row: answerRow(8, "t3", "Three files.") }],
    [
      "row.added",
      { row: { seq: 9, at: 9, turnId: turn, kind: "turn_end", data: { outcome: "completed", usage: NO_USAGE, costUsd: null } } },
    ],
    ["turn.settled", { turnId: turn, outcome: "completed", usage: { ...NO_USAGE, contextUsed: 5, contextWindow: 10 }, costUsd: 0.1 }],
    ["turn.started", { turnId: "turn_7.2.1", origin, model: "rehearsal/guide", attempt: 1 }],
    ["session.changed", { title: "Files", model: "local/qwen3" }],
  );
  return steps;
}

function emit(house: FakeHouse, [type, data]: Step): void {
  house.emit("guide", "main", type, data);
}

/** A client that folds as it reads; `cut`: it drops the connection after every frame and comes back with what it applied last. */
class Reader {
  view: SessionView | null = null;
  last = 0;
  snapshots = 0;
  connections = 0;
  readonly #world: World;
  readonly #cut: boolean;
  #seq: string | undefined;
  #heard: () => void = () => undefined;

  constructor(of: World, cut: boolean) {
    this.#world = of;
    this.#cut = cut;
  }

  async join(): Promise<void> {
    this.connections += 1;
    const client = await this.#world.client();
    let over = false;
    client.socket.on("message", (data) => {
      if (over) return;
      const frame = JSON.parse((data as Buffer).toString("utf8")) as Frame;
      if (frame.type === "snapshot") this.snapshots += 1;
      ({ view: this.view, last: this.last } = apply(this.view, this.last, frame));
      this.#seq = frame.seq;
      if (this.#cut && frame.type !== "snapshot") {
        over = true;
        client.socket.terminate();
        void this.join();
      }
      this.#heard();
    });
    client.say({ op: "watch", topic: MAIN, ...(this.#seq === undefined ? {} : { since: this.#seq }) });
  }

  async upTo(n: number): Promise<void> {
    while (this.view === null || this.last < n) await new Promise<void>((resolve) => (this.#heard = resolve));
  }
}

const shown = (view: SessionView | null): SessionView | null => (view === null ? null : showSession(view));

describe("a session that is watched through a long turn", () => {
  it("is the same for the server's view, a client that was never cut and one that was cut after every single frame, without a second snapshot", async () => {
    const of = await world();
    const whole = new Reader(of, false);
    const cut = new Reader(of, true);
    await whole.join();
    await cut.join();
    await Promise.all([whole.upTo(0), cut.upTo(0)]);
    let frames = 0;
    for (const step of longTurn()) {
      emit(of.house, step);
      of.pass(210);
      frames = await numbered(of);
      await Promise.all([whole.upTo(frames), cut.upTo(frames)]);
      const server = of.hub.viewOf(MAIN) as SessionView;
      expect(shown(whole.view)).toEqual(server);
      expect(shown(cut.view)).toEqual(server);
    }
    expect(frames).toBeGreaterThan(100);
    expect(whole.snapshots).toBe(1);
    expect(cut.snapshots).toBe(1);
    expect(cut.connections).toBeGreaterThan(100);
    // And with the truth, told apart only by outputs that are shown short.
    const truth = of.house.view("guide", "main");
    const ends = (view: SessionView | null): unknown => ({
      ...view,
      rows: view?.rows.filter((row) => row.kind !== "tool_result").map((row) => row.data),
      active: view?.active && { ...view.active, startedAt: 0 },
    });
    expect(ends(whole.view)).toEqual(ends(truth));
    expect(whole.view?.rows.find((row) => row.kind === "tool_result")?.data).toMatchObject({ shortened: { chars: 9_030 } });
  });

  it("never splits a character, whatever pieces it came in", async () => {
    const of = await world();
    const client = await of.client();
    client.say({ op: "watch", topic: MAIN });
    await client.until(() => client.frames.length === 1);
    for (const step of longTurn()) {
      emit(of.house, step);
      of.pass(70);
    }
    const last = await numbered(of);
    await client.until(() => client.frames.some((frame) => numberOf(frame.seq) === last));
    const texts = client.frames.filter((frame) => frame.type === "text.delta").map((frame) => (frame.data as { text: string }).text);
    expect(texts.length).toBeGreaterThan(20);
    for (const text of texts) expect(text).not.toMatch(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/);
  });

  it("gives a client that joins at any step the same view as one that was there all along", async () => {
    const steps = longTurn();
    for (const at of [3, 6, 12, 60, steps.length - 22, steps.length - 12, steps.length - 6, steps.length - 1]) {
      const of = await world();
      steps.slice(0, at).forEach((step) => emit(of.house, step));
      // What comes while the start state is read may be in it already.
      const release = of.house.holdSessions();
      const client = await of.client();
      client.say({ op: "watch", topic: MAIN });
      client.say({ op: "ping" });
      await client.until(() => client.messages.some((message) => message.type === "pong"));
      steps.slice(at, at + 10).forEach((step) => emit(of.house, step));
      release();
      await client.until(() => client.frames.length > 0);
      const early = apply(null, 0, client.frames[0] as Frame).view;
      const truth = of.house.view("guide", "main");
      expect(early.active?.blocks, `joined at ${at}`).toEqual(truth.active?.blocks);
      expect(early.active?.calls.map((call) => call.callId)).toEqual(truth.active?.calls.map((call) => call.callId));
      expect(early.queue).toEqual(truth.queue);
      expect(early.rows.map((row) => row.seq)).toEqual(truth.rows.map((row) => row.seq));
    }
  });

  it("sends an answer's row without the text that went out as a block", async () => {
    const of = await world();
    const client = await of.client();
    client.say({ op: "watch", topic: MAIN });
    await client.until(() => client.frames.length === 1);
    for (const step of longTurn()) emit(of.house, step);
    const last = await numbered(of);
    await client.until(() => client.frames.some((frame) => numberOf(frame.seq) === last));
    const rows = client.frames
      .filter((frame) => frame.type === "row.added")
      .map((frame) => frame.data as { row: HistoryRow; fromBlock?: boolean });
    const answer = rows.find(({ row }) => row.seq === 3);
    expect(answer).toMatchObject({ fromBlock: true, row: { data: { text: "" } } });
    // A block that was reset is no block any more: its row carries its text.
    expect(rows.find(({ row }) => row.seq === 7)).toMatchObject({ row: { data: { text: "Half an ans" } } });
    const long = rows.find(({ row }) => row.seq === 5)?.row;
    expect(JSON.stringify(long?.kind === "tool_result" ? long.data.output : "").length).toBeLessThanOrEqual(4_000);
  });
});

/** The number of the last frame the hub gave out. */
async function numbered(of: World): Promise<number> {
  const client = await of.client();
  client.say({ op: "watch", topic: MAIN });
  await client.until(() => client.frames.length > 0);
  const n = numberOf((client.frames[0] as Frame).seq);
  client.socket.terminate();
  return n;
}

async function roundTrip(client: LiveClient): Promise<void> {
  const pongs = (): number => client.messages.filter((message) => message.type === "pong").length;
  const before = pongs();
  client.say({ op: "ping" });
  await client.until(() => pongs() > before);
}

describe("the bytes of an answer of 20,000 characters", () => {
  const TEXT = "The quick brown fox jumps over the lazy dog near the old river bank at noon. ".repeat(260).slice(0, 20_000);

  async function bytesFor(charactersPerStep: number, stepMs: number): Promise<{ bytes: number; beforeSecond: number }> {
    const of = await world();
    const client = await of.client();
    client.say({ op: "watch", topic: MAIN });
    await client.until(() => client.frames.length === 1);
    const before = client.bytes;
    emit(of.house, ["turn.started", { turnId: "turn_12.3456.1", origin, model: "rehearsal/guide", attempt: 1 }]);
    house(of, ["text.start", { turnId: "turn_12.3456.1", blockId: "r1.t1", attempt: 1 }]);
    let beforeSecond = 0;
    for (let offset = 0; offset < TEXT.length; offset += charactersPerStep) {
      emit(of.house, [
        "text.delta",
        { turnId: "turn_12.3456.1", blockId: "r1.t1", offset, text: TEXT.slice(offset, offset + charactersPerStep) },
      ]);
      if (offset === 0) {
        await client.until(() => client.frames.at(-1)?.type === "text.delta");
        beforeSecond = client.frames.filter((frame) => frame.type === "text.delta").length;
      }
      of.pass(stepMs);
      // Virtual minutes pass here: the socket must get its turn to answer the heartbeat.
      if (offset % 2_000 === 0) for (let trip = 0; trip < 2; trip += 1) await roundTrip(client);
    }
    emit(of.house, ["text.end", { turnId: "turn_12.3456.1", blockId: "r1.t1" }]);
    emit(of.house, ["row.added", { row: { ...answerRow(1, "r1.t1", TEXT), turnId: "turn_12.3456.1" } as HistoryRow }]);
    await client.until(() => client.frames.at(-1)?.type === "row.added");
    const view = client.frames.reduce<{ view: SessionView | null; last: number }>((state, frame) => apply(state.view, state.last, frame), {
      view: null,
      last: 0,
    }).view;
    expect(view?.rows.at(-1)?.data).toMatchObject({ text: TEXT });
    return { bytes: client.bytes - before, beforeSecond };
  }
  const house = (of: World, step: Step): void => emit(of.house, step);

  it("are under 1.5 times its length when it comes within 2 seconds, and the first text goes before the second chunk comes", async () => {
    const { bytes, beforeSecond } = await bytesFor(100, 10);
    expect(beforeSecond).toBe(1);
    expect(bytes / TEXT.length).toBeLessThan(1.5);
  });

  it("are under 5 times its length at 60 tokens a second", async () => {
    const { bytes } = await bytesFor(4, 1_000 / 60);
    expect(bytes / TEXT.length).toBeLessThan(5);
  });
});

describe("resuming", () => {
  it("gives a snapshot for a number of another epoch, one from the future, one no longer kept, and one that is none", async () => {
    const of = await world();
    const client = await of.client();
    client.say({ op: "watch", topic: MAIN });
    await client.until(() => client.frames.length === 1);
    for (let index = 0; index < 2_100; index += 1) emit(of.house, ["notice", { kind: "test", text: String(index) }]);
    await client.until(() => numberOf(client.frames.at(-1)?.seq ?? "7.0") === 2_100);
    for (const since of ["6.2100", "7.2101", "7.99", "7.x", "nonsense"]) {
      const other = await of.client();
      other.say({ op: "watch", topic: MAIN, since });
      await other.until(() => other.frames.length > 0);
      expect(other.frames[0], since).toMatchObject({ type: "snapshot", seq: "7.2100" });
    }
    const other = await of.client();
    other.say({ op: "watch", topic: MAIN, since: "7.101" });
    await other.until(() => other.frames.length === 1_999);
    expect(other.frames[0]).toMatchObject({ seq: "7.102", type: "notice" });
    const atTheEnd = await of.client();
    atTheEnd.say({ op: "watch", topic: MAIN, since: "7.2100" });
    atTheEnd.say({ op: "ping" });
    await atTheEnd.until(() => atTheEnd.messages.length > 0);
    expect(atTheEnd.messages).toEqual([{ type: "pong" }]);
  });

  it("never takes the numbers of an earlier life of a topic for its own", async () => {
    const of = await world();
    const first = await of.client();
    first.say({ op: "watch", topic: MAIN });
    await first.until(() => first.frames.length === 1);
    emit(of.house, ["notice", { kind: "seen" }]);
    await first.until(() => first.frames.length === 2);
    first.socket.close();
    await first.until(() => first.closed !== null);
    await expect.poll(() => of.hub.connections).toBe(0);
    of.pass(121_000);
    expect(of.hub.viewOf(MAIN)).toBeNull();
    emit(of.house, ["session.changed", { title: "Changed meanwhile" }]);
    const second = await of.client();
    second.say({ op: "watch", topic: MAIN, since: (first.frames[1] as Frame).seq });
    await second.until(() => second.frames.length === 1);
    expect(second.frames[0]).toMatchObject({ type: "snapshot", seq: "7.2", data: { title: "Changed meanwhile" } });
  });

  it("is within the buffer for a client that comes back after a minute", async () => {
    const of = await world();
    const first = await of.client();
    first.say({ op: "watch", topic: MAIN });
    await first.until(() => first.frames.length === 1);
    first.socket.terminate();
    await expect.poll(() => of.hub.connections).toBe(0);
    of.pass(60_000);
    emit(of.house, ["notice", { kind: "missed" }]);
    const second = await of.client();
    second.say({ op: "watch", topic: MAIN, since: (first.frames[0] as Frame).seq });
    await second.until(() => second.frames.length === 1);
    expect(second.frames[0]).toMatchObject({ type: "notice", data: { kind: "missed" } });
  });
});

describe("bad frames", () => {
  it("are answered, the socket stays, and after ten it closes with 1008", async () => {
    const of = await world();
    const client = await of.client();
    const bad = [
      "not json",
      "[]",
      '{"op":"fly"}',
      '{"op":"watch"}',
      '{"op":"watch","topic":"nowhere"}',
      "null",
      '{"op":"watch","topic":3}',
      "{",
      '"watch"',
    ];
    for (const frame of bad) client.say(frame);
    client.say({ op: "ping" });
    await client.until(() => client.messages.length === 10);
    expect(client.messages.map((message) => ("code" in message ? message.code : message.type))).toEqual([
      "FRAME_NOT_JSON",
      "OP_UNKNOWN",
      "OP_UNKNOWN",
      "OP_UNKNOWN",
      "TOPIC_UNKNOWN",
      "OP_UNKNOWN",
      "OP_UNKNOWN",
      "FRAME_NOT_JSON",
      "OP_UNKNOWN",
      "pong",
    ]);
    expect(client.closed).toBeNull();
    client.socket.send(Buffer.from([1, 2]));
    await client.until(() => client.closed !== null);
    expect(client.closed).toEqual({ code: 1008, reason: "ten bad frames" });
    expect(client.messages).toHaveLength(11);
  });

  it("do not count when they name a session that is not there", async () => {
    const of = await world();
    const client = await of.client();
    for (let index = 0; index < 12; index += 1) client.say({ op: "watch", topic: `session:guide/none${index}` });
    await client.until(() => client.messages.length === 12);
    expect(client.messages[11]).toMatchObject({ type: "error", code: "TOPIC_UNKNOWN", topic: "session:guide/none11" });
    client.say({ op: "ping" });
    await client.until(() => client.messages.length === 13);
    expect(client.closed).toBeNull();
  });
});

describe("a client that does not read", () => {
  it("holds up nobody, is sent no backlog, and gets one fresh snapshot when it reads again", async () => {
    const of = await world("real");
    const slow = await of.client();
    const quick = await of.client();
    for (const client of [slow, quick]) client.say({ op: "watch", topic: MAIN });
    await Promise.all([slow.until(() => slow.frames.length === 1), quick.until(() => quick.frames.length === 1)]);
    const net = (slow.socket as unknown as { _socket: Socket })._socket;
    net.pause();
    const padding = "x".repeat(20_000);
    for (let index = 1; index <= 1_500; index += 1) {
      emit(of.house, ["notice", { kind: "flood", text: padding }]);
      if (index % 50 === 0) await quick.until(() => quick.frames.length > index);
    }
    emit(of.house, ["session.changed", { title: "After the flood" }]);
    await quick.until(() => quick.frames.length === 1_502);
    net.resume();
    await slow.until(() => slow.frames.length > 1 && slow.frames.at(-1)?.type === "snapshot");
    const got = slow.frames;
    expect(got.length).toBeLessThan(1_000);
    expect(got.at(-1)).toMatchObject({ seq: "7.1501", data: { title: "After the flood" } });
    emit(of.house, ["notice", { kind: "after" }]);
    await slow.until(() => slow.frames.at(-1)?.type === "notice");
    expect(slow.frames.at(-1)).toMatchObject({ seq: "7.1502" });
  }, 20_000);
});

describe("the way in", () => {
  const status = (of: World, headers: Record<string, string>, path = "/live"): Promise<{ status: number; code: string }> =>
    new Promise((resolve, reject) => {
      const asked = httpRequest(`${of.door.url}${path}`, {
        headers: {
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
          ...headers,
        },
      });
      asked.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, code: "" });
      });
      asked.on("response", (response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, code: (JSON.parse(text) as { error: { code: string } }).error.code }),
        );
      });
      asked.on("error", reject);
      asked.end();
    });

  it("is checked before the upgrade: key, subprotocol, cookie with Origin, Host", async () => {
    const of = await world();
    const cookie = `${of.app.gate.cookieName}=${of.app.pairing.newCookie()}`;
    const origin = of.door.url;
    expect(await status(of, { authorization: `Bearer ${KEY}` })).toMatchObject({ status: 101 });
    expect(await status(of, { "sec-websocket-protocol": `somora.${KEY}` })).toMatchObject({ status: 101 });
    expect(await status(of, { cookie, origin })).toMatchObject({ status: 101 });
    expect(await status(of, {})).toEqual({ status: 401, code: "KEY_MISSING" });
    expect(await status(of, { "sec-websocket-protocol": "somora.wrong" })).toEqual({ status: 401, code: "KEY_WRONG" });
    expect(await status(of, { cookie })).toEqual({ status: 403, code: "ORIGIN_FOREIGN" });
    expect(await status(of, { cookie, origin: "http://127.0.0.1:1" })).toEqual({ status: 403, code: "ORIGIN_FOREIGN" });
    expect(await status(of, { authorization: `Bearer ${KEY}`, origin: "http://evil.example" })).toEqual({
      status: 403,
      code: "ORIGIN_FOREIGN",
    });
    expect(await status(of, { authorization: `Bearer ${KEY}`, host: "evil.example" })).toEqual({ status: 403, code: "HOST_UNKNOWN" });
    expect(await status(of, { authorization: `Bearer ${KEY}` }, "/other")).toEqual({ status: 404, code: "ROUTE_UNKNOWN" });
    expect(of.hub.connections).toBeLessThanOrEqual(3);
  });

  it("closes for a cookie whose pairing was ended, and stays for the key", async () => {
    const of = await world();
    const cookie = `${of.app.gate.cookieName}=${of.app.pairing.newCookie()}`;
    const browser = await of.client({ headers: { cookie, origin: of.door.url } });
    const program = await of.client();
    await of.app.pairing.endAll();
    await browser.until(() => browser.closed !== null);
    expect(browser.closed).toEqual({ code: 1008, reason: "the pairing has ended" });
    program.say({ op: "ping" });
    await program.until(() => program.messages.length === 1);
  });

  it("answers the subprotocol a browser needs to hear back", async () => {
    const of = await world();
    const client = await of.client({ protocols: [`somora.${KEY}`] });
    expect(client.socket.protocol).toBe(`somora.${KEY}`);
  });
});

describe("tree, agents and server", () => {
  it("tell a change at once and further ones at most ten times a second, folded to the newest", async () => {
    const of = await world();
    const client = await of.client();
    for (const topic of ["tree", "agents", "server"]) client.say({ op: "watch", topic });
    await client.until(() => client.frames.length === 3);
    expect(client.frames.map((frame) => frame.type)).toEqual(["snapshot", "snapshot", "snapshot"]);
    for (let index = 0; index < 50; index += 1) of.house.setActor(actorView("/agents/guide", `state${index}`));
    of.house.dropActor("/agents/guide/sessions/main");
    of.pass(100);
    await client.until(() => client.frames.length === 5);
    expect(client.frames.slice(3)).toMatchObject([
      { topic: "tree", seq: "7.1", type: "tree.changed", data: { actors: [{ address: "/agents/guide", state: "state0" }], gone: [] } },
      { topic: "tree", seq: "7.2", data: { actors: [{ state: "state49" }], gone: ["/agents/guide/sessions/main"] } },
    ]);
    of.pass(200);
    of.house.setAgent(agentLine("tinker"));
    of.house.server.draining = true;
    of.house.serverChanged();
    await client.until(() => client.frames.length === 7);
    expect(client.frames.slice(5)).toMatchObject([
      { topic: "agents", type: "agents.changed", data: { agents: [{ name: "tinker" }], gone: [] } },
      { topic: "server", type: "server.changed", data: { draining: true } },
    ]);
  });

  it("end the topic of a session that was deleted", async () => {
    const of = await world();
    const client = await of.client();
    client.say({ op: "watch", topic: "session:guide/other" });
    await client.until(() => client.frames.length === 1);
    of.house.setAgent(agentLine("guide", ["main"]));
    await client.until(() => client.messages.length === 2);
    expect(client.messages[1]).toMatchObject({ type: "error", code: "TOPIC_UNKNOWN", topic: "session:guide/other" });
    expect(of.hub.viewOf("session:guide/other")).toBeNull();
  });
});

describe("a door that closes", () => {
  it("tells its sockets, and ends one that does not answer within the grace", async () => {
    const of = await world();
    const client = await of.client();
    const mute = connect(of.door.port, "127.0.0.1");
    mute.write(
      `GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    await new Promise((resolve) => mute.once("data", resolve));
    const ended = new Promise((resolve) => mute.once("close", resolve));
    mute.on("error", () => undefined);
    await of.door.close(100);
    await client.until(() => client.closed !== null);
    expect(client.closed?.code).toBe(1001);
    await ended;
    expect(of.house.sessionListeners()).toBe(0);
  });

  it("refuses a port that is taken, with what else to do", async () => {
    const of = await world();
    await expect(listen({ app: of.app, hub: of.hub, host: "127.0.0.1", port: of.door.port })).rejects.toMatchObject({
      code: "PORT_TAKEN",
      hint: expect.stringContaining("--port") as string,
    });
  });
});

describe("a body of 50 MB over a real socket", () => {
  it("is answered 413 before it has been sent", async () => {
    const of = await world();
    const total = 50 * 1_048_576;
    let sent = 0;
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const asked = httpRequest(`${of.door.url}/api/chat/send`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-length": total },
      });
      const chunk = Buffer.alloc(65_536, 0x20);
      let over = false;
      const push = (): void => {
        while (!over && sent < total) {
          sent += chunk.length;
          if (!asked.write(chunk)) return void asked.once("drain", push);
        }
      };
      asked.on("response", (response) => {
        over = true;
        let text = "";
        response.on("data", (data) => (text += String(data)));
        response.on("end", () => {
          asked.destroy();
          resolve({ status: response.statusCode ?? 0, text });
        });
      });
      asked.on("error", (error) => (over ? undefined : reject(error)));
      push();
    });
    expect(answer.status).toBe(413);
    expect(answer.text).toContain("BODY_TOO_LARGE");
    expect(sent).toBeLessThan(total);
  });
});
