/** Which old line a new line stands for: the same text, else its place within the changed stretch. */

const MOST_CELLS = 1_000_000;

/** For each new line the index of its old line, or undefined when it is an addition. Order is kept. */
export function alignLines(before: readonly string[], after: readonly string[]): (number | undefined)[] {
  const same = sameLines(before, after);
  const partners: (number | undefined)[] = after.map(() => undefined);
  for (const [a, b] of same) partners[b] = a;
  let [fromA, fromB] = [0, 0];
  for (const [a, b] of [...same, [before.length, after.length] as const]) {
    for (let k = 0; fromA + k < a && fromB + k < b; k += 1) partners[fromB + k] = fromA + k;
    [fromA, fromB] = [a + 1, b + 1];
  }
  return partners;
}

/** Longest common subsequence as pairs; common ends are taken off first. */
function sameLines(before: readonly string[], after: readonly string[]): (readonly [number, number])[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end])
    end += 1;
  const [n, m] = [before.length - start - end, after.length - start - end];
  const pairs: (readonly [number, number])[] = Array.from({ length: start }, (_, index) => [index, index] as const);
  if (n * m <= MOST_CELLS) {
    const width = m + 1;
    const table = new Uint32Array((n + 1) * width);
    const cell = (i: number, j: number): number => table[i * width + j] ?? 0;
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1)
        table[i * width + j] = before[start + i] === after[start + j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
    }
    for (let [i, j] = [0, 0]; i < n && j < m;) {
      if (before[start + i] === after[start + j]) {
        pairs.push([start + i, start + j]);
        i += 1;
        j += 1;
      } else if (cell(i + 1, j) >= cell(i, j + 1)) i += 1;
      else j += 1;
    }
  }
  for (let k = end; k > 0; k -= 1) pairs.push([before.length - k, after.length - k]);
  return pairs;
}
