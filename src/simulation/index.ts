/** The door of the simulation: a whole world from a seed, and what was wrong in it. */
import { scenarioOf, type Step } from "./scenario.ts";
import { shorten } from "./shorten.ts";
import { World, type WorldResult } from "./world.ts";

export interface SimulateOptions {
  /** Play it a second time and compare the journals. */
  twice?: boolean;
  /** Tell a failure as its shortest story. */
  shrink?: boolean;
  /** Keep the whole story of a run that went well too. */
  story?: boolean;
}

export interface Simulated {
  /** Null: nothing was wrong. */
  verdict: string | null;
  journalHash: string;
  steps: number;
  commits: number;
  crashes: number;
  coverage: ReadonlySet<string>;
  story: string[];
}

export async function simulate(seed: string, options: SimulateOptions = {}): Promise<Simulated> {
  const steps = scenarioOf(seed);
  const first = await new World(seed, steps, { story: options.story ?? false }).play();
  const verdict = first.wrong[0] ?? null;
  if (verdict !== null && options.shrink) {
    const shortest = await shorten(seed, steps, verdict);
    return result(verdict, first, storyOf(shortest.steps, shortest.result));
  }
  if (verdict === null && options.twice) {
    const second = await new World(seed, steps, { story: false, blind: true }).play();
    if (second.journalHash !== first.journalHash)
      return result(`K10: the same seed gave the journals ${first.journalHash} and ${second.journalHash}`, first, first.story);
  }
  return result(verdict, first, first.story);
}

function result(verdict: string | null, { wrong: _, ...rest }: WorldResult, story: string[]): Simulated {
  return { verdict, ...rest, story };
}

function storyOf(steps: readonly Step[], { story, wrong }: WorldResult): string[] {
  return [
    `wrong: ${wrong.join("; ")}`,
    `what persons do and what goes wrong, at its shortest (${steps.length}):`,
    ...steps.map((step) => `  ${JSON.stringify(step)}`),
    "what happened:",
    ...story.map((line) => `  ${line}`),
  ];
}

export { type Block, blockOf, type Played } from "./blocks.ts";
