/**
 * A full disk (a small tmpfs of its own), a second server on the home, a port that is taken. Would catch: a message accepted that
 * is not on disk, a stop that waits for the disk, a server that does not go on when there is room again, two writers on one store.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { type ModelServer, startModel } from "../support/model-server.ts";
import { buildDist, makeTestHome, type ServerProcess, startServer, type TestHome, until } from "../support/server-process.ts";

const SCRIPT = `
rehearsal: 1
about: One slow answer, many short ones.
pace: 40
turns:
  - when: { text: "slow" }
    rounds: [{ say: ${JSON.stringify("Slowly it goes on and on. ".repeat(400))} }]
  - rounds: [{ say: "Heard it.", pace: 0 }]
`;

let model: ModelServer;
let home: TestHome | null = null;
let server: ServerProcess | null = null;

beforeAll(async () => {
  await buildDist();
  model = await startModel(SCRIPT);
});
afterEach(async () => {
  await server?.kill();
  server = null;
  await home?.remove();
  home = null;
});
afterAll(() => model.close());

const send = (at: ServerProcess, text: string, clientKey: string) =>
  at.api<{ turnId: string; error?: { code: string; message: string; hint?: string } }>("POST", "/chat/send", {
    agent: "probe",
    session: "main",
    text,
    clientKey,
  });

describe("a server whose disk is full", () => {
  const mount = mkdtempSync(join(tmpdir(), "somora-full-"));
  const mounted = process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", mount]).status === 0;
  afterAll(() => {
    if (mounted) spawnSync("umount", ["-l", mount]);
    rmSync(mount, { recursive: true, force: true });
  });
  const ballast = join(mount, "ballast");
  /** To the last byte. */
  const fill = (): void => {
    for (let size = 1024 * 1024, n = 0; size >= 512;) {
      const { bavail, bsize } = statfsSync(mount);
      if (bavail === 0) return;
      try {
        writeFileSync(ballast, Buffer.alloc(Math.min(size, bavail * bsize)), { flag: "a" });
        n += 1;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        size /= 2;
      }
      if (n > 10_000) throw new Error("the disk does not get full");
    }
  };

  it("refuses messages with a reason, still stops, and goes on when there is room, with nothing accepted lost", async (ctx) => {
    if (!mounted) return ctx.skip("no tmpfs can be mounted here (needs root on Linux)");
    home = await makeTestHome(model.baseUrl, { base: join(mount, "base") });
    server = await startServer(home);
    const at = server;
    const accepted: { key: string; text: string; turnId: string }[] = [];
    const slow = await send(at, "slow", "k-slow");
    accepted.push({ key: "k-slow", text: "slow", turnId: slow.body.turnId });
    await until("it streams", () => model.openSockets() === 1);

    fill();
    // What fits into the pages that the store holds already is accepted; then the first is refused. Its key tells later what became of it.
    let refusal: Awaited<ReturnType<typeof send>> | null = null;
    let unanswered = 0;
    for (let n = 0; refusal === null && n < 200; n += 1) {
      const text = `message ${n} ${"x".repeat(20_000)}`;
      const answer = await Promise.race([send(at, text, `k-${n}`), new Promise<null>((resolve) => setTimeout(() => resolve(null), 4_000))]);
      if (answer === null) unanswered += 1;
      else if (answer.status === 202) accepted.push({ key: `k-${n}`, text, turnId: answer.body.turnId });
      else refusal = answer;
    }
    expect(refusal).toMatchObject({
      status: 503,
      body: { error: { code: "STORE_STALLED", hint: expect.stringContaining("disk") as string } },
    });
    // At most the batch that was on its way, and the one closed behind it, keep their senders waiting.
    expect(unanswered).toBeLessThanOrEqual(2);

    const began = performance.now();
    const stopped = at.api<{ aborted: boolean; stalled?: boolean }>("POST", "/chat/abort", {
      agent: "probe",
      session: "main",
      turnId: slow.body.turnId,
    });
    await until("the model server is let go", () => model.openSockets() === 0, 5_000);
    expect(performance.now() - began).toBeLessThan(2_000);
    // Reading goes on.
    expect((await at.api("GET", "/chat/history?agent=probe&session=main")).status).toBe(200);
    expect((await at.api("GET", "/actors")).status).toBe(200);
    const answer = await stopped;
    expect([answer.status, answer.body]).toEqual([202, { aborted: false, stalled: true }]);

    rmSync(ballast);
    await until("messages are taken again", async () => (await send(at, "room again", "k-room")).status === 202, 20_000);
    expect(at.isAlive()).toBe(true);
    for (const { key, text, turnId } of accepted) {
      expect((await send(at, text, key)).body.turnId).toBe(turnId);
      const turn = (await at.api("GET", `/chat/turns/${turnId}?waitMs=20000`)).body;
      expect(turn).toMatchObject(text === "slow" ? { outcome: "cancelled" } : { outcome: "completed", finalText: "Heard it." });
    }
    const { rows } = (await at.api<{ rows: HistoryRow[] }>("GET", "/chat/history?agent=probe&session=main&limit=1000")).body;
    const ends = rows.filter((row) => row.kind === "turn_end").map((row) => row.turnId);
    expect(new Set(ends).size).toBe(ends.length);
    expect(accepted.map(({ turnId }) => turnId).filter((turnId) => !ends.includes(turnId))).toEqual([]);
  });
});

describe("a second server on a home", () => {
  it("exits 1 and names the one that serves it, which goes on", async () => {
    home = await makeTestHome(model.baseUrl);
    server = await startServer(home);
    const said = await startServer(home).then(
      () => "it serves",
      (error: Error) => error.message,
    );
    expect(said).toContain("it ended with 1");
    expect(said).toContain("HOME_LOCKED");
    expect(said).toContain(String(server.pid));
    expect(said).toContain(server.url);
    const { body } = await send(server, "still there?", "k");
    expect((await server.api("GET", `/chat/turns/${body.turnId}?waitMs=20000`)).body).toMatchObject({ outcome: "completed" });
  });

  it("serves it when the first was killed, without a wait", async () => {
    home = await makeTestHome(model.baseUrl);
    server = await startServer(home);
    await server.kill();
    server = await startServer(home);
    expect((await server.api("GET", "/agents")).status).toBe(200);
  });
});

describe("a server whose port is taken", () => {
  it("exits 1, says what to do, and leaves the home free", async () => {
    const other: Server = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    home = await makeTestHome(model.baseUrl);
    const said = await startServer(home, { args: ["--port", String(port)] }).then(
      () => "it serves",
      (error: Error) => error.message,
    );
    expect(said).toContain("it ended with 1");
    expect(said).toContain(`PORT_TAKEN: Port ${port}`);
    expect(said).toContain("--port");
    await new Promise<void>((resolve) => other.close(() => resolve()));
    server = await startServer(home);
    expect((await server.api("GET", "/agents")).status).toBe(200);
  });
});
