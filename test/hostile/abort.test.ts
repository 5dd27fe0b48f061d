/**
 * Stop stops (P6): nothing goes on at the model server or on this machine, "cancelled" is said only then, and what was on the
 * screen stays. Would catch: a socket left open, a process that ignores TERM, left its group or its session, a verdict that comes
 * before the truth, a late press that hits the next turn.
 */
import { readFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HistoryRow } from "../../src/protocol/history.ts";
import type { ChatMessage } from "../../src/ports/engine.port.ts";
import { type ModelServer, startModel } from "../support/model-server.ts";
import {
  buildDist,
  endAll,
  KILLING_SERVER_FILE,
  makeTestHome,
  markedProcesses,
  type ServerProcess,
  startServer,
  type TestHome,
  until,
} from "../support/server-process.ts";
import { watchSession } from "../support/watched-session.ts";

/** TERM's grace and half a second (P6). */
const PROCESSES_GONE_MS = 2_500;
const SOCKETS_GONE_MS = 100;
/** The shell, a child that waits for it, and one that has left group and session; all deaf to TERM. */
const STUBBORN = `trap '' TERM; echo $$ >> pids.{{n}}; (sh -c 'trap "" TERM; echo $$ >> pids.{{n}}; sleep 90; :') & setsid sh -c 'trap "" TERM; echo $$ >> pids.{{n}}; sleep 90; :' & sleep 90; :`;
const call = (n: number): string =>
  `- { id: c${n}, tool: exec, input: { timeout_ms: 80000, command: ${JSON.stringify(STUBBORN.replaceAll("{{n}}", String(n)))} } }`;

const SCRIPT = `
rehearsal: 1
about: Long answers and commands that do not want to end.
pace: 40
turns:
  - when: { text: "long" }
    rounds: [{ think: Where do I begin., say: ${JSON.stringify("These words come slowly one after the other and there are many of them. ".repeat(60))} }]
  - when: { text: "stubborn" }
    rounds:
      - { say: Four at once., call: [${[1, 2, 3, 4].map((n) => call(n).slice(2)).join(", ")}], pace: 0 }
      - { say: Never said., pace: 0 }
  - rounds: [{ say: "Heard {{said}}.", pace: 0 }]
`;

let model: ModelServer;
let home: TestHome;
let server: ServerProcess;
let asked: ChatMessage[][] = [];

beforeAll(async () => {
  await buildDist();
  model = await startModel(SCRIPT);
  model.onRequest((_, messages) => asked.push([...messages]));
});
beforeEach(async () => {
  asked = [];
  home = await makeTestHome(model.baseUrl);
  server = await startServer(home, { script: KILLING_SERVER_FILE });
});
afterEach(() => endAll(server, home));
afterAll(() => model.close());

const send = async (text: string): Promise<string> => {
  const { status, body } = await server.api<{ turnId: string }>("POST", "/chat/send", { agent: "probe", session: "main", text });
  expect(status).toBe(202);
  return body.turnId;
};
const abort = (turnId?: string) =>
  server.api("POST", "/chat/abort", { agent: "probe", session: "main", ...(turnId === undefined ? {} : { turnId }) });
const history = async (): Promise<HistoryRow[]> =>
  (await server.api<{ rows: HistoryRow[] }>("GET", "/chat/history?agent=probe&session=main&limit=500")).body.rows;

/** When the fence of a turn was on disk, as the journal told. */
function fencedAt(turnId: string): number {
  for (const line of server.lines) {
    const { at, actors } = JSON.parse(line) as { at: number; actors: { address: string; status: string }[] };
    if (actors.some((actor) => actor.address.endsWith(`/${turnId}`) && actor.status === "stopping")) return at;
  }
  return Number.NaN;
}

async function expectCancelled(turnId: string): Promise<void> {
  const turn = (await server.api("GET", `/chat/turns/${turnId}`)).body;
  expect(turn).toMatchObject({ state: "cancelled", outcome: "cancelled", error: { code: "CANCELLED", reason: "user" } });
  const ends = (await history()).filter((row) => row.kind === "turn_end" && row.turnId === turnId);
  expect(ends).toMatchObject([{ data: { outcome: "cancelled" } }]);
  const { actors } = (await server.api<{ actors: { kind: string }[] }>("GET", "/actors")).body;
  expect(actors.filter((actor) => actor.kind === "turn" || actor.kind === "call")).toEqual([]);
  expect((await server.api("GET", "/agents/probe/sessions/main/work")).body).toMatchObject({ active: null, queued: [] });
}

describe("a turn stopped while its answer streams", () => {
  it("leaves no socket at the model server, and keeps what was on the screen for the next request", async () => {
    const page = await watchSession(server);
    const turnId = await send("a long answer");
    await page.until(() => page.streaming().length > 150);
    let settledWithSockets = -1;
    page.onFrame((type) => {
      if (type === "turn.settled") settledWithSockets = model.openSockets();
    });
    expect(model.openSockets()).toBe(1);
    const pressed = abort(turnId);
    const shown = page.streaming();
    await until("no socket is open at the model server", () => model.openSockets() === 0, 5_000);
    const closedAt = Date.now();
    expect((await pressed).body).toEqual({ aborted: true, turnId, children: [] });
    await page.until((view) => view.active === null);

    expect(closedAt - fencedAt(turnId)).toBeLessThanOrEqual(SOCKETS_GONE_MS);
    expect(settledWithSockets).toBe(0);
    await expectCancelled(turnId);
    const kept = (await history()).filter((row) => row.kind === "assistant_message");
    expect(kept).toMatchObject([{ turnId, data: { interrupted: true } }]);
    const text = kept[0]?.kind === "assistant_message" ? kept[0].data.text : "";
    expect(text.startsWith(shown)).toBe(true);
    expect(page.view().rows.find((row) => row.kind === "assistant_message")?.data).toMatchObject({ text });

    const next = await send("and now");
    await server.api("GET", `/chat/turns/${next}?waitMs=20000`);
    const last = asked.at(-1) ?? [];
    expect(last.some((message) => message.role === "assistant" && message.text === text)).toBe(true);
    page.close();
  });

  it("is not stopped by a late press that names the turn before", async () => {
    const first = await send("short");
    await server.api("GET", `/chat/turns/${first}?waitMs=20000`);
    const page = await watchSession(server);
    const second = await send("a long answer");
    await page.until(() => page.streaming().length > 50);
    expect((await abort(first)).body).toEqual({ aborted: false });
    const before = page.streaming().length;
    await page.until(() => page.streaming().length > before + 50);
    expect(page.view().active?.turnId).toBe(second);
    expect((await abort(second)).body).toMatchObject({ aborted: true });
    expect((await abort(second)).body).toEqual({ aborted: false });
    expect((await abort()).body).toEqual({ aborted: false });
    page.close();
  });

  it("lets the queue go on", async () => {
    const page = await watchSession(server);
    const first = await send("a long answer");
    const waiting = [await send("one"), await send("two"), await send("three")];
    await page.until(() => page.streaming().length > 20);
    expect((await abort(first)).body).toMatchObject({ aborted: true });
    for (const [index, turnId] of waiting.entries()) {
      const { body } = await server.api("GET", `/chat/turns/${turnId}?waitMs=20000`);
      expect(body).toMatchObject({ outcome: "completed", finalText: `Heard ${["one", "two", "three"][index]}.` });
    }
    const ends = (await history()).filter((row) => row.kind === "turn_end").map((row) => row.turnId);
    expect(ends).toEqual([first, ...waiting]);
    page.close();
  });
});

describe("a turn stopped while four commands run that ignore TERM", () => {
  const pids = async (): Promise<number[]> => {
    const files = (await readdir(home.workspace)).filter((name) => name.startsWith("pids."));
    return files.flatMap((file) => readFileSync(join(home.workspace, file), "utf8").split("\n").filter(Boolean).map(Number));
  };

  it("says cancelled when shells, grandchildren and what left its session are gone, within the grace and half a second", async () => {
    const page = await watchSession(server);
    const turnId = await send("stubborn ones");
    await until("twelve processes run", async () => (await pids()).length === 12);
    const saidEarly: string[] = [];
    page.onFrame((type, data) => {
      const running = markedProcesses(home, server.pid);
      const verdict = type === "turn.settled" || (type === "row.added" && (data["row"] as HistoryRow).kind === "turn_end");
      if (verdict && running.length > 0) saidEarly.push(`${type} with ${running.map((each) => each.command).join(", ")}`);
    });
    const pressed = abort(turnId);
    await until("nothing with our mark runs", () => markedProcesses(home, server.pid).length === 0, 15_000);
    const goneAt = Date.now();
    expect((await pressed).body).toEqual({ aborted: true, turnId, children: [] });
    await page.until((view) => view.active === null);

    expect(goneAt - fencedAt(turnId)).toBeLessThanOrEqual(PROCESSES_GONE_MS);
    expect(saidEarly).toEqual([]);
    await expectCancelled(turnId);
    const results = (await history()).filter((row) => row.kind === "tool_result");
    expect(results.map((row) => row.data)).toMatchObject([1, 2, 3, 4].map(() => ({ ok: false, code: "TOOL_CANCELLED" })));

    const next = await send("and now");
    expect((await server.api("GET", `/chat/turns/${next}?waitMs=20000`)).body).toMatchObject({ finalText: "Heard and now." });
    expect(model.requests().every((request) => request.status !== 400)).toBe(true);
    page.close();
  });

  it("goes on stopping after a kill -9 in the middle of the stop", async () => {
    const turnId = await send("stubborn ones");
    await until("twelve processes run", async () => (await pids()).length === 12);
    const pressed = abort(turnId).catch(() => null);
    await until("the fence is on disk", () => !Number.isNaN(fencedAt(turnId)));
    await server.kill();
    await pressed;
    await rm(join(home.folder, "run", "starts.json"), { force: true });
    server = await startServer(home, { script: KILLING_SERVER_FILE });
    expect(markedProcesses(home, server.pid)).toEqual([]);
    await server.api("GET", `/chat/turns/${turnId}?waitMs=20000`);
    await expectCancelled(turnId);
    expect((await history()).filter((row) => row.kind === "tool_result").map((row) => row.data.callId).length).toBe(4);
  });
});
