/** After three starts that died within a minute the next one holds all turns and says so (design §3.4). */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const BAD_STARTS = 3;
const MINUTE_MS = 60_000;
const fileSchema = z.object({ starts: z.array(z.number()) });

export async function noteStart(runFolder: string, now: number): Promise<{ hold: boolean; ended(): Promise<void> }> {
  const file = join(runFolder, "starts.json");
  const before = await read(file);
  // A start that is still in the file did not end well. Each died before the next began, so the gap to the next bounds its life.
  const ends = [...before.slice(1), now];
  const bad = before.filter((start, index) => (ends[index] as number) - start < MINUTE_MS);
  await writeFile(file, JSON.stringify({ starts: [...before, now].slice(-BAD_STARTS) }), { mode: 0o600 });
  return {
    hold: bad.length >= BAD_STARTS,
    ended: () => writeFile(file, JSON.stringify({ starts: [] }), { mode: 0o600 }),
  };
}

async function read(file: string): Promise<number[]> {
  try {
    return fileSchema.parse(JSON.parse(await readFile(file, "utf8"))).starts;
  } catch {
    // No file, or half of one: no bad starts are known.
    return [];
  }
}
