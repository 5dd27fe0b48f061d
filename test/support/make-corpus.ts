/** The rows of one long scenario, as the charts of this build write them: the whole log, one row per line. */
import { openRuntimeWorld, reopenRuntime, type RuntimeWorld } from "./runtime-world.ts";
import { play, playDelete, scenarioModel } from "./scenario.ts";

export async function makeCorpus(): Promise<string> {
  const limits = { until: 0 };
  let world = await openRuntimeWorld({ model: scenarioModel(limits) });
  const stage = {
    get world(): RuntimeWorld {
      return world;
    },
    async restart() {
      world = await reopenRuntime(world);
    },
  };
  await playDelete(await play(stage, limits));
  const rows = world.journal.rows.map((row) => JSON.stringify(row));
  world.runtime.close();
  return `${rows.join("\n")}\n`;
}
