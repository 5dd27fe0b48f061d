/** Whole results of shortened ones: `agents/<agent>/tool-output/<tool>-<time>-<random>.<ext>`, kept 7 days. */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export function outputName(tool: string, extension: string, at: number): string {
  const stamp = new Date(at)
    .toISOString()
    .replace(/[-:]/gu, "")
    .replace(/\.\d+Z$/u, "Z");
  return `${tool.replace(/[^A-Za-z0-9_-]/gu, "_")}-${stamp}-${randomBytes(2).toString("hex")}.${extension}`;
}

/** Best effort: null when it cannot be written. */
export async function saveOverflow(
  home: string,
  agent: string,
  tool: string,
  text: string,
  extension: string,
  at: number,
): Promise<string | null> {
  const folder = join(home, "agents", agent, "tool-output");
  const path = join(folder, outputName(tool, extension, at));
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
    return path;
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}
