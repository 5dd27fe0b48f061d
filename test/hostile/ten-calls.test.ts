/**
 * A turn of ten tool calls, one after the other, killed with SIGKILL after the sixth outcome, goes on with the seventh (P7). Would
 * catch: work that is done again from the start, a sixth call that runs twice, a round that is asked again.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { effectOf, type ModelServer, startModel } from "../support/model-server.ts";
import { buildDist, KILLING_SERVER_FILE, makeTestHome, type ServerProcess, startServer, type TestHome } from "../support/server-process.ts";

const CALLS = Array.from({ length: 10 }, (_, index) => index + 1);
const SCRIPT = `
rehearsal: 1
about: Ten calls, each in a round of its own.
pace: 0
turns:
  - rounds:
${CALLS.map((n) => `      - { say: "Step ${n}.", call: [{ id: c${n}, tool: exec, input: { command: "echo ${n} >> order; echo out ${n}" } }] }`).join("\n")}
      - { say: "All ten are done, the last said {{c10.data.stdout}}." }
`;

let model: ModelServer;
let home: TestHome;
let server: ServerProcess;

beforeAll(buildDist);
beforeEach(async () => {
  model = await startModel(SCRIPT);
  home = await makeTestHome(model.baseUrl);
});
afterEach(async () => {
  await server.kill();
  await home.remove();
  await model.close();
});

describe("a turn of ten calls, killed when the sixth outcome is on disk", () => {
  it.each(["after", "released"])("goes on with the seventh and runs none twice (killed %s)", async (where) => {
    server = await startServer(home, { script: KILLING_SERVER_FILE });
    await new Promise<void>((resolve) => {
      server.child.once("message", () => resolve());
      server.child.send({ kind: "call", event: "tool.done", nth: 6, where } as never);
    });
    const { body } = await server.api<{ turnId: string }>("POST", "/chat/send", { agent: "probe", session: "main", text: "go" });
    expect((await server.exited).signal).toBe("SIGKILL");
    expect(readFileSync(join(home.workspace, "order"), "utf8")).toBe("1\n2\n3\n4\n5\n6\n");
    const askedBefore = new Set(model.requests().map(effectOf));

    server = await startServer(home, { script: KILLING_SERVER_FILE });
    const turn = (await server.api("GET", `/chat/turns/${body.turnId}?waitMs=30000`)).body;
    expect(turn).toMatchObject({
      outcome: "completed",
      finalText: expect.stringMatching(/^All ten are done, the last said out 10/) as string,
      toolCalls: 10,
      rounds: 11,
    });
    expect(readFileSync(join(home.workspace, "order"), "utf8")).toBe("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");

    const { rows } = (await server.api<{ rows: HistoryRow[] }>("GET", "/chat/history?agent=probe&session=main&limit=500")).body;
    expect(rows.filter((row) => row.kind === "tool_call").length).toBe(10);
    expect(rows.flatMap((row) => (row.kind === "tool_result" ? [row.data.ok] : []))).toEqual(CALLS.map(() => true));
    const effects = model.requests().map(effectOf);
    // The seventh request may have been on its way when it died; no other was made twice.
    expect(new Set(effects).size).toBe(11);
    expect(effects.slice(askedBefore.size).filter((effect) => askedBefore.has(effect)).length).toBeLessThanOrEqual(
      where === "released" ? 1 : 0,
    );
  });
});
