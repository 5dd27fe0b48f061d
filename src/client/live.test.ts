/**
 * The client against a real socket and the same folds as the server. Would catch: a frame lost or applied twice after a cut,
 * a snapshot where the buffer would do, an old epoch continued, a view that drifts from the server's.
 */
import { afterEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { agentLine, FakeServer, type Turn } from "../../test/support/fake-live-server.ts";
import { TOPIC } from "../protocol/live-ops.ts";
import type { SessionView } from "../protocol/session-view.ts";
import { createClient, type Client } from "./client.ts";
import { keepInMemory, realTime, type Keep, type OpenSocket, type Socket } from "./surroundings.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function serve(play: (turn: Turn) => Promise<void>): Promise<{ server: FakeServer; base: string }> {
  const server = new FakeServer({ agents: [agentLine("guide")] });
  server.play = play;
  open.push(() => server.close());
  return { server, base: await server.listen() };
}

interface Tap {
  open: OpenSocket;
  frames: number;
  snapshots: number;
  /** Cuts the line after this many more frames. */
  cutAfter: number | null;
}

function tapOf(base: string): Tap {
  const tap: Tap = {
    frames: 0,
    snapshots: 0,
    cutAfter: null,
    open() {
      const inner = new WebSocket(`${base.replace("http", "ws")}/live`);
      const socket: Socket = { send: (text) => inner.send(text), close: () => inner.close(), onopen: null, onmessage: null, onclose: null };
      inner.on("open", () => socket.onopen?.());
      inner.on("error", () => undefined); // a close follows
      inner.on("close", () => socket.onclose?.());
      inner.on("message", (data) => {
        const text = String(data);
        const { type, topic } = JSON.parse(text) as { type: string; topic?: string };
        if (inner.readyState !== inner.OPEN) return;
        socket.onmessage?.(text);
        if (topic?.startsWith("session:") !== true) return;
        tap.frames += 1;
        if (type === "snapshot") tap.snapshots += 1;
        if (tap.cutAfter !== null && (tap.cutAfter -= 1) <= 0) {
          tap.cutAfter = 1;
          inner.terminate();
        }
      });
      return socket;
    },
  };
  return tap;
}

function connect(base: string, tap: Tap, keep: Keep = keepInMemory()): Client {
  const client = createClient({
    open: tap.open,
    fetch: (url, init) => fetch(url, init),
    keep,
    time: { ...realTime, chance: () => 0, after: (ms, run) => realTime.after(ms >= 200 && ms < 2000 ? 3 : ms, run) },
    base,
  });
  open.push(() => client.close());
  client.start();
  client.hold("guide", "main");
  return client;
}

function until<Value>(client: Client, test: (view: SessionView) => Value | null | false | undefined): Promise<Value> {
  const store = client.session("guide", "main");
  return new Promise((resolve) => {
    const look = (): void => {
      const { view } = store.getSnapshot();
      const found = view === null ? null : test(view);
      if (found === null || found === false || found === undefined) return;
      stop();
      resolve(found);
    };
    const stop = store.subscribe(look);
    look();
  });
}

const ended = (view: SessionView): true | null => (view.active === null && view.rows.at(-1)?.kind === "turn_end" ? true : null);
/** Times of day differ by when a frame came; all else must be equal. */
const same = (view: SessionView | null | undefined): unknown =>
  view === null || view === undefined ? view : JSON.parse(JSON.stringify(view));

async function longTurn(turn: Turn): Promise<void> {
  await turn.say("I think about it, in several pieces.", { thinking: true, pieces: 6, pause: 1 });
  await turn.say("Then I look around, and say so at some length.", { pieces: 8, pause: 1 });
  await turn.call("file_list", { path: "." }, { ms: 2, output: { count: 2 } });
  await turn.call("file_read", { path: "a" }, { ms: 2, ok: false, code: "FILE_NOT_FOUND" });
  await turn.say("What a long answer. ".repeat(30), { pieces: 40, pause: 1 });
}

describe("a client whose line is cut after every single frame", () => {
  it("holds after each frame what the server held, and ends like a client that was never cut, without one snapshot more", async () => {
    const { server, base } = await serve(longTurn);
    const [cut, whole] = [tapOf(base), tapOf(base)];
    const [a, b] = [connect(base, cut), connect(base, whole)];
    await Promise.all([until(a, (view) => view), until(b, (view) => view)]);
    cut.cutAfter = 1;
    const held = new Map<string, unknown>();
    const publish = server.publish.bind(server);
    server.publish = (topic, type, data) => {
      publish(topic, type, data);
      if (topic === TOPIC.session("guide", "main")) held.set(`n${held.size + 1}`, same(server.views.get(topic)));
    };
    let compared = 0;
    a.session("guide", "main").subscribe(() => {
      const { seq, view } = a.session("guide", "main").getSnapshot();
      const at = held.get(`n${seq?.split(".")[1] ?? ""}`);
      if (at === undefined) return;
      compared += 1;
      expect(same(view)).toEqual(at);
    });
    a.outbox.add({ agent: "guide", session: "main", text: "go" });
    await Promise.all([until(a, ended), until(b, ended)]);
    expect(compared).toBeGreaterThan(50);
    expect(same(a.session("guide", "main").getSnapshot().view)).toEqual(same(b.session("guide", "main").getSnapshot().view));
    expect(same(a.session("guide", "main").getSnapshot().view)).toEqual(same(server.views.get(TOPIC.session("guide", "main"))));
    expect(cut.snapshots).toBe(1);
  }, 20_000);
});

describe("a client of a server that restarted", () => {
  it("takes the snapshot of the new epoch and keeps the older page it had loaded in front", async () => {
    const { server, base } = await serve(async () => undefined);
    server.seed(
      "guide",
      "main",
      Array.from({ length: 250 }, (_, at) => ({ kind: "notice" as const, turnId: null, data: { kind: "test", text: String(at) } })),
    );
    const client = connect(base, tapOf(base));
    await until(client, (view) => view.rows.length === 100);
    await client.older("guide", "main");
    await until(client, (view) => view.rows.length === 200);
    server.restart();
    server.addRow("guide", "main", { kind: "notice", turnId: null, data: { kind: "test", text: "after" } });
    const rows = await until(client, (view) => view.rows.some((row) => row.kind === "notice" && row.data.text === "after") && view.rows);
    expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 201 }, (_, at) => at + 51));
  });
  it("sends a message kept while the server was away exactly once", async () => {
    const { server, base } = await serve(async () => undefined);
    const keep = keepInMemory();
    const client = connect(base, tapOf(base), keep);
    await until(client, (view) => view);
    server.up = false;
    server.cut();
    client.outbox.add({ agent: "guide", session: "main", text: "kept" });
    client.close();
    expect(keep.getItem("somora.outbox")).toContain("kept");
    server.up = true;
    const later = connect(base, tapOf(base), keep);
    await until(later, ended);
    expect(server.requests.filter((request) => request.path === "/chat/send")).toHaveLength(1);
    expect(keep.getItem("somora.outbox")).toBeNull();
  });
});
