/** The small charts: a tool call, an agent, a supervisor. */
import { describe, expect, it } from "vitest";
import { Play } from "../../test/support/chart-play.ts";
import { agentMachine } from "./agent.machine.ts";
import { callMachine, type CallOutput } from "./call.machine.ts";
import { supervisorMachine } from "./supervisor.machine.ts";

describe("a tool call", () => {
  const open = (): Play =>
    new Play(callMachine, { tool: "echo", callId: "c1", about: "", request: { tool: "echo" }, repeatable: false, limitMs: 10, at: 1 });
  const output = { id: "1.1.1:0", kind: "json", size: 2, preview: "{}" };
  it("performs once, with what may be repeated said", () => {
    expect(open().of("perform")).toEqual([{ name: "tool", driver: "tool", request: { tool: "echo" }, repeatable: false }]);
  });
  it.each([
    ["done", { ok: true, summary: "4 lines" }, { ok: true, summary: "4 lines", code: null, output }],
    ["done", { ok: false, code: "FILE_NOT_FOUND", summary: "no such file" }, { ok: false, code: "FILE_NOT_FOUND" }],
    ["failed", null, { ok: false, code: "INTERNAL", summary: "it broke" }],
    ["aborted", null, { ok: false, code: "TOOL_CANCELLED", summary: "stopped" }],
    ["interrupted", { stdout: "half" }, { ok: false, code: "TOOL_INTERRUPTED", interrupted: true, known: { stdout: "half" } }],
  ])("ends as %s with %o", (status, value, expected) => {
    const call = open();
    call.send({
      type: `tool.${status}`,
      name: "tool",
      value,
      attempt: 1,
      payloads: [output],
      ...(status === "failed" ? { error: { code: "INTERNAL", message: "it broke" } } : {}),
    });
    expect((call.snapshot.output as CallOutput).end).toMatchObject(expected);
  });
});

describe("an agent", () => {
  const open = (): Play => new Play(agentMachine, { agent: "ada", address: "/agents/ada", at: 1 });
  const down = (slug: string) => ({
    type: "down",
    address: `/agents/ada/sessions/${slug}`,
    birth: "1.1.1",
    reason: { kind: "normal" },
    output: null,
    lost: [],
  });
  const withSessions = (...slugs: string[]): Play => {
    const agent = open();
    for (const slug of slugs) agent.send({ type: "session.create", slug, cwd: null });
    return agent;
  };
  it("starts with its main session and watches it", () => {
    expect(open().of("spawn")).toMatchObject([{ name: "sessions/main", chart: "session", watch: true }]);
  });
  it("makes a session once", () => {
    const agent = withSessions("a");
    expect(agent.of("spawn")).toMatchObject([{ name: "sessions/a" }]);
    agent.send({ type: "session.create", slug: "a", cwd: null });
    expect(agent.of("refuse")).toMatchObject([{ code: "SESSION_EXISTS" }]);
  });
  it.each([
    ["main", "SESSION_FIXED"],
    ["b", "SESSION_UNKNOWN"],
  ])("does not delete %s", (slug, code) => {
    const agent = withSessions("a");
    agent.send({ type: "session.delete", slug });
    expect(agent.of("refuse")).toMatchObject([{ code }]);
  });
  it("deletes: stops, erases what it left, then answers; the slug is free only then", () => {
    const agent = withSessions("a");
    agent.send({ type: "session.delete", slug: "a", token: "door" });
    expect(agent.of("stop")).toMatchObject([{ address: "/agents/ada/sessions/a", remove: true }]);
    agent.send({ type: "session.create", slug: "a", cwd: null });
    expect(agent.of("refuse")).toMatchObject([{ code: "SESSION_EXISTS" }]);
    agent.send(down("a"));
    expect(agent.of("perform")).toMatchObject([{ name: "erase.a", driver: "erase", repeatable: true, cleanup: true }]);
    agent.send({ type: "erase.a.done", name: "erase.a", value: {}, attempt: 1 });
    expect(agent.of("reply")).toEqual([{ token: "door", value: null }]);
    agent.send({ type: "session.create", slug: "a", cwd: null });
    expect(agent.of("spawn")).toHaveLength(1);
  });
  it("erases two at a time under names of their own", () => {
    const agent = withSessions("a", "b");
    for (const slug of ["a", "b"]) agent.send({ type: "session.delete", slug });
    agent.send(down("a"));
    const [one] = agent.of("perform");
    agent.send(down("b"));
    expect([one?.name, agent.of("perform")[0]?.name]).toEqual(["erase.a", "erase.b"]);
  });
  it("answers when erasing fails, keeps the slug and tries again", () => {
    const agent = withSessions("a");
    agent.send({ type: "session.delete", slug: "a" });
    agent.send(down("a"));
    agent.send({ type: "erase.a.failed", name: "erase.a", value: null, attempt: 1, error: { code: "INTERNAL", message: "ENOSPC" } });
    expect(agent.of("refuse")).toMatchObject([{ code: "STORE_STALLED" }]);
    expect(agent.of("timer.set")).toMatchObject([{ id: "erase.a", event: { type: "erase.again", slug: "a" } }]);
    agent.send({ type: "erase.again", slug: "a" });
    expect(agent.of("perform")).toMatchObject([{ name: "erase.a" }]);
  });
  it("looks after a crash at all sessions but those being erased", () => {
    const agent = withSessions("a", "b");
    agent.send({ type: "resumed", cause: "crash", pending: ["erase.a"], timers: [] });
    expect(agent.of("watch").map(({ address }) => address)).toEqual(["/agents/ada/sessions/main", "/agents/ada/sessions/b"]);
  });
});

describe("a supervisor", () => {
  it("starts its static children, and each name it is told of once", () => {
    const supervisor = new Play(supervisorMachine, { children: [{ name: "agents", chart: "supervisor", spec: "fixed", input: {} }] });
    expect(supervisor.of("spawn")).toMatchObject([{ name: "agents" }]);
    const start = { type: "child.start", name: "ada", chart: "agent", spec: "agent", input: { agent: "ada" } };
    supervisor.send(start);
    expect([supervisor.of("spawn").length, supervisor.of("reply")[0]?.value]).toEqual([1, { started: true }]);
    supervisor.send(start);
    expect([supervisor.of("spawn").length, supervisor.of("reply")[0]?.value]).toEqual([0, { started: false }]);
  });
});
