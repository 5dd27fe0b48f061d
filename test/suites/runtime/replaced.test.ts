/**
 * The kernel dies after every single commit of one long scenario, right when that is on disk and before anything of it was
 * released, and another takes its place. Would catch: an effect lost or doubled at a boundary, an attempt counted that never was,
 * a row that differs for having been interrupted.
 */
import { describe, expect, it } from "vitest";
import { type ActorBody, readHead } from "../../../src/actors/kernel/rows.ts";
import type { StoredRow } from "../../../src/ports/journal.port.ts";
import type { HistoryRow } from "../../../src/protocol/history.ts";
import {
  DiedOpening,
  Killer,
  openRuntimeWorld,
  Outside,
  reopenRuntime,
  type RuntimeWorld,
  type RuntimeWorldOptions,
} from "../../support/runtime-world.ts";
import { broken, play, playDelete, scenarioModel } from "../../support/scenario.ts";
import { StayingDriver } from "../../support/staying-driver.ts";

interface Run {
  wrong: string[];
  rows: readonly StoredRow[];
  history: HistoryRow[];
  boundary: Set<string>;
  commits: number;
  ran: string[];
  asked: number;
}

/** Plays the scenario; the runtime dies at its `dieAt`th commit (0: never). */
async function run(dieAt: number, mode: "drivers stay" | "both"): Promise<Run> {
  const limits = { until: 0 };
  const killer = new Killer(dieAt);
  const outside = new Outside();
  let boundary = new Set<string>();
  const options: RuntimeWorldOptions = {
    model: scenarioModel(limits),
    outside,
    killer,
    ...(mode === "drivers stay" ? { staying: new Map<string, StayingDriver>() } : {}),
  };
  let world = await openRuntimeWorld(options).catch((error: unknown) => {
    if (!(error instanceof DiedOpening)) throw error;
    killer.died = false;
    return openRuntimeWorld({ ...options, journal: { from: [...error.journal.rows] } });
  });
  const restart = async (): Promise<void> => {
    StayingDriver.dying = mode === "drivers stay";
    world.runtime.close();
    StayingDriver.dying = false;
    world = await reopenRuntime(world).catch((error: unknown) => {
      if (!(error instanceof DiedOpening)) throw error;
      killer.died = false;
      return openRuntimeWorld({ ...options, agents: ["ada"], time: world.time, journal: { from: [...error.journal.rows] } });
    });
  };
  const stage = {
    get world(): RuntimeWorld {
      return world;
    },
    restart,
    async tend() {
      if (!killer.died) return;
      killer.died = false;
      boundary = boundaryOf(world.journal.rows, world.time.now());
      await restart();
    },
  };
  const client = await play(stage, limits);
  const wrong = await broken(client);
  const history = await world.history();
  await playDelete(client);
  return {
    wrong,
    rows: [...world.journal.rows],
    history,
    boundary,
    commits: killer.commits,
    ran: outside.ran,
    asked: outside.asked.length,
  };
}

/** What was on its way at this commit. */
function boundaryOf(rows: readonly StoredRow[], now: number): Set<string> {
  const found = new Set<string>();
  for (const row of newest(rows, "actor")) {
    const head = readHead(row.head);
    if (head.status === "down") continue;
    const body = JSON.parse(row.body ?? "{}") as ActorBody;
    for (const pending of body.pending) {
      if (!pending.settled) found.add(`${pending.driver} pending`);
      if (pending.mark && !pending.settled) found.add("an abort");
    }
    for (const timer of head.timers) if (timer.due <= now) found.add("a due timer");
    if (head.fence) found.add("a fence");
    if (body.mail.length > 0) found.add("mail");
  }
  return found;
}

function newest(rows: readonly StoredRow[], kind: string): StoredRow[] {
  const by = new Map<string, StoredRow>();
  for (const row of rows) if (row.kind === kind) by.set(row.key, row);
  return [...by.values()];
}

/** Births, event ids and times go; turns are named in the order they appear. */
function nameless(text: string, names: Map<string, string>): string {
  return text
    .replace(/turn_\d+-\d+-\d+/g, (id) => names.get(id) ?? (names.set(id, `turn#${names.size}`), names.get(id) as string))
    .replace(/door-\d+-\d+-\d+|door:\d+\.\d+/g, "door#")
    .replace(/\b\d+\.\d+\.\d+(:\d+)?\b/g, "#")
    .replace(/"(at|since|due|ms|startedAt|lastAt|createdAt)":\d+/g, '"$1":0');
}

/** All that is left, commit numbers and times aside: transcripts whole, the newest row of each actor and part, the ledger. */
function comparable(rows: readonly StoredRow[], history: readonly HistoryRow[]) {
  const names = new Map<string, string>();
  const transcript = history.map((row) => nameless(JSON.stringify(row), names));
  const left = [...newest(rows, "actor"), ...newest(rows, "part")].map((row) => {
    const body = row.kind === "actor" ? { ...(JSON.parse(row.body ?? "{}") as object), story: undefined, input: undefined } : row.body;
    return nameless(`${row.kind} ${row.key} ${JSON.stringify(withoutCounts(row))} ${JSON.stringify(body)}`, names);
  });
  const ledger = rows.filter((row) => row.kind === "ledger").map((row) => nameless(`${row.key} ${row.head}`, names));
  // A tool run at the door has no client key: a client that asks again runs it again. All else is there once.
  return [...transcript, ...new Set(left.sort()), ...ledger.sort()];
}

/** Lines that only one of the two has, cut around where they part. */
function differences(expected: readonly string[], found: readonly string[]): string[] {
  const missing = expected.filter((line) => !found.includes(line));
  const added = found.filter((line) => !expected.includes(line));
  return [
    ...missing.map((line) => `- ${cut(line, added)}`),
    ...added.map((line) => `+ ${cut(line, missing)}`),
    ...(expected.length === found.length ? [] : [`${found.length} lines instead of ${expected.length}`]),
  ];
}

function cut(line: string, others: readonly string[]): string {
  const same = Math.max(0, ...others.map((other) => [...line].findIndex((character, index) => character !== other[index])));
  return same < 40 ? line.slice(0, 300) : `${line.slice(0, 60)} … ${line.slice(same - 30, same + 100)}`;
}

/** The kernel's own counters of an actor differ where a client said the same twice. */
function withoutCounts(row: StoredRow): object {
  return { ...(JSON.parse(row.head) as object), birth: undefined, restarts: undefined, crashes: undefined };
}

/** What may differ when the drivers died, too: attempts, and what an interrupted attempt left. */
function sayings(history: readonly HistoryRow[]): string[] {
  const names = new Map<string, string>();
  return history
    .filter(({ data }) => !("superseded" in data || "interrupted" in data))
    .map((row) =>
      nameless(
        JSON.stringify({ ...row, seq: 0, data: { ...row.data, attempt: 0, blockId: "", usage: undefined, costUsd: undefined } }),
        names,
      ),
    );
}

const inTurn = (ran: string): boolean => ran !== 'echo {"n":3}';

const plain = await run(0, "drivers stay");
const expected = comparable(plain.rows, plain.history);
const expectedSayings = sayings(plain.history);
const boundaries = new Set<string>();

describe("a kernel that is replaced while its drivers go on", () => {
  it.each(Array.from({ length: plain.commits }, (_, index) => index + 1))("after commit %i leaves the same rows", async (dieAt) => {
    const { wrong, rows, history, boundary, ran, asked } = await run(dieAt, "drivers stay");
    for (const each of boundary) boundaries.add(each);
    expect(wrong).toEqual([]);
    expect(differences(expected, comparable(rows, history))).toEqual([]);
    expect(ran.filter(inTurn).sort()).toEqual(plain.ran.filter(inTurn).sort());
    expect(asked).toBe(plain.asked);
  });
  it("was replaced with each kind of effect pending, with an abort on its way, with a timer due", () => {
    expect([...boundaries].sort()).toEqual(
      expect.arrayContaining(["a due timer", "an abort", "engine pending", "erase pending", "prepare pending", "tool pending"]),
    );
  });
});

describe("a kernel that is replaced with its drivers", () => {
  it.each(Array.from({ length: plain.commits }, (_, index) => index + 1))(
    "after commit %i leaves the same conversation, attempts and what they left aside",
    async (dieAt) => {
      const { wrong, history, ran } = await run(dieAt, "both");
      expect(wrong).toEqual([]);
      expect(differences(expectedSayings, sayings(history))).toEqual([]);
      expect(ran.filter((each) => each.startsWith("act")).sort()).toEqual(['act {"n":1}', 'act {"n":2}']);
    },
  );
});
