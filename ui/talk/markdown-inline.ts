/** What stands inside a block: emphasis by CommonMark's flanking rules, code, links, bare addresses, breaks, entities. */

export type Inline =
  | { type: "text"; text: string }
  | { type: "strong" | "em" | "del"; tokens: Inline[] }
  | { type: "code"; text: string }
  | { type: "br" }
  | { type: "link"; href: string; tokens: Inline[] }
  | { type: "image"; href: string; text: string };

interface Run {
  type: "run";
  sign: string;
  count: number;
  opens: boolean;
  closes: boolean;
}
interface Bracket {
  type: "bracket";
  image: boolean;
  /** Where its text begins in the source. */
  from: number;
}
type Node = Inline | Run | Bracket;

const PUNCTUATION = /[\p{P}\p{S}]/u;
const SPACE = /\s/u;
const SPECIAL = /[\\`*_~[\]!<&\n]|https?:\/\//u;

export function inline(source: string): Inline[] {
  const nodes: Node[] = [];
  const add = (text: string): void => {
    const last = nodes.at(-1);
    if (last?.type === "text") last.text += text;
    else if (text !== "") nodes.push({ type: "text", text });
  };
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at);
    const special = SPECIAL.exec(rest);
    if (special === null) {
      add(rest);
      break;
    }
    if (special.index > 0) {
      add(rest.slice(0, special.index));
      at += special.index;
      continue;
    }
    at += take(source, at, nodes, add);
  }
  return emphasise(nodes);
}

/** Takes what begins at `at`; gives how many characters it was. */
function take(source: string, at: number, nodes: Node[], add: (text: string) => void): number {
  const sign = source[at] as string;
  const rest = source.slice(at);
  switch (sign) {
    case "\\": {
      const next = source[at + 1];
      if (next === "\n") nodes.push({ type: "br" });
      else if (next !== undefined && /[!-/:-@[-`{-~]/u.test(next)) add(next);
      else {
        add("\\");
        return 1;
      }
      return 2;
    }
    case "`": {
      const ticks = /^`+/u.exec(rest)?.[0] ?? "`";
      const end = endOfTicks(source, at + ticks.length, ticks.length);
      if (end < 0) {
        add(ticks);
        return ticks.length;
      }
      const code = source.slice(at + ticks.length, end).replaceAll("\n", " ");
      nodes.push({ type: "code", text: /^ .*[^ ].* $/u.test(code) ? code.slice(1, -1) : code });
      return end + ticks.length - at;
    }
    case "*":
    case "_":
    case "~": {
      const signs = new RegExp(`^[${sign}]+`, "u").exec(rest)?.[0] ?? sign;
      if (sign === "~" && signs.length > 2) add(signs);
      else nodes.push(runOf(source, at, signs));
      return signs.length;
    }
    case "!":
      if (source[at + 1] !== "[") {
        add("!");
        return 1;
      }
      nodes.push({ type: "bracket", image: true, from: at + 2 });
      return 2;
    case "[":
      nodes.push({ type: "bracket", image: false, from: at + 1 });
      return 1;
    case "]":
      return closeBracket(source, at, nodes, add);
    case "<": {
      const auto = /^<((?:https?|mailto):[^\s<>]+|[\w.+-]+@[\w-]+\.[\w.-]+)>/iu.exec(rest);
      if (auto === null) add("<");
      else nodes.push(linkTo((auto[1] as string).includes(":") ? (auto[1] as string) : `mailto:${auto[1]}`, auto[1] as string));
      if (auto === null && /^<br\s*\/?>/iu.test(rest)) {
        (nodes.at(-1) as { text: string }).text = (nodes.at(-1) as { text: string }).text.slice(0, -1);
        nodes.push({ type: "br" });
        return /^<br\s*\/?>/iu.exec(rest)?.[0].length ?? 1;
      }
      return auto?.[0].length ?? 1;
    }
    case "&": {
      const entity = /^&(#x?[0-9a-f]{1,7}|[a-z]\w{1,12});/iu.exec(rest);
      add(entity === null ? "&" : decode(entity[0], entity[1] as string));
      return entity?.[0].length ?? 1;
    }
    case "\n": {
      const last = nodes.at(-1);
      const hard = last?.type === "text" && / {2,}$/u.test(last.text);
      if (last?.type === "text") last.text = last.text.replace(/ +$/u, "");
      if (hard) nodes.push({ type: "br" });
      else add("\n");
      return 1;
    }
    default: {
      const address = /^https?:\/\/[^\s<>"'`|]+/u.exec(rest)?.[0].replace(/(?:[.,:;!?*_~]|&\w+;)+$/u, "") ?? "";
      const url = trimBrackets(address);
      if (/^https?:\/\/.+/u.test(url)) nodes.push(linkTo(url, url));
      else add(sign);
      return /^https?:\/\/.+/u.test(url) ? url.length : 1;
    }
  }
}

function endOfTicks(source: string, from: number, count: number): number {
  for (let at = source.indexOf("`", from); at >= 0; at = source.indexOf("`", at)) {
    let end = at;
    while (source[end] === "`") end += 1;
    if (end - at === count) return at;
    at = end;
  }
  return -1;
}

function trimBrackets(url: string): string {
  let trimmed = url;
  while (trimmed.endsWith(")") && trimmed.split(")").length > trimmed.split("(").length) trimmed = trimmed.slice(0, -1);
  return trimmed;
}

const linkTo = (href: string, text: string): Inline => ({ type: "link", href, tokens: [{ type: "text", text }] });

function runOf(source: string, at: number, signs: string): Run {
  const before = at === 0 ? " " : (source[at - 1] as string);
  const after = source[at + signs.length] ?? " ";
  const left = !SPACE.test(after) && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before));
  const right = !SPACE.test(before) && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after));
  const word = signs.startsWith("_");
  return {
    type: "run",
    sign: signs[0] as string,
    count: signs.length,
    opens: left && (!word || !right || PUNCTUATION.test(before)),
    closes: right && (!word || !left || PUNCTUATION.test(after)),
  };
}

function closeBracket(source: string, at: number, nodes: Node[], add: (text: string) => void): number {
  const opened = nodes.findLastIndex((node) => node.type === "bracket");
  const target = /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\((?:[^\s()])*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/u.exec(source.slice(at + 1));
  if (opened < 0 || target === null) {
    if (opened >= 0) nodes.splice(opened, 1, { type: "text", text: (nodes[opened] as Bracket).image ? "![" : "[" });
    add("]");
    return 1;
  }
  const bracket = nodes[opened] as Bracket;
  const inner = emphasise(nodes.splice(opened).slice(1));
  const href = target[1] ?? target[2] ?? "";
  nodes.push(bracket.image ? { type: "image", href, text: source.slice(bracket.from, at) } : { type: "link", href, tokens: inner });
  return target[0].length + 1;
}

/** Pairs runs of `*`, `_` and `~`; what finds no partner stays text. */
function emphasise(nodes: Node[]): Inline[] {
  const list = [...nodes];
  for (let at = 0; at < list.length; at += 1) {
    const closer = list[at];
    if (closer?.type !== "run" || !closer.closes) continue;
    const from = list.findLastIndex(
      (node, index) => index < at && node.type === "run" && node.opens && node.sign === closer.sign && fits(node, closer),
    );
    const opener = list[from];
    if (opener?.type !== "run") continue;
    const strong = closer.sign === "~" ? false : opener.count >= 2 && closer.count >= 2;
    const used = closer.sign === "~" ? closer.count : strong ? 2 : 1;
    const inner = flat(list.slice(from + 1, at));
    const made: Inline = { type: closer.sign === "~" ? "del" : strong ? "strong" : "em", tokens: inner };
    opener.count -= used;
    closer.count -= used;
    const kept: Node[] = [...(opener.count > 0 ? [opener] : []), made, ...(closer.count > 0 ? [closer] : [])];
    list.splice(from, at - from + 1, ...kept);
    at = from + (opener.count > 0 ? 1 : 0);
  }
  return flat(list);
}

function fits(opener: Run, closer: Run): boolean {
  if (closer.sign === "~") return opener.count === closer.count;
  const both = (opener.opens && opener.closes) || (closer.opens && closer.closes);
  return !both || (opener.count + closer.count) % 3 !== 0 || (opener.count % 3 === 0 && closer.count % 3 === 0);
}

function flat(nodes: readonly Node[]): Inline[] {
  const out: Inline[] = [];
  for (const node of nodes) {
    const next: Inline =
      node.type === "run"
        ? { type: "text", text: node.sign.repeat(node.count) }
        : node.type === "bracket"
          ? { type: "text", text: node.image ? "![" : "[" }
          : node;
    const last = out.at(-1);
    if (next.type === "text" && last?.type === "text") out[out.length - 1] = { type: "text", text: last.text + next.text };
    else out.push(next);
  }
  return out;
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  rarr: "→",
  larr: "←",
  times: "×",
  euro: "€",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  szlig: "ß",
};

function decode(whole: string, name: string): string {
  if (!name.startsWith("#")) return ENTITIES[name] ?? whole;
  const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
}
