/** Many seeds, told as a hash per block: whoever plays the same seeds on the same sources gets the same hashes. */
import { Fingerprint } from "./random.ts";

export interface Played {
  seed: string;
  verdict: string | null;
  journalHash: string;
  commits: number;
  crashes: number;
}

export interface Block {
  from: number;
  to: number;
  hash: string;
  commits: number;
  crashes: number;
  /** Seeds that went wrong. */
  wrong: { seed: string; verdict: string }[];
}

/** In whatever order they were played: they are told in the order of their seeds. */
export function blockOf(from: number, to: number, played: readonly Played[]): Block {
  const print = new Fingerprint();
  const block: Block = { from, to, hash: "", commits: 0, crashes: 0, wrong: [] };
  for (const each of [...played].sort((a, b) => Number(a.seed) - Number(b.seed))) {
    print.add(`${each.seed} ${each.journalHash} ${each.verdict ?? "good"}`);
    block.commits += each.commits;
    block.crashes += each.crashes;
    if (each.verdict !== null) block.wrong.push({ seed: each.seed, verdict: each.verdict });
  }
  block.hash = print.toString();
  return block;
}
