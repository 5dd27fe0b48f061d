/** From a failing list of steps to the shortest one that fails in the same way: leaves out ever smaller stretches. */
import type { Step } from "./scenario.ts";
import { World, type WorldResult } from "./world.ts";

const MOST_TRIES = 250;

export async function shorten(seed: string, steps: readonly Step[], verdict: string): Promise<{ steps: Step[]; result: WorldResult }> {
  const kind = kindOf(verdict);
  let tries = 0;
  const fails = async (some: readonly Step[]): Promise<boolean> => {
    tries += 1;
    const { wrong } = await new World(seed, some, { story: false }).play();
    return wrong[0] !== undefined && kindOf(wrong[0]) === kind;
  };
  let current = [...steps];
  for (let length = Math.ceil(current.length / 2); length >= 1; length = length === 1 ? 0 : Math.ceil(length / 2)) {
    for (let from = 0; from < current.length && tries < MOST_TRIES;) {
      const without = [...current.slice(0, from), ...current.slice(from + length)];
      if (without.length < current.length && (await fails(without))) current = without;
      else from += length;
    }
  }
  return { steps: current, result: await new World(seed, current, { story: true }).play() };
}

/** Which promise or invariant, and what of it, addresses and numbers aside. */
function kindOf(verdict: string): string {
  return verdict
    .replace(/\/\S+|"[^"]*"|\d[\d.-]*/g, "")
    .split(" ")
    .slice(0, 6)
    .join(" ");
}
