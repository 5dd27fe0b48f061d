/** The long run of the simulation and its report: a hash per block of 1,000 seeds, with one per hundred, and what sources they are of. */
import { filesUnder, hashOf } from "./files.mjs";
import { bundleSimulation } from "./simulation-bundle.mjs";
import { playSeeds } from "./simulation-runs.mjs";

export const BLOCK = 1000;
export const PART = 100;

/** What a seed's journal depends on. */
export const sourceHash = () => hashOf(filesUnder(["src/actors", "src/machines", "src/simulation"], (path) => !path.endsWith(".test.ts")));

/** Plays `from` to `to`, each seed twice; a report line per block of 1,000, shorter when the seeds end. */
export async function playBlocks(from, to, { say = () => {}, twice = true } = {}) {
  const url = await bundleSimulation("plain");
  const { blockOf } = await import(url);
  const blocks = [];
  for (let begin = from; begin <= to; begin += BLOCK) {
    const end = Math.min(to, begin + BLOCK - 1);
    const played = await playPart(url, begin, end, twice);
    const block = blockOf(begin, end, played);
    const parts = [];
    for (let first = begin; first <= end; first += PART)
      parts.push(
        blockOf(
          first,
          first + PART - 1,
          played.filter(({ seed }) => Number(seed) >= first && Number(seed) < first + PART),
        ).hash,
      );
    blocks.push({ ...block, parts });
    say(`seeds ${begin} to ${end}: ${block.commits} commits, ${block.crashes} crashes, ${block.wrong.length} wrong, hash ${block.hash}`);
    for (const { seed, verdict } of block.wrong) say(`  seed ${seed}: ${verdict}`);
  }
  return blocks;
}

/** The hash of one hundred seeds. */
export async function partHash(first) {
  const url = await bundleSimulation("plain");
  const { blockOf } = await import(url);
  return blockOf(first, first + PART - 1, await playPart(url, first, first + PART - 1, false)).hash;
}

async function playPart(url, from, to, twice) {
  const played = [];
  await playSeeds(url, numbers(from, to), {
    twice,
    told: ({ coverage: _, story: __, ...result }) => {
      played.push(result);
      return true;
    },
  });
  return played;
}

export function* numbers(from, to) {
  for (let seed = from; seed <= to; seed += 1) yield seed;
}
