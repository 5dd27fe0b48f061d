import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseArguments } from "./parse-arguments.ts";

const cut = (text: string) => expect(parseArguments(text), text).toMatchObject({ ok: false, kind: "cut", position: text.length });

describe("arguments of a call", () => {
  // G10: a tool without parameters called with "" crashed the run
  it.each(["", " ", "\n\t", null, undefined, "null", " null "])("%j means an empty object", (text) => {
    expect(parseArguments(text)).toEqual({ ok: true, value: {} });
  });

  it.each([
    ["{'a': 1}", 1],
    ['{"a": 1,}', 8],
    ['{"a" 1}', 5],
    ['{"a": 01}', 7],
    ['{"a": "x"}}', 10],
    ['{"a": "\n"}', 7],
    ['{"a": "\\q"}', 8],
    ['{"a": undefined}', 6],
    ["[1, 2,]", 6],
    ["ls -la", 0],
    ["{a}", 1],
  ])("%j is complete but malformed at position %i", (text, position) => {
    expect(parseArguments(text)).toMatchObject({
      ok: false,
      kind: "malformed",
      position,
      error: expect.stringContaining(`position ${position}`) as string,
    });
  });

  it.each(['{"command":', "{", '{"a": "x', '{"a": tru', '{"a": -', '{"a": 1.', '{"a": "\\u12', "[1, [2", "{a: 'b", '{"a": "line\nmore'])(
    "%j ends inside a value and is cut",
    cut,
  );

  // G09: arguments cut at any position must never be run or sent back
  it("cut at every position of any valid JSON object are cut, and whole they are that object", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary", maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 3 }),
        fc.constantFrom(0, 2),
        (value, space) => {
          const text = JSON.stringify(value, null, space);
          expect(parseArguments(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown });
          const positions = Array.from({ length: text.length - 1 }, (_none, index) => index + 1);
          const other = positions.filter((at) => {
            const parsed = parseArguments(text.slice(0, at));
            return parsed.ok || parsed.kind !== "cut" || parsed.position !== at;
          });
          expect(other).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    ['{"a":', "}"],
    ["[", "]"],
  ])("nested thousands deep by %s are malformed, not a crash of who walks them", (open, close) => {
    const nested = (levels: number) => parseArguments(`${open.repeat(levels)}1${close.repeat(levels)}`);
    expect(nested(20_000)).toMatchObject({ ok: false, kind: "malformed" });
    expect(nested(200)).toMatchObject({ ok: true });
    expect(parseArguments(JSON.stringify({ text: '[{"'.repeat(20_000) }))).toMatchObject({ ok: true });
  });

  it("agrees with JSON.parse on what is valid, for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]",:0-1.e tn\\u') })), (text) => {
        let valid = text.trim() === "";
        try {
          JSON.parse(text);
          valid = true;
        } catch {
          // stays as it was
        }
        expect(parseArguments(text).ok).toBe(valid);
      }),
      { numRuns: 3_000 },
    );
  });

  it("are scanned without using up the stack, however deep", () => {
    cut("[".repeat(200_000));
    expect(parseArguments(`${"[".repeat(200_000)}x]`)).toMatchObject({ kind: "malformed" });
  });
});
