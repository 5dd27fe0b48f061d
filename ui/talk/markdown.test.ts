/** Would catch: work that grows with the answer, text lost or doubled while it streams, HTML or script links that become real. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lex } from "./markdown.ts";
import { inline, type Inline } from "./markdown-inline.ts";
import { MarkdownBlocks } from "./markdown-blocks.ts";

const PIECES = [
  "# Head\n",
  "para graph *em* **strong** ",
  "\n\n",
  "\n",
  "- item\n",
  "1. one\n",
  "  - deep\n",
  "```ts\nconst a = 1;\n",
  "```\n",
  "| a | b |\n| - | -: |\n| 1 | 2 |\n",
  "> quote\n",
  "---\n",
  "`code` ",
  "~~gone~~ ",
  "[a](https://x.y) ",
  "    indented\n",
  "日本語。",
  "a_b_c ",
  "* * *\n",
  "===\n",
  "\\*",
  "&amp; ",
];
const markdown = fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }).map((parts) => parts.join(""));

function plain(tokens: readonly Inline[]): string {
  return tokens.map((token) => ("tokens" in token ? plain(token.tokens) : token.type === "br" ? "\n" : token.text)).join("");
}
const types = (text: string): string[] =>
  lex(text)
    .filter((token) => token.type !== "space")
    .map((token) => token.type);

describe("Markdown blocks", () => {
  it("laid end to end give the text back, whatever it is", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        expect(
          lex(text)
            .map((token) => token.raw)
            .join(""),
        ).toBe(text);
      }),
    );
  });
  it("tells headings, lists, quotes, tables, code and rules apart", () => {
    expect(types("# A\n\ntext\nmore\n\n- a\n- b\n\n1. c\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nx\n```\n\n---\n")).toEqual([
      "heading",
      "paragraph",
      "list",
      "list",
      "quote",
      "table",
      "code",
      "hr",
    ]);
  });
  it("reads an underlined line as a heading and a lone pipe as text", () => {
    expect(types("Title\n===\n\na | b\n")).toEqual(["heading", "paragraph"]);
  });
  it("nests a list by indent and keeps its tasks", () => {
    const [list] = lex("- [x] done\n- [ ] open\n  - deep\n    more\n");
    if (list?.type !== "list") throw new Error("no list");
    expect(list.items.map((item) => item.task)).toEqual([true, false]);
    expect(list.items[1]?.tokens.map((token) => token.type)).toEqual(["text", "list"]);
  });
  it.each(["1. eins\n2. zwei", "1) eins\n2) zwei", "10. zehn"])("numbers an ordered list, whatever it begins with: %j", (text) => {
    expect(lex(text)[0]).toMatchObject({ type: "list", ordered: true });
  });
  it("starts an ordered list at its number and keeps a blank line between items loose", () => {
    const [list] = lex("3. a\n\n4. b\n");
    expect(list).toMatchObject({ type: "list", ordered: true, start: 3, loose: true });
  });
  it("does not close a fence of four ticks with three", () => {
    expect(lex("````\n```\nx\n````\n")[0]).toMatchObject({ type: "code", text: "```\nx" });
  });
});

describe("Markdown inside a block", () => {
  it("pairs emphasis by the flanking rules and leaves snake_case alone", () => {
    expect(inline("a **b *c* d** snake_case_name 2 * 3 * 4")).toMatchObject([
      { text: "a " },
      { type: "strong", tokens: [{ text: "b " }, { type: "em" }, { text: " d" }] },
      { text: " snake_case_name 2 * 3 * 4" },
    ]);
  });
  it("takes code as it stands, links without their brackets, bare addresses without their full stop", () => {
    expect(inline("`a *b*`")).toEqual([{ type: "code", text: "a *b*" }]);
    expect(inline('[x](https://a.b/c_(d) "t")')).toMatchObject([{ type: "link", href: "https://a.b/c_(d)" }]);
    expect(inline("see https://a.b/c.")).toMatchObject([{ text: "see " }, { type: "link", href: "https://a.b/c" }, { text: "." }]);
  });
  it("leaves HTML as text", () => {
    expect(plain(inline("<img src=x onerror=alert(1)> <b>x</b>"))).toBe("<img src=x onerror=alert(1)> <b>x</b>");
  });
  it("loses no character of a text without marks", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", " ", "é", "。", "1", "."), maxLength: 60 }), (text) => {
        expect(plain(inline(text)).replaceAll("\n", "")).toBe(text);
      }),
    );
  });
});

describe("an answer that streams", () => {
  const sourceOf = (blocks: ReturnType<MarkdownBlocks["feed"]>): string =>
    blocks
      .map((block) =>
        block.kind === "code" ? block.chunks.join("") : block.kind === "table" ? `T${block.rows.length}` : block.token.raw.trim(),
      )
      .join("|");
  it("keeps one list while the number of its next item is still coming", () => {
    const streamed = new MarkdownBlocks();
    const text = "1. one\n\n2. two\n";
    for (let end = 0; end < text.length; end += 1) streamed.feed(text.slice(0, end), false);
    expect(sourceOf(streamed.feed(text, true))).toBe("1. one\n\n2. two");
  });
  it("ends as the same blocks as when it comes at once", () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 1, max: 9 }), (text, step) => {
        const streamed = new MarkdownBlocks();
        for (let end = 0; end < text.length; end += step) streamed.feed(text.slice(0, end), false);
        expect(sourceOf(streamed.feed(text, true))).toBe(sourceOf(new MarkdownBlocks().feed(text, true)));
      }),
      { numRuns: 400 },
    );
  });
  const shapes: Record<string, (size: number) => string> = {
    paragraphs: (size) =>
      "A sentence with `code` and **weight**. "
        .repeat(6)
        .concat("\n\n")
        .repeat(Math.ceil(size / 240))
        .slice(0, size),
    "one endless paragraph": (size) => "A sentence with `code` and **weight**. ".repeat(Math.ceil(size / 39)).slice(0, size),
    "one list": (size) => "- an item with some words in it\n".repeat(Math.ceil(size / 32)).slice(0, size),
    "one table": (size) => `| a | b |\n| - | - |\n${"| one | two words |\n".repeat(Math.ceil(size / 19))}`.slice(0, size),
    "one code block": (size) => `\`\`\`ts\n${"const value = call(1, 2, 3);\n".repeat(Math.ceil(size / 29))}`.slice(0, size),
  };
  it.each(Object.keys(shapes))("parses no more for its last piece than for an early one: %s", (name) => {
    const text = shapes[name]?.(200_000) ?? "";
    const blocks = new MarkdownBlocks();
    const work: number[] = [];
    for (let end = 400; end <= text.length; end += 400) {
      const before = blocks.parsed;
      blocks.feed(text.slice(0, end), false);
      work.push(blocks.parsed - before);
    }
    const mean = (some: number[]): number => some.reduce((sum, one) => sum + one, 0) / some.length;
    expect(mean(work.slice(-100))).toBeLessThan(Math.max(9_000, 3 * mean(work.slice(10, 60))));
  });
});
