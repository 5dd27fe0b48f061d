/** A line diff and its unified form. */

export type DiffOp = { kind: "same" | "removed" | "added"; line: string };

/** Beyond this product of line counts the middle is shown as replaced as a whole. */
const MOST_CELLS = 4_000_000;

/** Shortest edit by longest common subsequence; common ends are taken off first. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffOp[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end])
    end += 1;
  const ops: DiffOp[] = before.slice(0, start).map((line) => ({ kind: "same", line }));
  ops.push(...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)));
  ops.push(...before.slice(before.length - end).map((line): DiffOp => ({ kind: "same", line })));
  return ops;
}

function middle(a: readonly string[], b: readonly string[]): DiffOp[] {
  const removed = (line: string): DiffOp => ({ kind: "removed", line });
  const added = (line: string): DiffOp => ({ kind: "added", line });
  if (a.length === 0 || b.length === 0 || a.length * b.length > MOST_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  const cell = (i: number, j: number): number => table[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  const ops: DiffOp[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      ops.push({ kind: "same", line: a[i] as string });
      i += 1;
      j += 1;
    } else if (cell(i + 1, j) >= cell(i, j + 1)) {
      ops.push(removed(a[i] as string));
      i += 1;
    } else {
      ops.push(added(b[j] as string));
      j += 1;
    }
  }
  return [...ops, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

/** Splits at line breaks; a final break makes no empty line. */
export function splitLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r\n|\n|\r/u);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export interface UnifiedDiff {
  text: string;
  added: number;
  removed: number;
}

/** `@@` hunks with `context` lines around; shortened past `mostLines`, saying so. Counts are of the whole change. */
export function unifiedDiff(
  path: string,
  before: string,
  after: string,
  { created = false, context = 3, mostLines = 2_000 } = {},
): UnifiedDiff {
  const ops = diffLines(splitLines(before), splitLines(after));
  const changed = ops.flatMap((op, index) => (op.kind === "same" ? [] : [index]));
  const lines = [`--- ${created ? "/dev/null" : path}`, `+++ ${path}`];
  let oldLine = 1;
  let newLine = 1;
  let from = 0;
  const advance = (to: number): void => {
    for (const op of ops.slice(from, to)) {
      if (op.kind !== "added") oldLine += 1;
      if (op.kind !== "removed") newLine += 1;
    }
    from = to;
  };
  for (let at = 0; at < changed.length;) {
    const begin = Math.max(0, (changed[at] as number) - context);
    let last = at;
    while (last + 1 < changed.length && (changed[last + 1] as number) - (changed[last] as number) <= context * 2) last += 1;
    const end = Math.min(ops.length, (changed[last] as number) + context + 1);
    advance(begin);
    const hunk = ops.slice(begin, end);
    const olds = hunk.filter((op) => op.kind !== "added").length;
    const news = hunk.filter((op) => op.kind !== "removed").length;
    lines.push(`@@ -${olds === 0 ? oldLine - 1 : oldLine},${olds} +${news === 0 ? newLine - 1 : newLine},${news} @@`);
    lines.push(...hunk.map((op) => `${op.kind === "same" ? " " : op.kind === "added" ? "+" : "-"}${op.line}`));
    at = last + 1;
  }
  const added = ops.filter((op) => op.kind === "added").length;
  const removed = ops.filter((op) => op.kind === "removed").length;
  const endNote = endOfFileNote(before, after);
  if (endNote !== null) lines.push(endNote);
  const shown =
    lines.length > mostLines
      ? [...lines.slice(0, mostLines), `\\ ${lines.length - mostLines} more lines of this diff are not shown`]
      : lines;
  return { text: shown.join("\n"), added, removed };
}

function endOfFileNote(before: string, after: string): string | null {
  const open = (text: string): boolean => text !== "" && !/[\r\n]$/u.test(text);
  if (open(before) === open(after)) return null;
  return open(after) ? "\\ No newline at end of the new file" : "\\ No newline at end of the old file";
}
