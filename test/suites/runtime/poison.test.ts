/**
 * Every event type of every chart is poison once, in one long scenario with a restart in the middle. Would catch: a message lost
 * with the event that carried it, a turn that waits for a `down` or an outcome that was dropped, a door never answered.
 */
import { describe, expect, it } from "vitest";
import { openRuntimeWorld, Outside, reopenRuntime, type RuntimeWorld } from "../../support/runtime-world.ts";
import { poisonedCharts } from "../../support/poison.ts";
import { broken, type Client, play, playDelete, scenarioModel } from "../../support/scenario.ts";

async function run(
  isPoison: (chart: string, event: { type: string; id?: string }) => boolean,
): Promise<{ client: Client; wrong: string[] }> {
  const limits = { until: 0 };
  let world: RuntimeWorld = await openRuntimeWorld({
    model: scenarioModel(limits),
    outside: new Outside(),
    replace: { charts: poisonedCharts(isPoison) },
  });
  const stage = {
    get world() {
      return world;
    },
    restart: async () => {
      world = await reopenRuntime(world);
    },
  };
  const client = await play(stage, limits);
  const wrong = await broken(client);
  await playDelete(client);
  return { client, wrong };
}

/** All pairs of chart and event type the scenario brings about, with how often. */
const seen = new Map<string, number>();
const clean = await run((chart, { type }) => {
  seen.set(`${chart} ${type}`, (seen.get(`${chart} ${type}`) ?? 0) + 1);
  return false;
});

describe("the scenario without poison", () => {
  it("ends every message once and reaches every chart", () => {
    expect(clean.wrong).toEqual([]);
    expect([...new Set([...seen.keys()].map((pair) => pair.split(" ")[0]))].sort()).toEqual([
      "agent",
      "call",
      "pool",
      "session",
      "supervisor",
      "turn",
    ]);
    expect(seen.size).toBeGreaterThan(30);
  });
});

/** The first, a middle one and the last of each. */
const cases = [...seen].flatMap(([pair, times]) => [...new Set([1, Math.ceil(times / 2), times])].map((nth) => [pair, nth] as const));

describe("one poison event", () => {
  it.each(cases)("of %s, number %i, costs one crash; every message ends once", async (pair, nth) => {
    let count = 0;
    let poisonId: string | undefined;
    let crashes = 0;
    const { wrong } = await run((chart, { type, id }) => {
      if (`${chart} ${type}` !== pair) return false;
      if (poisonId !== undefined && id === poisonId) crashes += 1;
      else if ((count += 1) !== nth) return false;
      else {
        poisonId = id ?? "start";
        crashes += 1;
      }
      return true;
    });
    expect(wrong).toEqual([]);
    expect(crashes).toBe(1);
  });
});

describe("a poison event whose `resumed` is poison too", () => {
  it.each([...seen.keys()].filter((pair) => !pair.startsWith("call ") && !pair.startsWith("supervisor ") && !pair.endsWith(" start")))(
    "of %s leaves no message behind",
    async (pair) => {
      const chart = pair.split(" ")[0];
      let first = true;
      let second = false;
      const { wrong } = await run((name, { type }) => {
        if (second && name === chart && type === "resumed") {
          second = false;
          return true;
        }
        if (!first || `${name} ${type}` !== pair) return false;
        first = false;
        second = true;
        return true;
      });
      expect(wrong).toEqual([]);
    },
  );
});
