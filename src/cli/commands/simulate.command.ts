/** Plays whole worlds from seeds and says what went wrong in them. Needs no server and touches no home. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "../command.ts";
import { parseWhole } from "../duration.ts";

const BLOCK = 1000;
const LAST_SEED = 10_000_000;

export const simulateCommand: Command = {
  name: "simulate",
  summary:
    "Play simulated worlds with crashes, failing disks and lying tools, each twice, and tell the first that breaks a promise as a story.",
  options: {
    seeds: { value: "N", about: "How many worlds (100)" },
    seed: { value: "S", about: "The first one (1); alone: only this one, told as a story" },
    report: { value: "FILE", about: `Write a hash per block of ${BLOCK.toLocaleString("en")} as JSON lines` },
  },
  notes: ["Exit 0 nothing was wrong, 1 a promise was broken.", "docs/design/simulation.md says how to read a story."],
  async run({ option, io, dependencies }) {
    const simulation = await dependencies.simulation();
    const first = option("seed");
    const many = option("seeds");
    const from = first === undefined ? 1 : parseWhole(first, "seed", 1, LAST_SEED);
    const count = many === undefined ? (first === undefined ? 100 : 1) : parseWhole(many, "seeds", 1, LAST_SEED);
    const alone = first !== undefined && many === undefined;
    const began = dependencies.now();
    const lines: string[] = [];
    let commits = 0;
    let crashes = 0;
    let wrong = 0;
    for (let begin = from; begin < from + count; begin += BLOCK) {
      const end = Math.min(from + count, begin + BLOCK) - 1;
      const played: Parameters<typeof simulation.blockOf>[2] = [];
      for (let seed = begin; seed <= end; seed += 1) {
        const result = await simulation.simulate(String(seed), { twice: true, shrink: wrong === 0, story: alone });
        played.push({ seed: String(seed), ...result });
        commits += result.commits;
        crashes += result.crashes;
        if (result.verdict !== null) {
          wrong += 1;
          io.err(`seed ${seed}: ${result.verdict}\n`);
        }
        if (alone || (wrong === 1 && result.verdict !== null)) for (const line of result.story) io.out(`${line}\n`);
      }
      lines.push(JSON.stringify(simulation.blockOf(begin, end, played)));
    }
    const report = option("report");
    if (report !== undefined) await writeFile(resolve(io.cwd, report), `${lines.join("\n")}\n`);
    const seconds = (dependencies.now() - began) / 1000;
    io.out(
      `${count} worlds, each twice, in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)} a second): ${commits} commits, ${crashes} crashes, ${wrong} wrong\n`,
    );
    return wrong === 0 ? 0 : 1;
  },
};
