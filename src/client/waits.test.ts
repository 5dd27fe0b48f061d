import { describe, expect, it } from "vitest";
import type { ActorView } from "../protocol/actor-view.ts";
import type { Address, Token } from "../protocol/ids.ts";
import type { WaitView } from "../protocol/waits.ts";
import { buildTree, rowsOf, type TreeRow } from "./tree-rows.ts";
import { waitArrows } from "./wait-arrows.ts";
import { lineName, waitChain } from "./wait-chain.ts";

const session = (agent: string): Address => `/agents/${agent}/sessions/main` as Address;
const waitOf = (from: string, on: string, more: Partial<WaitView> = {}): WaitView => ({
  token: `${from} ${on}` as Token,
  name: "ask",
  from: `${session(from)}/turns/t/calls/1.0` as Address,
  line: session(from),
  to: session(on),
  on: session(on),
  onLine: session(on),
  why: `asked ${on}`,
  since: 1,
  blocks: true,
  stuck: null,
  ...more,
});
const short = (links: ReturnType<typeof waitChain>): string[] =>
  links.map((link) => `${lineName(link.address)}${link.closed ? " closed" : link.wait === null ? " ends" : ` ${link.wait.why}`}`);

describe("the chain of a wait", () => {
  it("is followed to who can end it, from the line and from anything above it", () => {
    const waits = [waitOf("quill", "ledger"), waitOf("marlow", "quill")];
    const whole = ["marlow / main asked quill", "quill / main asked ledger", "ledger / main ends"];
    expect(short(waitChain(session("marlow"), waits))).toEqual(whole);
    expect(short(waitChain("/agents/marlow", waits))).toEqual(whole);
    expect(short(waitChain(session("quill"), waits))).toEqual(whole.slice(1));
  });

  it("is empty for who waits for nobody, and for an agent whose name only begins alike", () => {
    expect(waitChain(session("ledger"), [waitOf("marlow", "ledger")])).toEqual([]);
    expect(waitChain("/agents/mar", [waitOf("marlow", "ledger")])).toEqual([]);
  });

  it("ends where a circle closes", () => {
    const waits = [waitOf("a", "b"), waitOf("b", "a")];
    expect(short(waitChain(session("a"), waits))).toEqual(["a / main asked b", "b / main asked a", "a / main closed"]);
  });

  it("follows a wait that blocks before one that does not, and the older of two", () => {
    const waits = [waitOf("a", "x", { blocks: false, since: 0 }), waitOf("a", "late", { since: 9 }), waitOf("a", "early", { since: 5 })];
    expect(short(waitChain(session("a"), waits))).toEqual(["a / main asked early", "early / main ends"]);
  });

  it("marks the links nothing can end", () => {
    const [first] = waitChain(session("a"), [waitOf("a", "b", { stuck: "a waits for b" })]);
    expect(first?.wait?.stuck).toBe(true);
  });
});

describe("a name in a chain", () => {
  it.each([
    ["/agents/marlow", "marlow"],
    ["/agents/marlow/sessions/main", "marlow / main"],
    ["/agents/marlow/sessions/main/turns/t/calls/1.0", "marlow / main: turns/t/calls/1.0"],
    ["/agents/marlow/slots", "marlow/slots"],
    ["/slots", "/slots"],
  ])("of %s is %s", (address, name) => {
    expect(lineName(address)).toBe(name);
  });
});

describe("wait arrows", () => {
  const actor = (address: string, kind: string, parent: string): ActorView => ({
    address,
    birth: "1.1.0",
    kind,
    state: "idle",
    status: "live",
    parent,
    since: 0,
    detail: {},
    pending: [],
    mailbox: 0,
    restarts: 0,
  });
  const agents = ["a", "b", "c", "d"];
  const rows = (folds: ReadonlyMap<string, boolean> = new Map()): TreeRow[] =>
    rowsOf(
      buildTree(
        agents.flatMap((name) => [actor(`/agents/${name}`, "agent", "/agents"), actor(session(name), "session", `/agents/${name}`)]),
        0,
      ),
      { folds, filter: "all", name: "", whole: new Set(), open: null },
    );

  it("go from the row of who waits to the row of whom it waits for, in lanes that never overlap", () => {
    const arrows = waitArrows(rows(), [waitOf("a", "d"), waitOf("a", "b"), waitOf("c", "d", { stuck: "no one moves" })]);
    expect(arrows).toEqual([
      { from: 1, to: 7, lane: 1, stuck: false },
      { from: 1, to: 3, lane: 0, stuck: false },
      { from: 5, to: 7, lane: 0, stuck: true },
    ]);
  });

  it("end at the row that hides what they mean, and are not drawn within one row or to what is not there", () => {
    const folded = rows(new Map([["/agents/b", false]]));
    expect(waitArrows(folded, [waitOf("a", "b")])).toEqual([{ from: 1, to: 2, lane: 0, stuck: false }]);
    expect(waitArrows(folded, [waitOf("b", "b"), waitOf("a", "gone")])).toEqual([]);
  });
});
