import { describe, expect, it } from "vitest";
import type { ActorView } from "../protocol/actor-view.ts";
import { buildTree, countMoves, rowsOf, type Shape } from "./tree-rows.ts";

let born = 0;
const actor = (address: string, kind: string, more: Partial<ActorView> = {}): ActorView => ({
  address,
  birth: `1.${(born += 1)}.0`,
  kind,
  state: "idle",
  status: "live",
  parent: address.slice(0, address.lastIndexOf("/")) || "/",
  since: 0,
  detail: {},
  pending: [],
  mailbox: 0,
  restarts: 0,
  ...more,
});
const SHAPE: Shape = { folds: new Map(), filter: "all", name: "", whole: new Set(), open: null };
const busy = (): ActorView[] => [
  actor("/", "root", { parent: null }),
  actor("/agents", "supervisor"),
  actor("/agents/zoe", "agent"),
  actor("/agents/zoe/sessions", "supervisor"),
  actor("/agents/zoe/sessions/main", "session", { state: "busy" }),
  actor("/agents/zoe/sessions/main/turns/turn_7", "turn", { state: "tools", parent: "/agents/zoe/sessions/main" }),
  actor("/agents/zoe/sessions/main/turns/turn_7/calls/c1", "call", {
    state: "running",
    detail: { tool: "exec", about: "npm test" },
    parent: "/agents/zoe/sessions/main/turns/turn_7",
  }),
  actor("/agents/abe", "agent"),
  actor("/agents/abe/sessions/main", "session", { parent: "/agents/abe" }),
];
const lines = (actors: ActorView[], shape = SHAPE): string[] =>
  rowsOf(buildTree(actors, 1000), shape).map(
    (row) => `${" ".repeat(row.depth)}${row.more === undefined ? row.node.name : `${row.more.hidden} more`}: ${row.node.said.word}`,
  );

describe("the living tree", () => {
  it("leaves supervisors and turns out, sorts agents by name, and lets the parent show its child's state", () => {
    expect(lines(busy())).toEqual(["abe: idle", " main: idle", "zoe: tool", " main: tool", "  exec: running"]);
  });
  const callOf = (id: string, more: Partial<ActorView>): ActorView =>
    actor(`/agents/zoe/sessions/main/turns/turn_7/calls/${id}`, "call", {
      state: "running",
      detail: { tool: id },
      parent: "/agents/zoe/sessions/main/turns/turn_7",
      ...more,
    });
  const asks = (id: string, more: Partial<ActorView> = {}): ActorView => callOf(id, { waitingFor: { what: "abe", since: 0 }, ...more });
  const withoutExec = (): ActorView[] => busy().filter((each) => each.kind !== "call");

  it("says of a turn whose every call waits that it waits, and of one that also runs a tool that it works", () => {
    const waits = [...withoutExec(), asks("ask")];
    expect(lines(waits)).toEqual(["abe: idle", " main: idle", "zoe: waits", " main: waits", "  ask: waits"]);
    const tree = buildTree(waits, 1000);
    expect(countMoves(tree)).toEqual({ run: 0, wait: 1, you: 0, bad: 0 });
    expect(tree[1]?.children[0]?.speaker.detail["tool"]).toBe("ask");
    expect(lines([...busy(), asks("ask")])[3]).toBe(" main: tool");
  });
  it("lets what cannot move climb to its agent, unlike a call that merely failed", () => {
    expect(lines([...withoutExec(), asks("ask", { stuck: "abe is parked" })]).slice(2)).toEqual([
      "zoe: stuck",
      " main: stuck",
      "  ask: stuck",
    ]);
    expect(lines([...busy(), callOf("bad", { state: "failed" })])[3]).toBe(" main: tool");
  });
  it("shows a parked supervisor, because only a person can set it going", () => {
    const parked = actor("/agents/zoe/sessions", "supervisor", {
      status: "parked",
      parkedReason: "it crashed too often",
      parent: "/agents/zoe",
    });
    const others = busy().filter((each) => each.address !== "/agents/zoe/sessions");
    expect(lines([...others, parked])).toContain(" sessions: parked");
  });
  it("shows a parked session on its agent as the person's move, above another that works", () => {
    const roots = buildTree(
      [...busy(), actor("/agents/zoe/sessions/b", "session", { status: "parked", parkedReason: "x", parent: "/agents/zoe" })],
      1000,
    );
    expect(roots[1]?.said).toMatchObject({ word: "parked", move: "you" });
    expect(countMoves(roots)).toEqual({ run: 1, wait: 0, you: 1, bad: 0 });
  });
  it("shows a session whose last turn failed as failed, on its agent too and in the counts", () => {
    const lastEnd = { outcome: "failed", outcomeReason: null, error: { code: "PROVIDER_FAILED", message: "500" }, rounds: 1 };
    const roots = buildTree(
      busy().map((one) => (one.address === "/agents/abe/sessions/main" ? { ...one, detail: { lastEnd } } : one)),
      1000,
    );
    expect(roots[0]?.said).toMatchObject({ mark: "failed", word: "failed", move: "bad" });
    expect(countMoves(roots)).toEqual({ run: 1, wait: 0, you: 0, bad: 1 });
  });
  it("keeps a failed call from painting its session red", () => {
    const actors = busy().map((one) => (one.kind === "call" ? { ...one, state: "failed" } : one));
    expect(buildTree(actors, 1000)[1]?.said.move).toBe("run");
  });
  it("filters by whose move, with the way down to what fits", () => {
    expect(lines(busy(), { ...SHAPE, filter: "run" })).toEqual(["zoe: tool", " main: tool", "  exec: running"]);
  });
  it("folds what is beyond twenty siblings into one row until it is asked for", () => {
    const many = [
      actor("/agents/q", "agent"),
      ...Array.from({ length: 30 }, (_, at) => actor(`/agents/q/sessions/s${at}`, "session", { parent: "/agents/q" })),
    ];
    expect(lines(many)).toHaveLength(22);
    expect(lines(many).at(-1)).toBe(" 10 more: idle");
    expect(lines(many, { ...SHAPE, whole: new Set(["/agents/q"]) })).toHaveLength(31);
  });
});
