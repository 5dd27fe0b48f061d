/**
 * Every code of the catalogue has a test that provokes it: here against a real server, or in the file the table names. A code
 * without one fails the check, so that no entry stands that nobody can meet.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSomora, type Somora } from "../../../src/main/somora.ts";
import { ERRORS } from "../../../src/protocol/errors.ts";

const PROVOKED: Record<string, string> = {
  KEY_MISSING: "test/suites/errors/errors.test.ts",
  KEY_WRONG: "test/suites/errors/errors.test.ts",
  ORIGIN_FOREIGN: "src/server/auth/gate.test.ts",
  HOST_UNKNOWN: "src/server/auth/gate.test.ts",
  PAIR_CODE_WRONG: "test/suites/errors/errors.test.ts",
  TOO_MANY_TRIES: "src/server/auth/gate.test.ts",
  REQUEST_INVALID: "src/server/app.test.ts",
  BODY_NOT_JSON: "test/suites/errors/errors.test.ts",
  BUDGET_SPENT: "test/suites/runtime/budget.test.ts",
  BODY_TOO_LARGE: "test/suites/errors/errors.test.ts",
  TEXT_TOO_LONG: "test/suites/errors/errors.test.ts",
  ROUTE_UNKNOWN: "test/suites/errors/errors.test.ts",
  AGENT_UNKNOWN: "test/suites/errors/errors.test.ts",
  AGENT_EXISTS: "test/suites/errors/errors.test.ts",
  AGENT_NAME_INVALID: "test/suites/errors/errors.test.ts",
  SESSION_UNKNOWN: "test/suites/errors/errors.test.ts",
  SESSION_EXISTS: "test/suites/errors/errors.test.ts",
  SESSION_SLUG_INVALID: "test/suites/errors/errors.test.ts",
  SESSION_FIXED: "test/suites/errors/errors.test.ts",
  FOLDER_INVALID: "test/suites/errors/errors.test.ts",
  TURN_UNKNOWN: "test/suites/errors/errors.test.ts",
  TURN_STARTED: "src/machines/session.test.ts",
  TURN_REMOVED: "src/machines/session.test.ts",
  TURN_OVER: "test/suites/errors/errors.test.ts",
  TURN_NOT_RETRYABLE: "test/suites/errors/errors.test.ts",
  CLIENT_KEY_REUSED: "test/suites/errors/errors.test.ts",
  QUEUE_FULL: "src/machines/session.test.ts",
  PARKED: "test/suites/runtime/supervision.test.ts",
  ACTOR_UNKNOWN: "test/suites/errors/errors.test.ts",
  ACTOR_FIXED: "test/suites/errors/errors.test.ts",
  NOT_PARKED: "test/suites/errors/errors.test.ts",
  CANCELLED: "test/suites/runtime/supervision.test.ts",
  STORE_STALLED: "test/suites/runtime/failing-journal.test.ts",
  SERVER_STOPPING: "src/server/app.test.ts",
  STOP_FAILED: "src/machines/session.test.ts",
  INTERNAL: "src/server/app.test.ts",
  CRASHED: "test/suites/runtime/supervision.test.ts",
  HOME_LOCKED: "test/suites/errors/errors.test.ts",
  PORT_TAKEN: "src/server/live/hub.test.ts",
  STORE_NEWER: "test/suites/journal/update.test.ts",
  STORE_UNREADABLE: "test/suites/journal/duckdb-files.test.ts",
  CONFIG_INVALID: "src/config/settings.test.ts",
  CONFIG_UNREADABLE: "src/config/settings.test.ts",
  MODEL_UNSET: "src/machines/turn.test.ts",
  MODEL_UNKNOWN: "test/suites/errors/errors.test.ts",
  PROVIDER_UNREACHABLE: "test/suites/engine/list-models.test.ts",
  PROVIDER_REFUSED_KEY: "test/suites/engine/engine.suite.ts",
  PROVIDER_LIMITED: "test/suites/engine/engine.suite.ts",
  PROVIDER_FAILED: "test/suites/engine/broken-calls.test.ts",
  PROVIDER_NOT_JSON: "test/suites/engine/list-models.test.ts",
  PROVIDER_SILENT: "test/suites/engine/engine.suite.ts",
  STREAM_CUT: "test/suites/engine/engine.suite.ts",
  CONTEXT_FULL: "test/suites/engine/engine.suite.ts",
  REHEARSAL_INVALID: "test/suites/engine/rehearsal.test.ts",
  REHEARSAL_NO_ANSWER: "test/suites/engine/rehearsal.test.ts",
  INTERRUPTED: "src/machines/session.test.ts",
  TOOL_UNKNOWN: "test/suites/tools/runner.test.ts",
  TOOL_DENIED: "test/suites/tools/runner.test.ts",
  TOOL_UNAVAILABLE: "test/suites/tools/runner.test.ts",
  TOOL_INPUT_INVALID: "test/suites/tools/runner.test.ts",
  TOOL_INPUT_BROKEN: "test/suites/engine/broken-calls.test.ts",
  TOOL_TIMEOUT: "src/tools/run-tool.test.ts",
  TOOL_FAILED: "src/tools/run-tool.test.ts",
  TOOL_CANCELLED: "test/suites/tools/exec.test.ts",
  TOOL_INTERRUPTED: "src/machines/small-charts.test.ts",
  TOOL_LIMIT: "src/machines/turn.test.ts",
  PATH_DENIED: "test/suites/tools/boundary.test.ts",
  FILE_NOT_FOUND: "test/suites/tools/file.test.ts",
  FILE_EXISTS: "test/suites/tools/file.test.ts",
  FILE_IS_FOLDER: "test/suites/tools/file.test.ts",
  FILE_BINARY: "test/suites/tools/file.test.ts",
  FILE_CHANGED: "test/suites/tools/file.test.ts",
  FILE_FAILED: "test/suites/tools/boundary.test.ts",
  PATCH_NOT_FOUND: "test/suites/tools/file.test.ts",
  PATCH_AMBIGUOUS: "test/suites/tools/file.test.ts",
  PATCH_NO_CHANGE: "test/suites/tools/file.test.ts",
  SEARCH_PATTERN_INVALID: "test/suites/tools/file.test.ts",
  DOC_UNKNOWN: "test/suites/tools/runner.test.ts",
  CHANGE_UNKNOWN: "test/suites/tools/file.test.ts",
  CWD_INVALID: "test/suites/tools/exec.test.ts",
  FRAME_NOT_JSON: "src/server/live/hub.test.ts",
  OP_UNKNOWN: "src/server/live/hub.test.ts",
  TOPIC_UNKNOWN: "src/server/live/hub.test.ts",
};

let home: string;
let somora: Somora;
let turnId: string;

async function ask(
  method: string,
  path: string,
  body?: unknown,
  key = somora.settings.key,
): Promise<{ status: number; body: Record<string, unknown> & { error?: { code: string; message: string } } }> {
  const answer = await fetch(`${somora.url}/api${path}`, {
    method,
    headers: { ...(key === "" ? {} : { authorization: `Bearer ${key}` }), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as { error?: { code: string; message: string } }) };
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "somora-errors-"));
  somora = await openSomora({ home, env: { SOMORA_HOME: home }, port: 0, fatal: () => {} });
  const turn = await ask("POST", "/chat/send-sync", { agent: "guide", text: "hello", clientKey: "k", timeoutMs: 30_000 });
  turnId = String(turn.body["turnId"]);
});

afterAll(async () => {
  await somora.stop();
  await rm(home, { recursive: true, force: true });
});

describe("the catalogue", () => {
  it("has a test for every code, and the table names no other", () => {
    expect(Object.keys(PROVOKED).sort()).toEqual(Object.keys(ERRORS).sort());
  });
  it("is met in the file the table names", async () => {
    const missing: string[] = [];
    for (const [code, file] of Object.entries(PROVOKED))
      if (file === "" || !new RegExp(`\\b${code}\\b`).test(await readFile(file, "utf8").catch(() => "")))
        missing.push(`${code}: ${file || "no file"}`);
    expect(missing).toEqual([]);
  });
});

const long = "x".repeat(262_145);
const cases: [code: string, method: string, path: string, body?: unknown, key?: string][] = [
  ["KEY_MISSING", "GET", "/agents", undefined, ""],
  ["KEY_WRONG", "GET", "/agents", undefined, "wrong"],
  ["PAIR_CODE_WRONG", "POST", "/pair", { code: "nothing" }],
  ["ROUTE_UNKNOWN", "GET", "/agentz"],
  ["BODY_NOT_JSON", "POST", "/chat/send", '{"agent": '],
  ["BODY_TOO_LARGE", "POST", "/chat/send", `"${"x".repeat(1_100_000)}"`],
  ["TEXT_TOO_LONG", "POST", "/chat/send", { agent: "guide", text: long }],
  ["AGENT_UNKNOWN", "POST", "/chat/send", { agent: "nobody", text: "x" }],
  ["AGENT_EXISTS", "POST", "/agents", { name: "guide" }],
  ["AGENT_NAME_INVALID", "POST", "/agents", { name: ".hidden" }],
  ["MODEL_UNKNOWN", "POST", "/agents", { name: "another", model: "nowhere/none" }],
  ["SESSION_UNKNOWN", "POST", "/chat/send", { agent: "guide", session: "none", text: "x" }],
  ["SESSION_EXISTS", "POST", "/agents/guide/sessions", { slug: "main" }],
  ["SESSION_SLUG_INVALID", "POST", "/agents/guide/sessions", { slug: "a b" }],
  ["SESSION_FIXED", "DELETE", "/agents/guide/sessions/main"],
  ["FOLDER_INVALID", "POST", "/chat/send", { agent: "guide", text: "x", cwd: "/does/not/exist" }],
  ["CLIENT_KEY_REUSED", "POST", "/chat/send", { agent: "guide", text: "other words", clientKey: "k" }],
  ["TURN_UNKNOWN", "GET", "/chat/turns/turn_x"],
  ["ACTOR_UNKNOWN", "POST", "/stop", { address: "/nobody" }],
  ["ACTOR_FIXED", "POST", "/stop", { address: "/agents" }],
  ["NOT_PARKED", "POST", "/resume", { address: "/agents/guide" }],
];

describe("a real server", () => {
  it.each(cases)("answers %s to %s %s and goes on", async (code, method, path, body, key) => {
    const answer = await ask(method, path, body, key);
    expect(answer.body.error?.code).toBe(code);
    expect(answer.status).toBe(ERRORS[code as keyof typeof ERRORS].status);
    expect(answer.body.error?.message).toMatch(/\w+ \w+/);
    expect((await ask("GET", "/healthz")).status).toBe(200);
  });
  it("answers TURN_OVER and TURN_NOT_RETRYABLE for a turn that ended well", async () => {
    expect((await ask("DELETE", `/chat/queue/${turnId}`)).body.error?.code).toBe("TURN_OVER");
    expect((await ask("POST", "/chat/send", { agent: "guide", retryOf: turnId })).body.error?.code).toBe("TURN_NOT_RETRYABLE");
  });
  it("refuses a second server on the home with HOME_LOCKED", async () => {
    await expect(openSomora({ home, env: { SOMORA_HOME: home }, port: 0, fatal: () => {} })).rejects.toMatchObject({ code: "HOME_LOCKED" });
  });
  it("takes invalid UTF-8, NUL and lone surrogates as U+FFFD", async () => {
    const raw = await fetch(`${somora.url}/api/chat/send`, {
      method: "POST",
      headers: { authorization: `Bearer ${somora.settings.key}`, "content-type": "application/json" },
      body: '{"agent":"guide","text":"a\\u0000b\\ud800c"}',
    });
    expect(raw.status).toBe(202);
    const { turnId: id } = (await raw.json()) as { turnId: string };
    await ask("GET", `/chat/turns/${id}?waitMs=20000`);
    const { rows } = (await ask("GET", "/chat/history?agent=guide&limit=500")).body as {
      rows: { kind: string; turnId: string; data: { text: string } }[];
    };
    expect(rows.find((row) => row.kind === "user_message" && row.turnId === id)?.data.text).toBe("a\ufffdb\ufffdc");
  });
});
