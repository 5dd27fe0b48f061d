/**
 * kill -9 on a real server, at boundaries of its journal and in between, counted from outside (P1, P2, P3, P7, P8; bugs G02, G03,
 * G06, G07). Would catch: a lost or doubled message, a swapped order, a tool that runs twice, a request nobody asked for, a turn, call
 * or process shown that is not there, or there and not shown.
 *
 * 40 kills here; `npm run proof` sets HOSTILE_KILLS and HOSTILE_REPORT (a file of JSON lines, one per kill).
 */
import { appendFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  killedStart,
  type KillRecord,
  type Lane,
  type Phase,
  PHASES,
  restart,
  startLane,
  Story,
  STORY_SCRIPT,
} from "../support/kill-story.ts";
import { type ModelServer, startModel } from "../support/model-server.ts";
import { ghosts, verify } from "../support/outside-check.ts";
import { buildDist, makeTestHome } from "../support/server-process.ts";

const KILLS = Number(process.env["HOSTILE_KILLS"] ?? 40);
const REPORT = process.env["HOSTILE_REPORT"];
const SEED = Number(process.env["HOSTILE_SEED"] ?? 1);
const LANES = 2;
const KILLS_PER_STORY = 3;
/** So often the next start is killed at its first commits, too. */
const STARTS_KILLED = 0.2;

const kills: (KillRecord & { wrong: string[] })[] = [];
const hits: Phase[] = [];
let startsKilled = 0;
const lanes: Lane[] = [];

async function runLane(lane: Lane, name: string, count: number): Promise<void> {
  for (let n = 0, killed = 0; killed < count; n += 1) {
    const story = new Story(lane, `${name}${n}`);
    await story.begin();
    const wrong: string[] = [];
    while (killed < count && story.kills.length < KILLS_PER_STORY) {
      const target = rarest();
      if (!(await story.killAt(target))) break;
      killed += 1;
      hits.push((story.kills.at(-1) as KillRecord).phase);
      if (lane.random() < STARTS_KILLED) {
        await killedStart(lane, story);
        startsKilled += 1;
      }
      await restart(lane);
      (story.kills.at(-1) as KillRecord).servingMs = lane.server.startMs;
      wrong.push(...(await ghosts(lane, story)).map((each) => `after the kill "${target}": ${each}`));
    }
    await story.sendAll();
    await story.settled();
    wrong.push(...(await verify(lane, story)));
    for (const kill of story.kills) note(kill, wrong);
  }
}

/** What was hit least often so far is aimed at next. */
function rarest(): Phase {
  const count = (phase: Phase): number => hits.filter((hit) => hit === phase).length;
  return [...PHASES].sort((a, b) => count(a) - count(b))[0] as Phase;
}

function note(kill: KillRecord, wrong: string[]): void {
  kills.push({ ...kill, wrong });
  const { session, target, where, phase, turnRunning, heavy, servingMs } = kill;
  if (REPORT !== undefined)
    appendFileSync(
      REPORT,
      `${JSON.stringify({ session, aimedAt: target, where, phase, turnRunning, heavy, servingMs, verdict: wrong.length === 0 ? "good" : "bad", ...(wrong.length === 0 ? {} : { wrong }) })}\n`,
    );
}

/** mulberry32: the same seed aims at the same moments. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function histogram(): string {
  const rows = PHASES.map((phase) => {
    const count = kills.filter((kill) => kill.phase === phase).length;
    return `${phase.padEnd(12)} ${String(count).padStart(4)} ${"#".repeat(Math.round((count / KILLS) * 60))}`;
  });
  const serving = kills.map((kill) => kill.servingMs).sort((a, b) => a - b);
  const share = (count: number): string => `${Math.round((count / kills.length) * 100)} %`;
  return [
    `${kills.length} kills by phase:`,
    ...rows,
    `with a turn running: ${share(kills.filter((kill) => kill.turnRunning).length)}; of these with two parallel calls, a queue of three and a steered message: ${share(kills.filter((kill) => kill.heavy).length)}`,
    `and ${startsKilled} starts killed at their first commits`,
    `kill to serving: median ${serving[serving.length >> 1]} ms, longest ${serving.at(-1)} ms`,
  ].join("\n");
}

describe(`a server killed ${KILLS} times with SIGKILL`, () => {
  let model: ModelServer;
  beforeAll(
    async () => {
      await buildDist();
      model = await startModel(STORY_SCRIPT);
      for (let n = 0; n < LANES; n += 1)
        lanes.push(await startLane({ home: await makeTestHome(model.baseUrl), model, random: seeded(SEED * 100 + n) }));
      await Promise.all(lanes.map((lane, n) => runLane(lane, "ab"[n] as string, Math.floor(KILLS / LANES) + (n < KILLS % LANES ? 1 : 0))));
      console.log(histogram());
    },
    120_000 + KILLS * 10_000,
  );
  afterAll(async () => {
    for (const lane of lanes) {
      await lane.server.kill();
      await lane.home.remove();
    }
    await model.close();
  });

  it("answers every accepted message exactly once, in order, runs no tool twice and shows no ghost", () => {
    expect(kills.length).toBe(KILLS);
    expect([...new Set(kills.flatMap((kill) => kill.wrong.map((wrong) => `${kill.session}: ${wrong}`)))]).toEqual([]);
  });

  it.each(PHASES)("was hit while %s in at least a tenth of the kills", (phase) => {
    expect(kills.filter((kill) => kill.phase === phase).length).toBeGreaterThanOrEqual(Math.floor(KILLS / 10));
  });

  it("had a turn running in three quarters of the kills, and half of those with parallel calls, a queue and a steered message", () => {
    const running = kills.filter((kill) => kill.turnRunning);
    expect(running.length).toBeGreaterThanOrEqual(kills.length * 0.75);
    expect(running.filter((kill) => kill.heavy).length).toBeGreaterThanOrEqual(running.length / 2);
  });
});
