/** Plain tables and lines for people. */

/** Columns side by side, as wide as they need; the last one runs free. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] as number)))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Control characters out: what an agent wrote must not drive the terminal. Line ends and tabs stay. */
export function plainText(text: string): string {
  // eslint-disable-next-line no-control-regex -- that is the point
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
