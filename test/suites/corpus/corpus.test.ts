/**
 * Stored rows of every chart version so far (`test/corpus`, made by `scripts/corpus.mjs`), restored by this build after each of
 * their commits and driven on. Would catch: a chart changed so that old rows are read wrongly, a version raised without a
 * migration, a version raised without a corpus.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type ActorBody, readHead } from "../../../src/actors/kernel/rows.ts";
import { charts } from "../../../src/actors/tree.ts";
import type { StoredRow } from "../../../src/ports/journal.port.ts";
import { openRuntimeWorld, Outside, type RuntimeWorld, type RuntimeWorldOptions } from "../../support/runtime-world.ts";
import { scenarioModel } from "../../support/scenario.ts";
import { VirtualTime } from "../../support/virtual-time.ts";

const folder = fileURLToPath(new URL("../../corpus", import.meta.url));
const corpora = readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl"))
  .map((name) => ({
    name,
    rows: readFileSync(join(folder, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as StoredRow),
  }));

/** The rows as they were after each commit. */
function boundaries(rows: readonly StoredRow[]): StoredRow[][] {
  return rows.flatMap((row, index) => {
    const next = rows[index + 1];
    return next === undefined || next.epoch !== row.epoch || next.commit !== row.commit ? [rows.slice(0, index + 1)] : [];
  });
}

function newestActors(rows: readonly StoredRow[]): StoredRow[] {
  return [...new Map(rows.filter(({ kind }) => kind === "actor").map((row) => [row.key, row])).values()];
}

const lastAt = (rows: readonly StoredRow[]): number =>
  Math.max(...rows.filter(({ kind }) => kind === "actor").map((row) => readHead(row.head).at));

async function restored(rows: readonly StoredRow[], more: Partial<RuntimeWorldOptions> = {}): Promise<RuntimeWorld> {
  const outside = new Outside();
  for (const gate of ["g1", "g2", "stream"]) outside.release(gate);
  return openRuntimeWorld({
    model: scenarioModel({ until: 0 }),
    outside,
    time: new VirtualTime(lastAt(rows) + 1),
    journal: { from: rows },
    ...more,
  });
}

/** Lets all that waits go on, and asks for one more answer. Gives what is wrong. */
async function drivenOn(rows: readonly StoredRow[]): Promise<string[]> {
  const wrong: string[] = [];
  const world = await restored(rows);
  const before = newestActors(rows).map((row) => readHead(row.head));
  const after = new Map(newestActors(world.journal.rows).map((row) => [row.key, readHead(row.head)]));
  for (const { address, birth, status } of before) {
    const now = after.get(address);
    if (status !== "down" && !world.runtime.kernel.has(address) && now?.status !== "down") wrong.push(`${address} was not restored`);
    if (now !== undefined && now.birth !== birth && status !== "down" && now.status !== "down") wrong.push(`${address} has another birth`);
  }
  const sessions = before.filter(({ kind, status }) => kind === "session" && status === "live").map(({ address }) => address);
  for (const address of sessions) {
    const session = address.split("/").at(-1) as string;
    if (!world.runtime.kernel.has(address)) continue; // it was on its way out
    const released = world.runtime.team.release("ada", session).then(
      () => "released",
      (error: unknown) => String(error),
    );
    await world.time.settle();
    expect(await released).toBe("released");
    await world.idle("ada", session);
    const { turnId } = await world.send("one more", { session });
    await world.idle("ada", session);
    const history = await world.history("ada", session);
    const end = history.find((row) => row.kind === "turn_end" && row.turnId === turnId);
    if ((end?.data as { outcome?: string } | undefined)?.outcome !== "completed")
      wrong.push(`${address}: one more turn is ${JSON.stringify(end?.data)}`);
    const ends = history.filter((row) => row.kind === "turn_end").map((row) => row.turnId);
    if (new Set(ends).size !== ends.length) wrong.push(`${address}: a turn ended twice`);
    if (history.some((row, index) => row.seq !== index + 1)) wrong.push(`${address}: history numbers have gaps`);
  }
  for (const row of newestActors(world.journal.rows)) {
    const head = readHead(row.head);
    if (head.parked !== null) wrong.push(`${head.address} is parked: ${head.parked}`);
    if (head.status !== "down" && (head.kind === "turn" || head.kind === "call")) wrong.push(`${head.address} never ended`);
  }
  if (world.fatal.length > 0) wrong.push(...world.fatal);
  world.runtime.close();
  return wrong;
}

describe.each(corpora)("the corpus $name", ({ rows }) => {
  it("is restored after each of its commits, and every session answers once more", async () => {
    const cuts = boundaries(rows);
    expect(cuts.length).toBeGreaterThan(40);
    const wrong: string[] = [];
    for (const [index, cut] of cuts.entries()) wrong.push(...(await drivenOn(cut)).map((what) => `after commit ${index + 1}: ${what}`));
    expect(wrong).toEqual([]);
  });
});

describe("the corpora together", () => {
  const stored = corpora.flatMap(({ rows }) => rows.filter(({ kind }) => kind === "actor"));

  it("hold rows of every chart in its present version", () => {
    const versions = new Set(
      stored.map((row) => `${readHead(row.head).kind} ${(JSON.parse(row.body ?? "{}") as Partial<ActorBody>).version}`),
    );
    expect(charts.map(({ name, version }) => `${name} ${version}`).filter((each) => !versions.has(each))).toEqual([]);
  });

  it("hold every kind in several states", () => {
    const states = [
      ...new Set(stored.map((row) => readHead(row.head)).map(({ kind, state, status }) => `${kind} ${state} ${status}`)),
    ].sort();
    expect(states).toEqual(
      expect.arrayContaining([
        "agent serving live",
        "call running live",
        "session idle live",
        "session running live",
        "supervisor serving live",
        "turn calling live",
        "turn calling stopping",
        "turn preparing live",
        "turn tools live",
        "turn waiting live",
      ]),
    );
  });

  it("are refused by a chart whose version was raised without a migration, and read with one", async () => {
    const rows = corpora[0]?.rows ?? [];
    const session = charts.find(({ name }) => name === "session");
    if (session === undefined) throw new Error("no session chart");
    const raised = { ...session, version: 1_000 };
    await expect(restored(rows, { replace: { charts: [raised] } })).rejects.toThrow(/version 1 cannot be read by version 1000/);
    const world = await restored(rows, { replace: { charts: [{ ...raised, migrate: (snapshot) => snapshot }] } });
    expect(world.runtime.kernel.has("/agents/ada/sessions/main" as never)).toBe(true);
    world.runtime.close();
  });
});
