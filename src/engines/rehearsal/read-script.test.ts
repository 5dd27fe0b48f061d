import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SomoraError } from "../../protocol/errors.ts";
import { readScript } from "./read-script.ts";

const GOOD = `rehearsal: 1
about: A test.
turns:
  - when: { text: "hi" }
    rounds:
      - say: Hello.
        stall: 250ms
`;

/** The refusal of a script, or what was read of it. */
function refusal(text: string): SomoraError {
  try {
    readScript(text, "x.yaml");
  } catch (error) {
    if (error instanceof SomoraError) return error;
    throw error;
  }
  throw new Error("the script was read");
}

describe("a rehearsal script", () => {
  it("is read with its defaults and durations in milliseconds", () => {
    const script = readScript(GOOD, "x.yaml");
    expect(script.pace).toBe(40);
    expect(script.turns[0]?.rounds[0]?.stall).toEqual({ for: 250, at: "start" });
    expect(script.turns[0]?.when?.text?.test("HI there")).toBe(true);
  });

  it.each([
    [
      "an unknown key names its own line and the allowed ones",
      GOOD.replace("say: Hello.", "sya: Hello."),
      6,
      /turns\[0\]\.rounds\[0\]: unknown key "sya"; allowed are .*say/,
    ],
    ["broken YAML names the line", GOOD.replace('{ text: "hi" }', '{ text: "hi"'), 5, /./],
    ["a wrong type names the line", GOOD.replace("about: A test.", "about: 7"), 2, /about/],
    ["a bad duration names the line", GOOD.replace("250ms", "soon"), 7, /"soon" is no stall; write 250ms/],
    ["a bad regular expression names the line", GOOD.replace('"hi"', '"(hi"'), 4, /no regular expression/],
    ["a missing version names the file's beginning", GOOD.replace("rehearsal: 1\n", ""), 1, /rehearsal: 1 has to stand here/],
    ["an empty round", GOOD.replace("- say: Hello.\n        stall: 250ms", "- {}"), 6, /an empty round/],
    ["then without if", GOOD.replace("- say: Hello.\n        stall: 250ms", "- then: { say: x }"), 6, /then and else need an if/],
    ["a call with input and raw", GOOD.replace("stall: 250ms", 'call: [{ tool: a, input: {}, raw: "{" }]'), 7, /either input or raw/],
  ])("is refused: %s", (_title, text, line, words) => {
    const error = refusal(text);
    expect(error.code).toBe("REHEARSAL_INVALID");
    expect(error.message).toMatch(words);
    expect(error.message).toContain(`x.yaml:${line}:`);
    expect(error.details?.["line"]).toBe(line);
  });
});

describe("the shipped rehearsals", () => {
  it.each(["guide", "tinker", "mishap"])("%s is valid and says what to expect of it", (name) => {
    const file = `rehearsals/${name}.yaml`;
    const script = readScript(readFileSync(file, "utf8"), file);
    expect(script.about.length).toBeGreaterThan(10);
    expect(script.expect.length).toBeGreaterThan(2);
  });
});

describe("the page on writing a rehearsal", () => {
  const page = readFileSync("docs/tasks/write-a-rehearsal.md", "utf8");
  const blocks = [...page.matchAll(/```yaml\n([^]*?)```/g)].map((match) => match[1] ?? "");

  it("shows only scripts that are valid", () => {
    expect(blocks.length).toBeGreaterThan(2);
    for (const block of blocks) readScript(block, "page.yaml");
  });

  it("quotes the refusal as it is said", () => {
    const mistyped = (blocks[0] ?? "").replace("say: I look", "sya: I look");
    expect(page).toContain(refusal(mistyped).message.replace("x.yaml", "rehearsals/looker.yaml"));
  });
});
