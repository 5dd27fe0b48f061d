/** Would catch: characters broken at a cut, counts that do not add up. */
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { lastLine, readBounded } from "./bounded-output.ts";

const folder = mkdtempSync(join(tmpdir(), "somora-output-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "stdout");

describe("a stream in bounded memory", () => {
  it("is whole while it fits", async () => {
    await writeFile(file, "äöü");
    expect(await readBounded(file, 6)).toMatchObject({ head: "äöü", tail: "", omittedBytes: 0, totalBytes: 6, droppedBytes: 0 });
  });
  it("is empty when nothing was written", async () => {
    expect(await readBounded(join(folder, "none"))).toMatchObject({ head: "", totalBytes: 0 });
  });
  it("shows whole characters at both cuts of any text and accounts for every byte", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "ä", "€", "😀"), { minLength: 30, maxLength: 80 }),
        fc.integer({ min: 12, max: 28 }),
        async (characters, capture) => {
          const text = characters.join("");
          await writeFile(file, text);
          const { head, tail, omittedBytes, totalBytes } = await readBounded(file, capture);
          expect(head + tail).not.toContain("\u{FFFD}");
          expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true]);
          expect(Buffer.byteLength(head) + omittedBytes + Buffer.byteLength(tail)).toBe(totalBytes);
          expect(totalBytes).toBe(Buffer.byteLength(text));
        },
      ),
      { numRuns: 150 },
    );
  });
  it("takes its end from the tail file when it went past the disk cap", async () => {
    await writeFile(file, "x".repeat(100));
    await writeFile(`${file}.tail`, "y".repeat(40));
    await writeFile(`${file}.total`, "1000\n");
    expect(await readBounded(file, 50)).toEqual({
      head: "x".repeat(30),
      tail: "y".repeat(20),
      omittedBytes: 950,
      totalBytes: 1_000,
      droppedBytes: 900,
      file,
    });
  });
  it("has a last line, however it ends", async () => {
    await writeFile(file, "one\rtwo\n\n");
    expect(await lastLine(file)).toBe("two");
  });
});
