/** Looks for a planted bug in a copy of the sources. */
import { bundleSimulation } from "./simulation-bundle.mjs";
import { playSeeds } from "./simulation-runs.mjs";

/** Null when none of the seeds shows it. */
export async function findPlanted(name, patches, seeds, { workers = 2 } = {}) {
  const url = await bundleSimulation(name, patches);
  let found = null;
  let after = 0;
  await playSeeds(url, seeds, {
    workers,
    hungMs: 20_000,
    told: ({ seed, verdict }) => {
      after += 1;
      if (verdict === null) return true;
      found = { seed, after, verdict: verdict.slice(0, 200) };
      return false;
    },
  });
  return found;
}
