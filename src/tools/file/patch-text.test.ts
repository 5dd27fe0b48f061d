/** Would catch: bytes changed that nobody asked for (G16), line endings that do not match or are lost (G17). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SomoraError } from "../../protocol/errors.ts";
import { patchText } from "./patch-text.ts";

const patch = (file: string | Buffer, old: string, fresh: string, all = false): string =>
  patchText("f", Buffer.from(file), old, fresh, all).after.toString("utf8");

function refusal(work: () => unknown): SomoraError {
  try {
    work();
  } catch (error) {
    if (error instanceof SomoraError) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}

const endings = { LF: ["\n"], CRLF: ["\r\n"], "lone CR": ["\r"], mixed: ["\n", "\r\n", "\r\n", "\n"] };

describe("a file with any line endings", () => {
  for (const [name, kinds] of Object.entries(endings)) {
    const ending = (index: number): string => kinds[index % kinds.length] as string;
    const lines = ["first", "\tsecond ", "third", "fourth", "last"];
    const join = (texts: string[], final: boolean): string =>
      texts.map((text, index) => (index < texts.length - 1 || final ? text + ending(index) : text)).join("");

    for (const [place, at] of [
      ["first", 0],
      ["middle", 2],
      ["last", 4],
    ] as const) {
      for (const final of [true, false]) {
        it(`keeps every ending when its ${place} line changes (${name}, ${final ? "with" : "without"} final newline)`, () => {
          const changed = lines.map((text, index) => (index === at ? "CHANGED" : text));
          expect(patch(join(lines, final), lines[at] as string, "CHANGED")).toBe(join(changed, final));
        });
      }
    }
    it(`matches several lines given with LF (${name})`, () => {
      const changed = lines.with(1, "one").with(2, "two");
      expect(patch(join(lines, true), "\tsecond \nthird\n", "one\ntwo\n")).toBe(join(changed, true));
    });
    it(`replaces all places over line breaks (${name})`, () => {
      const twice = ["a", "b", "x", "a", "b", "y"];
      expect(patch(join(twice, true), "a\nb", "A\nB", true)).toBe(join(["A", "B", "x", "A", "B", "y"], true));
    });
    it(`gives an added line its neighbour's ending (${name})`, () => {
      const file = join(lines, true);
      const result = patch(file, "first", "first\nadded");
      expect(result).toBe(file.replace(`first${ending(0)}`, `first${ending(0)}added${ending(0)}`));
    });
  }
});

describe("a patch", () => {
  it("keeps bytes that are no UTF-8 and a byte order mark", () => {
    const file = Buffer.concat([
      Buffer.from([0xef, 0xbb, 0xbf]),
      Buffer.from("one\n"),
      Buffer.from([0xff, 0xfe, 0x80, 0x0a]),
      Buffer.from("two"),
    ]);
    const { after } = patchText("f", file, "two", "zwei", false);
    expect(after.equals(Buffer.concat([file.subarray(0, file.length - 3), Buffer.from("zwei")]))).toBe(true);
  });
  it("inserts text as it is given, `$` and backslashes included", () => {
    expect(patch("a\n", "a", "$& $1 \\n \t")).toBe("$& $1 \\n \t\n");
  });
  it("keeps the endings of unchanged lines inside the replaced text of a mixed file", () => {
    expect(patch("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nnew\nb\nc\nD")).toBe("a\r\nnew\r\nb\nc\r\nD\n");
  });
  it("names the first replaced span of the original", () => {
    expect(patchText("f", Buffer.from("1\n2\n3\n4\n"), "2\n3\n", "x\n", false).data).toEqual({
      replacements: 1,
      bytes: 6,
      strategy: "exact",
      lines: { from: 2, to: 3 },
    });
  });
  it("removes text when the new one is empty", () => {
    expect(patch("a\nb\nc", "b\n", "")).toBe("a\nc");
  });
  it("changes a file whose first byte is a line break", () => {
    expect(patch("\n\na", "\n\na", "\nb")).toBe("\nb");
  });
});

describe("a patch that does not fit", () => {
  it("names the nearest line with its number when only white space differs", () => {
    const error = refusal(() => patch("a\n\tif (x) {\nb\n", "  if (x) {", "y"));
    expect(error.code).toBe("PATCH_NOT_FOUND");
    expect(error.details?.["near"]).toEqual([{ line: 2, text: "\tif (x) {", why: "white space" }]);
    expect(error.hint).toContain("white space");
  });
  it("names a line that is like it", () => {
    expect(refusal(() => patch("const total = 1;\nx\n", "const totals = 2;", "y")).details?.["near"]).toMatchObject([
      { line: 1, why: "like it" },
    ]);
  });
  it("says that copied line numbers are in the way", () => {
    expect(refusal(() => patch("alpha\nbeta\n", "1: alpha\n2: beta", "y")).hint).toContain("line numbers");
  });
  it("lists the lines where an ambiguous text stands", () => {
    const error = refusal(() => patch("a\nb\na\n", "a", "y"));
    expect([error.code, error.details?.["count"], error.details?.["near"]]).toEqual([
      "PATCH_AMBIGUOUS",
      2,
      [
        { line: 1, text: "a" },
        { line: 3, text: "a" },
      ],
    ]);
  });
  it("refuses the same text, and says so when only line breaks differ", () => {
    expect(refusal(() => patch("a", "a", "a")).code).toBe("PATCH_NO_CHANGE");
    expect(refusal(() => patch("a\r\n", "a\r\n", "a\n")).message).toContain("line breaks");
  });
});

describe("any file and any one-line change", () => {
  const word = fc.stringMatching(/^[a-z\t ]{0,12}$/);
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  const fileOf = fc.record({
    lines: fc.array(fc.record({ text: word, ending }), { minLength: 1, maxLength: 12 }),
    bom: fc.boolean(),
    final: fc.boolean(),
  });

  it("leaves every byte outside the changed line as it was", () => {
    fc.assert(
      fc.property(fileOf, fc.nat(), word, fc.nat(3), ({ lines, bom, final }, pick, fresh, around) => {
        // A mark makes the line the only one of its kind.
        const at = pick % lines.length;
        const marked = lines.map((line, index) => (index === at ? { ...line, text: `${line.text}#old#` } : line));
        const render = (rows: { text: string; ending: string }[]): string =>
          (bom ? "\u{FEFF}" : "") + rows.map((row, index) => row.text + (index < rows.length - 1 || final ? row.ending : "")).join("");
        const from = Math.max(0, at - around);
        const to = Math.min(lines.length, at + around + 1);
        const texts = (rows: { text: string }[]): string =>
          rows
            .slice(from, to)
            .map((row) => row.text)
            .join("\n");
        const changed = marked.map((line, index) => (index === at ? { ...line, text: `${fresh}#new#` } : line));
        // A lone CR right before LF would be one break to any reader; such neighbours do not occur in a rendered file.
        fc.pre(!marked.some((row, index) => row.ending === "\r" && marked[index + 1]?.text === "" && marked[index + 1]?.ending === "\n"));
        expect(patch(render(marked), texts(marked), texts(changed))).toBe(render(changed));
      }),
      { numRuns: 1_500 },
    );
  });
});
