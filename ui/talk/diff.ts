/** Lines that go and lines that come, from an old and a new text: the longest common run of lines stays. */
export interface DiffLine {
  sign: " " | "-" | "+";
  text: string;
}

const MOST = 600;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  if (a.length * b.length > MOST * MOST) return [...a.map(gone), ...b.map(come)];
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = table[i] as Uint16Array;
      const below = table[i + 1] as Uint16Array;
      row[j] = a[i] === b[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, row[j + 1] as number);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i] as string });
      i += 1;
      j += 1;
    } else if ((table[i + 1]?.[j] as number) >= (table[i]?.[j + 1] as number)) lines.push(gone(a[i++] as string));
    else lines.push(come(b[j++] as string));
  }
  return [...lines, ...a.slice(i).map(gone), ...b.slice(j).map(come)];
}

/** A unified diff as lines, its file heads left out. */
export function readDiff(diff: string): DiffLine[] {
  return diff
    .replace(/\n$/u, "")
    .split("\n")
    .filter((line) => !/^(?:---|\+\+\+) /u.test(line) && !line.startsWith("\\"))
    .map((line) =>
      line.startsWith("@@") ? { sign: " ", text: "…" } : { sign: line[0] === "+" || line[0] === "-" ? line[0] : " ", text: line.slice(1) },
    );
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/u, "").split("\n"));
const gone = (text: string): DiffLine => ({ sign: "-", text });
const come = (text: string): DiffLine => ({ sign: "+", text });
