interface Patch {
  file: string;
  find: string;
  put: string;
}
interface Result {
  seed: string;
  verdict: string | null;
  journalHash: string;
  commits: number;
  crashes: number;
  coverage: string[];
}
export const root: string;
export const PART: number;
export function bundleSimulation(name: string, patches?: readonly Patch[]): Promise<string>;
export function playSeeds(
  url: string,
  seeds: Iterable<string | number>,
  options: { workers?: number; hungMs?: number; twice?: boolean; told(result: Result): boolean },
): Promise<void>;
export function numbers(from: number, to: number): Iterable<number>;
export function partHash(first: number): Promise<string>;
export function sourceHash(): string;
export function findPlanted(
  name: string,
  patches: readonly Patch[],
  seeds: Iterable<string | number>,
  options?: { workers?: number },
): Promise<{ seed: string; after: number; verdict: string } | null>;
