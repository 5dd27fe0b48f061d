/** Durations as people write them: `500ms`, `60s`, `2m`, `1h`; a bare number is seconds. 100 ms and more. */
import { CliError } from "./command.ts";

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, "": 1_000 };

export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|)$/.exec(text.trim());
  const ms = match ? Math.round(Number(match[1]) * (UNITS[match[2] as string] as number)) : NaN;
  if (!Number.isFinite(ms) || ms < 100)
    throw new CliError(`--${option} is ${JSON.stringify(text)}; allowed: 100 ms and more, such as 500ms, 60s, 2m, 1h.`);
  return ms;
}

export function parseWhole(text: string, option: string, low: number, high: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || value < low || value > high)
    throw new CliError(`--${option} is ${JSON.stringify(text)}; allowed: a whole number from ${low} to ${high}.`);
  return value;
}
