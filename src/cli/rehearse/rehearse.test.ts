import { readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SomoraError } from "../../protocol/errors.ts";
import type { HistoryRow } from "../../protocol/history.ts";
import { NO_USAGE } from "../../protocol/usage.ts";
import type { TurnResult } from "../../protocol/turn.ts";
import { cliWorld, KEY, type CliWorld } from "../../../test/support/cli-world.ts";
import { agentLine, fakeHouse, turnResult, type FakeHouse } from "../../../test/support/fake-house.ts";
import { createApp, createHub, listen } from "../../server/index.ts";
import type { PlayedServer } from "./play.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const turn = "turn_1.1.1";
const at = 1;
const rows: Record<string, HistoryRow> = {
  user: { seq: 1, at, turnId: turn, kind: "user_message", data: { text: "list", origin: { kind: "human" } } },
  call: {
    seq: 2,
    at,
    turnId: turn,
    kind: "tool_call",
    data: { callId: "call_7", tool: "file_list", input: {}, round: 1, modelCallId: "ls" },
  },
  result: { seq: 3, at, turnId: turn, kind: "tool_result", data: { callId: "call_7", ok: true, output: { ok: true, data: {} } } },
  again: { seq: 4, at, turnId: turn, kind: "tool_result", data: { callId: "call_7", ok: true, output: { ok: true, data: {} } } },
  answer: { seq: 5, at, turnId: turn, kind: "assistant_message", data: { text: "I see 3 files.", attempt: 1, blockId: "t", round: 2 } },
  end: { seq: 6, at, turnId: turn, kind: "turn_end", data: { outcome: "completed", usage: NO_USAGE, costUsd: null } },
};
const done: TurnResult = turnResult(turn, { agent: "stage", finalText: "I see 3 files." });

/** A server that plays its part: after a send it says `says`; the turn is over at once, or never when `hangs`. */
async function server(
  says: string[],
  more: { hangs?: boolean; earlier?: string[]; processes?: number; onKill?: () => void } = {},
): Promise<PlayedServer> {
  const house: FakeHouse = fakeHouse();
  house.setAgent(agentLine("stage"));
  for (const name of more.earlier ?? []) house.emit("stage", "main", "row.added", { row: rows[name] as HistoryRow });
  house.answers.set("chat.send", () => {
    for (const name of says) house.emit("stage", "main", "row.added", { row: rows[name] as HistoryRow });
    return { turnId: turn, position: 0 };
  });
  house.answers.set("chat.turn", () => (more.hangs ? new Promise(() => undefined) : done));
  const app = createApp(house.handles, { key: KEY, listenHost: "127.0.0.1", homeId: "r", ui: null });
  const door = await listen({ app, hub: createHub(house.handles), host: "127.0.0.1", port: 0 });
  const close = async (): Promise<void> => {
    more.onKill?.();
    await door.close(50);
  };
  return { url: door.url, key: KEY, kill: close, stop: close, processesLeft: async () => more.processes ?? 0 };
}

async function rehearse(
  script: string,
  servers: PlayedServer[],
  argv: string[] = [],
): Promise<{ exit: number; out: string; err: string; homes: string[]; scripts: string[] }> {
  const homes: string[] = [];
  const scripts: string[] = [];
  const world: CliWorld = await cliWorld(() => ({
    rehearsal: {
      checkScript: (text) => {
        if (!text.includes("rehearsal: 1")) throw new SomoraError("REHEARSAL_INVALID", "script.yaml:1: `rehearsal` is missing.");
      },
      startServer: async (home) => {
        homes.push(home);
        scripts.push(await readFile(join(home, "rehearsals/script.yaml"), "utf8"));
        return servers.shift() as PlayedServer;
      },
      serveModel: async ({ port }) => ({ url: `http://127.0.0.1:${port}/v1`, close: async () => undefined }),
    },
  }));
  cleanups.push(() => world.close());
  await writeFile(join(world.home, "script.yaml"), script);
  const running = world.run(["rehearse", "script.yaml", ...argv]);
  if (argv.includes("--serve")) {
    await running.says("ready");
    running.interrupt();
  }
  return { exit: await running.exit, out: running.out(), err: running.err(), homes, scripts };
}

const script = (expectations: string): string => `rehearsal: 1\npace: 40\nturns: []\nexpect:\n${expectations}`;

describe("a rehearsal that is played", () => {
  it("exits 0 when all is as expected, on a home of its own that is gone afterwards, without its pauses", async () => {
    const result = await rehearse(
      script(
        "  - { send: list, outcome: completed, calls: [file_list], text: '3 FILES' }\n  - atEnd: { actorsRunning: 0, processesLeft: 0 }\n",
      ),
      [await server(["user", "call", "result", "answer", "end"])],
    );
    expect(result).toMatchObject({ exit: 0, out: "as expected\n" });
    expect(existsSync(result.homes[0] as string)).toBe(false);
    expect(result.scripts[0]).toContain("pace: 0");
  });

  it("exits 1 and names each difference", async () => {
    const result = await rehearse(
      script("  - { send: list, outcome: failed, calls: [exec], text: 'nothing' }\n  - atEnd: { processesLeft: 0 }\n"),
      [await server(["user", "call", "result", "answer", "end"], { processes: 2 })],
    );
    expect(result.exit).toBe(1);
    expect(result.out.split("\n").filter((line) => line !== "")).toEqual([
      "entry 1: outcome should be failed, was completed",
      'entry 1: calls should be ["exec"], was ["file_list"]',
      "entry 1: text should be nothing, was I see 3 files.",
      "entry 2: processesLeft should be 0, was 2",
    ]);
  }, 10_000);

  it("kills after the call it names, starts again on the same home, and counts calls that ran twice", async () => {
    const killed: string[] = [];
    const expectation = "  - { send: list, kill: after call ls, then: restart, outcome: completed, callsRunTwice: 0 }\n";
    const good = await rehearse(script(expectation), [
      await server(["user", "call", "result"], { hangs: true, onKill: () => killed.push("first") }),
      await server([], { earlier: ["user", "call", "result", "answer", "end"] }),
    ]);
    expect(good).toMatchObject({ exit: 0 });
    expect(killed).toEqual(["first"]);
    expect(good.homes[1]).toBe(good.homes[0]);
    const twice = await rehearse(script(expectation), [
      await server(["user", "call", "result"], { hangs: true }),
      await server([], { earlier: ["user", "call", "result", "again", "answer", "end"] }),
    ]);
    expect(twice).toMatchObject({ exit: 1, out: "entry 1: callsRunTwice should be 0, was 1\n" });
  });

  it("says when the turn was over before the kill", async () => {
    const result = await rehearse(script("  - { send: list, kill: after call other, then: restart, outcome: completed }\n"), [
      await server(["user", "answer", "end"]),
      await server([], { earlier: ["user", "answer", "end"] }),
    ]);
    expect(result).toMatchObject({ exit: 1, out: "entry 1: kill should be after call other, was the turn was over before that\n" });
  });

  it("exits 2 for a script that is invalid, one whose expectations are, and one that is not there", async () => {
    expect(await rehearse("turns: []\n", [])).toMatchObject({ exit: 2, err: "script.yaml:1: `rehearsal` is missing.\n" });
    expect(await rehearse(script("  - { send: x, outcom: failed }\n"), [])).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^script\.yaml:5: `expect\.0/) as string,
    });
    const world = await cliWorld();
    cleanups.push(() => world.close());
    expect(await world.run(["rehearse", "none.yaml"]).exit).toBe(2);
  });

  it("is served as a model server until Ctrl-C with --serve", async () => {
    expect(await rehearse(script("  []\n"), [], ["--serve", "--port", "7"])).toMatchObject({
      exit: 0,
      out: "ready http://127.0.0.1:7/v1\n",
    });
  });
});
