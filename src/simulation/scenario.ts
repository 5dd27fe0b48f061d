/** What persons do and what goes wrong in a world, drawn from its seed before it begins: a list that can be made shorter. */
import type { Address } from "../protocol/ids.ts";
import type { JobStep } from "./charts/job.chart.ts";
import type { DiskFault, CrashMoment } from "./world-disk.ts";
import { Random } from "./random.ts";

export type Step =
  | { at: number; do: "send"; session: Address; key: string; text: string; steer: boolean; other: boolean }
  | { at: number; do: "takeBack"; nth: number }
  | { at: number; do: "steerQueued"; nth: number }
  | { at: number; do: "hold"; session: Address; held: boolean }
  | { at: number; do: "stop"; what: StopTarget; nth: number }
  | { at: number; do: "resume" }
  | { at: number; do: "create" | "delete"; agent: Address }
  | { at: number; do: "job"; worker: Address; name: string; key: string; script: JobStep[] }
  | { at: number; do: "own"; worker: Address }
  | { at: number; do: "probe"; what: string }
  | { at: number; do: "tool"; session: Address }
  | { at: number; do: "cap"; pool: Address; cap: number }
  | { at: number; do: "crash" }
  | { at: number; do: "diskNext"; fault: DiskFault }
  | { at: -1; do: "crashAtCommit"; nth: number; moment: CrashMoment }
  | { at: -1; do: "crashInLife"; life: number; nth: number; moment: CrashMoment }
  | { at: -1; do: "crashAtBegin"; nth: number }
  | { at: -1; do: "crashAtRecover"; nth: number }
  | { at: -1; do: "disk"; nth: number; fault: DiskFault }
  | { at: -1; do: "poison"; nth: number }
  | { at: -1; do: "sick"; nth: number; times: number; every: number; who: Address | null };

export type StopTarget = "turn" | "session" | "agent" | "worker" | "job" | "probe" | "call";

export const AGENTS = ["/agents/ada", "/agents/bob"] as Address[];
export const SIDE = "side";
export const SESSIONS = ["/agents/ada/sessions/main", "/agents/bob/sessions/main", "/agents/ada/sessions/side"] as Address[];
export const WORKERS = ["/lines/w0", "/lines/w1", "/lines/w2", "/lines/w3"] as Address[];
export const PROBE = "/lines/probe" as Address;
export const POOLS = ["/agents/ada/slots", "/slots/agents"] as Address[];
const NOBODY = "/nobody/here" as Address;
const NAMES = ["a", "a", "b"];

export function scenarioOf(seed: string): Step[] {
  const random = new Random(`${seed} scenario`);
  const steps: Step[] = [];
  let at = random.whole(5, 60);
  const count = random.whole(14, 34);
  let keys = 0;
  for (let n = 0; n < count; n += 1) {
    at += random.weighted([
      [4, 0],
      [4, random.whole(1, 15)],
      [3, random.whole(20, 120)],
      [1, random.whole(300, 1_500)],
    ]);
    const step = personStep(random, at, () => `k${(keys += random.chance(0.85) ? 1 : 0)}`, keys);
    steps.push(step);
    // Crashes fall close behind stops.
    if (step.do === "stop" && random.chance(0.2))
      steps.push({ at: at - random.whole(0, 8), do: "diskNext", fault: random.pick(["error", "errors", "unsure", "stall"]) });
    if (step.do === "stop" && random.chance(0.35)) steps.push({ at: at + random.whole(0, 12), do: "crash" });
  }
  return [...steps, ...faults(random)];
}

function personStep(random: Random, at: number, key: () => string, keys: number): Step {
  const what = random.weighted([
    [9, "send"],
    [2, "takeBack"],
    [1, "steerQueued"],
    [1, "hold"],
    [4, "stop"],
    [1, "resume"],
    [2, "side"],
    [9, "job"],
    [1, "own"],
    [2, "probe"],
    [1, "tool"],
    [1, "cap"],
    [1, "crash"],
  ] as const);
  const session = random.weighted([
    [5, SESSIONS[0] as Address],
    [2, SESSIONS[1] as Address],
    [3, SESSIONS[2] as Address],
  ]);
  switch (what) {
    case "send": {
      const name = key();
      return { at, do: "send", session, key: name, text: `text of ${name}`, steer: random.chance(0.25), other: random.chance(0.04) };
    }
    case "takeBack":
    case "steerQueued":
      return { at, do: what, nth: random.whole(0, Math.max(1, keys)) };
    case "hold":
      return { at, do: "hold", session, held: random.chance(0.5) };
    case "stop":
      return {
        at,
        do: "stop",
        what: random.weighted([
          [5, "turn"],
          [3, "session"],
          [1, "agent"],
          [2, "worker"],
          [4, "job"],
          [1, "probe"],
          [1, "call"],
        ] as const),
        nth: random.whole(0, 5),
      };
    case "resume":
    case "crash":
      return { at, do: what };
    case "side":
      return { at, do: random.chance(0.6) ? "create" : "delete", agent: AGENTS[0] as Address };
    case "job": {
      const name = random.pick(NAMES);
      return { at, do: "job", worker: random.pick(WORKERS), name, key: `${key()}-${random.whole(0, 1e6)}`, script: script(random, 2) };
    }
    case "own":
      return { at, do: "own", worker: random.pick(WORKERS) };
    case "probe":
      return { at, do: "probe", what: random.pick(["x", "y", "z", "u", "v"]) };
    case "tool":
      return { at, do: "tool", session };
    case "cap":
      return { at, do: "cap", pool: random.pick(POOLS), cap: random.whole(1, 3) };
  }
}

function script(random: Random, depth: number): JobStep[] {
  const steps: JobStep[] = [];
  for (let n = random.whole(1, 3); n > 0; n -= 1) {
    const kind = random.weighted([
      [6, "act"],
      [depth > 0 ? 5 : 0, "ask"],
      [1, "wait"],
      [2, "nap"],
      [1, "look"],
      [2, "tell"],
    ] as const);
    if (kind === "act")
      steps.push({
        do: "act",
        pools: random.weighted([
          [1, []],
          [3, [POOLS[0] as Address]],
          [2, [...POOLS]],
          [2, [POOLS[1] as Address]],
        ]),
        repeatable: random.chance(0.5),
        patience: random.chance(0.3) ? random.whole(5, 400) : null,
      });
    else if (kind === "ask")
      steps.push({
        do: "ask",
        to: random.pick(WORKERS),
        script: script(random, depth - 1),
        blocks: random.chance(0.8),
        patience: random.chance(0.3) ? random.whole(10, 2_000) : null,
      });
    else if (kind === "wait")
      steps.push({ do: "wait", on: `${random.pick(WORKERS)}/jobs/${random.pick(NAMES)}` as Address, patience: random.whole(20, 3_000) });
    else if (kind === "nap")
      steps.push({
        do: "nap",
        ms: random.weighted([
          [2, random.whole(0, 60)],
          [1, random.whole(200, 2_500)],
        ]),
      });
    else if (kind === "look") steps.push({ do: "look", at: NOBODY });
    else steps.push({ do: "tell", to: random.pick(WORKERS), words: random.whole(2, 4) });
  }
  return steps;
}

function faults(random: Random): Step[] {
  const steps: Step[] = [];
  const moment = (): CrashMoment =>
    random.weighted([
      [3, "before"],
      [3, "at"],
      [3, "after"],
      [1, "torn"],
      [1, "late"],
    ] as const);
  for (
    let n = random.weighted([
      [2, 0],
      [4, 1],
      [2, 2],
    ]);
    n > 0;
    n -= 1
  )
    steps.push({ at: -1, do: "crashAtCommit", nth: random.whole(2, 90), moment: moment() });
  if (random.chance(0.3)) steps.push({ at: -1, do: "crashInLife", life: 2, nth: random.whole(1, 4), moment: moment() });
  if (random.chance(0.2)) steps.push({ at: -1, do: "crashInLife", life: 3, nth: random.whole(1, 3), moment: moment() });
  if (random.chance(0.3)) steps.push({ at: -1, do: "crashAtBegin", nth: random.whole(1, 40) });
  if (random.chance(0.2)) steps.push({ at: -1, do: "crashAtRecover", nth: random.whole(1, 4) });
  for (
    let n = random.weighted([
      [3, 0],
      [2, 1],
      [1, 2],
    ]);
    n > 0;
    n -= 1
  )
    steps.push({
      at: -1,
      do: "disk",
      nth: random.whole(2, 90),
      fault: random.weighted([
        [2, "error"],
        [1, "errors"],
        [3, "unsure"],
        [2, "stall"],
      ] as const),
    });
  steps.push({ at: -1, do: "poison", nth: random.whole(8, 300) });
  if (random.chance(0.4)) steps.push(sick(random, random.whole(15, 300), null));
  // What begins anew after a crash is where the outcomes of an older life come late.
  if (random.chance(0.25)) steps.push(sick(random, random.whole(15, 200), PROBE));
  return steps;
}

function sick(random: Random, nth: number, who: Address | null): Step {
  const every = random.weighted([
    [2, 1],
    [1, 2],
    [1, 3],
  ]);
  return { at: -1, do: "sick", nth, times: random.whole(2, 6), every, who };
}
