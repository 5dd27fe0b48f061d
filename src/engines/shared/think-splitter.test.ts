import { describe, expect, it } from "vitest";
import { createThinkSplitter } from "./think-splitter.ts";

function split(pieces: string[]): { thinking: string; text: string } {
  const splitter = createThinkSplitter();
  const found = { thinking: "", text: "" };
  for (const piece of [...pieces.flatMap((one) => splitter.push(one)), ...splitter.end()]) found[piece.kind] += piece.text;
  return found;
}

describe("inline thinking", () => {
  it.each([
    ["<think>Where am I?</think>\n\nHere.", "Where am I?", "Here."],
    ["\n<thinking>a < b </thi</thinking>Yes </think> no", "a < b </thi", "Yes </think> no"],
    ["<think>one</think><think>two</think> x", "onetwo", "x"],
    ["<think>never closed", "never closed", ""],
    ["Say <think>this</think>", "", "Say <think>this</think>"],
    ["<thin air", "", "<thin air"],
    ["<thin", "", "<thin"],
    ["  plain", "", "  plain"],
    ["<think></think>", "", ""],
  ])("%j is told apart wherever it is cut in two or three", (whole, thinking, text) => {
    for (let a = 0; a <= whole.length; a += 1) {
      for (let b = a; b <= whole.length; b += 1) {
        expect(split([whole.slice(0, a), whole.slice(a, b), whole.slice(b)]), `${a} ${b}`).toEqual({ thinking, text });
      }
    }
  });

  it("is passed on before its end is known", () => {
    const splitter = createThinkSplitter();
    expect(splitter.push("<think>a long thou")).toEqual([{ kind: "thinking", text: "a long thou" }]);
  });
});
