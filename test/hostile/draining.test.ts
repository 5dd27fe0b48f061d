/**
 * Ending and starting again: SIGTERM with a turn running, a second SIGTERM, `resumeAfterRestart: off`, and starts that die
 * (contract §2, §3; design §3.4). Would catch: a drain that loses or doubles a turn, a crash loop that asks a model again and
 * again, held turns that nothing lets go.
 */
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { LiveClient } from "../support/live-client.ts";
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

const SCRIPT = `
rehearsal: 1
about: Turns that take their time.
pace: 60
turns:
  - when: { text: "soon" }
    rounds: [{ say: "This takes about a second and then it is said. ${"Word after word. ".repeat(10)}Done with {{said}}." }]
  - when: { text: "late" }
    rounds: [{ say: "${"This does not come to an end in time. ".repeat(12)}Done with {{said}}." }]
  - when: { text: "work" }
    rounds:
      - { say: Working., call: [{ id: w, tool: exec, input: { command: "echo begun >> {{said}}.mark; sleep 60" } }], pace: 0 }
      - { say: "Done with {{said}}.", pace: 0 }
  - when: { text: "quick" }
    rounds:
      - { say: Quickly., call: [{ id: q, tool: exec, input: { command: "echo said" } }], pace: 0 }
      - { say: "Done with {{said}}.", pace: 0 }
  - rounds: [{ say: "Done with {{said}}.", pace: 0 }]
`;

let model: ModelServer;
let home: TestHome;
let server: ServerProcess;

beforeAll(async () => {
  await buildDist();
  model = await startModel(SCRIPT);
});
afterEach(() => endAll(server, home));
afterAll(() => model.close());

const send = async (text: string): Promise<string> => {
  const { status, body } = await server.api<{ turnId: string }>("POST", "/chat/send", {
    agent: "probe",
    session: "main",
    text,
    clientKey: text,
  });
  expect(status).toBe(202);
  return body.turnId;
};
const ended = async (turnId: string) => (await server.api("GET", `/chat/turns/${turnId}?waitMs=20000`)).body;
const history = async (): Promise<HistoryRow[]> =>
  (await server.api<{ rows: HistoryRow[] }>("GET", "/chat/history?agent=probe&session=main&limit=500")).body.rows;
const requestsFor = (text: string): number => model.requests().filter((request) => request.text === text).length;
const asked = (text: string): Promise<void> => until(`the model is asked for ${text}`, () => requestsFor(text) > 0);
const marks = (name: string): string => {
  try {
    return readFileSync(join(home.workspace, `${name}.mark`), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
};
/** The server's truth line, as the page gets it. */
async function truthLine(): Promise<{ held: boolean; draining: boolean }> {
  const client = await new LiveClient(server.url, { key: server.key }).open();
  client.say({ op: "watch", topic: "server" });
  await client.until(() => client.frames.length > 0);
  client.socket.close();
  return client.frames[0]?.data as { held: boolean; draining: boolean };
}
/** As if the starts before this one were older than a minute. */
const forgetStarts = (): Promise<void> => rm(join(home.folder, "run", "starts.json"), { force: true });

describe("a server that is asked to stop while a turn runs", () => {
  it("lets a turn end that ends in time, refuses new messages meanwhile, and exits 0", async () => {
    home = await makeTestHome(model.baseUrl, { settings: "drainMs: 20000" });
    server = await startServer(home);
    const turnId = await send("soon-1");
    await asked("soon-1");
    server.child.kill("SIGTERM");
    await until("it drains", async () => (await truthLine()).draining);
    const refused = await server.api("POST", "/chat/send", { agent: "probe", session: "main", text: "too late" });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "SERVER_STOPPING" } } });
    expect(await server.exited).toMatchObject({ code: 0, signal: null });

    server = await startServer(home);
    expect(await ended(turnId)).toMatchObject({ outcome: "completed", finalText: expect.stringContaining("Done with soon-1.") as string });
    expect(requestsFor("soon-1")).toBe(1);
    expect((await history()).filter((row) => row.kind === "user_message").length).toBe(1);
  });

  it("cuts one that does not, ends its processes, and goes on with it at the next start", async () => {
    home = await makeTestHome(model.baseUrl, { settings: "drainMs: 300" });
    server = await startServer(home);
    const turnId = await send("work-2");
    const waiting = await send("next-2");
    await until("the command runs", () => marks("work-2") !== "");
    server.child.kill("SIGTERM");
    expect(await server.exited).toMatchObject({ code: 0, signal: null });
    expect(markedProcesses(home)).toEqual([]);

    server = await startServer(home);
    expect(await ended(turnId)).toMatchObject({ outcome: "completed", finalText: "Done with work-2." });
    expect(await ended(waiting)).toMatchObject({ outcome: "completed", finalText: "Done with next-2." });
    expect(marks("work-2")).toBe("begun\n");
    expect((await history()).filter((row) => row.kind === "turn_end").map((row) => row.turnId)).toEqual([turnId, waiting]);
  });

  it("exits at once at the second signal, and goes on at the next start", async () => {
    home = await makeTestHome(model.baseUrl, { settings: "drainMs: 60000" });
    server = await startServer(home);
    const turnId = await send("late-3");
    await asked("late-3");
    server.child.kill("SIGTERM");
    await until("it drains", async () => (await truthLine()).draining);
    const began = performance.now();
    server.child.kill("SIGTERM");
    expect(await server.exited).toMatchObject({ code: 1, signal: null });
    expect(performance.now() - began).toBeLessThan(2_000);

    server = await startServer(home);
    expect(await ended(turnId)).toMatchObject({ outcome: "completed", finalText: expect.stringContaining("Done with late-3.") as string });
    expect(requestsFor("late-3")).toBe(2);
  });
});

describe("with server.resumeAfterRestart off, after a kill -9", () => {
  beforeEach(async () => {
    home = await makeTestHome(model.baseUrl, { settings: 'resumeAfterRestart: "off"' });
    server = await startServer(home);
  });

  it.each([
    ["streamed", "late-4"],
    ["ran a command", "work-4"],
  ])("a turn that %s ends as failed, and the queue goes on", async (_, text) => {
    const turnId = await send(text);
    const waiting = await send("next-4");
    if (text.startsWith("work")) await until("the command runs", () => marks(text) !== "");
    else await asked(text);
    const before = requestsFor(text);
    await server.kill();
    await forgetStarts();
    server = await startServer(home);
    expect(await ended(turnId)).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
    expect(await ended(waiting)).toMatchObject({ outcome: "completed", finalText: "Done with next-4." });
    expect(requestsFor(text)).toBe(before);
    expect(marks(text)).toBe(text.startsWith("work") ? "begun\n" : "");
    expect(markedProcesses(home, server.pid)).toEqual([]);
    const rows = await history();
    const results = rows.flatMap((row) => (row.kind === "tool_result" ? [row.data.callId] : []));
    expect(rows.flatMap((row) => (row.kind === "tool_call" ? [row.data.callId] : []))).toEqual(results);
    expect(rows.filter((row) => row.kind === "turn_end").map((row) => row.turnId)).toEqual([turnId, waiting]);
  });
});

describe("with server.resumeAfterRestart off, after a kill -9 in the commit that holds a call's outcome", () => {
  it("keeps the outcome, asks the model no more and ends the turn as failed", async () => {
    home = await makeTestHome(model.baseUrl, { settings: 'resumeAfterRestart: "off"' });
    server = await startServer(home, {
      script: KILLING_SERVER_FILE,
      env: { HOSTILE_KILL: JSON.stringify({ kind: "call", event: "tool.done", where: "before" }) },
    });
    const turnId = await send("quick-6");
    expect((await server.exited).signal).toBe("SIGKILL");
    const before = requestsFor("quick-6");
    server = await startServer(home);
    expect(await ended(turnId)).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED" } });
    expect(requestsFor("quick-6")).toBe(before);
    expect((await history()).flatMap((row) => (row.kind === "tool_result" ? [row.data] : []))).toMatchObject([
      { ok: true, output: { data: { stdout: "said\n" } } },
    ]);
  });
});

describe("the start after three that died within a minute", () => {
  let running: string;
  let waiting: string;
  beforeEach(async () => {
    home = await makeTestHome(model.baseUrl);
    server = await startServer(home);
    running = await send("late-5");
    waiting = await send("next-5");
    await asked("late-5");
    await server.kill();
    for (let n = 0; n < 2; n += 1) {
      server = await startServer(home);
      await server.kill();
    }
    server = await startServer(home);
  });

  it("holds its turns and says so, until somebody resumes them", async () => {
    expect((await truthLine()).held).toBe(true);
    expect(server.stderr()).toContain("somora resume /");
    expect(readFileSync(join(home.folder, "logs", "server.log"), "utf8")).toMatch(/turns held after three bad starts/);
    const before = requestsFor("late-5");
    const fresh = await send("new-5");
    const { actors } = (await server.api<{ actors: { kind: string; state: string }[] }>("GET", "/actors")).body;
    expect(actors.filter((actor) => actor.kind === "turn").length).toBe(1);
    expect(requestsFor("late-5")).toBe(before);
    expect(await server.api("POST", "/resume", { address: "/" })).toMatchObject({ status: 200 });
    for (const [turnId, text] of [
      [running, "late-5"],
      [waiting, "next-5"],
      [fresh, "new-5"],
    ] as const) {
      expect(await ended(turnId)).toMatchObject({
        outcome: "completed",
        finalText: expect.stringContaining(`Done with ${text}.`) as string,
      });
    }
    expect((await truthLine()).held).toBe(false);
    expect((await history()).filter((row) => row.kind === "turn_end").map((row) => row.turnId)).toEqual([running, waiting, fresh]);
  });

  it("does not wait for held turns when it is asked to stop", async () => {
    const began = performance.now();
    server.child.kill("SIGTERM");
    expect(await server.exited).toMatchObject({ code: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  it("stops a held turn when it is told to", async () => {
    const answer = await server.api("POST", "/chat/abort", { agent: "probe", session: "main", turnId: running });
    expect(answer.body).toMatchObject({ aborted: true, turnId: running });
    expect(await ended(running)).toMatchObject({ outcome: "cancelled" });
    expect(await server.api("POST", "/resume", { address: "/" })).toMatchObject({ status: 200 });
    expect(await ended(waiting)).toMatchObject({ outcome: "completed" });
  });
});
