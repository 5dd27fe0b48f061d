/** Markdown as React elements: no HTML of the model ever reaches the page, links open outside, pictures are named, not fetched. */
import type { Token, Tokens } from "marked";
import { memo, useRef, type ReactNode } from "react";
import { CodeBlock } from "./code.tsx";
import { MarkdownBlocks, type Block } from "./markdown-blocks.ts";

export const Prose = memo(function Prose({ text, open = false }: { text: string; open?: boolean }) {
  const blocks = useRef<MarkdownBlocks>(null);
  blocks.current ??= new MarkdownBlocks();
  const shown = blocks.current.feed(text, !open);
  return (
    <div className="prose">
      {shown.map((block) => <BlockView key={block.id} block={block} />)}
    </div>
  );
});

const BlockView = memo(
  function BlockView({ block }: { block: Block }) {
    if (block.kind === "code") return <CodeBlock lang={block.lang} chunks={block.chunks} open={block.open} />;
    if (block.kind === "table") return <Table head={block.head} rows={block.rows} />;
    return blockOf(block.token, block.joined);
  },
  (before, after) => sameBlock(before.block, after.block),
);

/** A block's token is replaced when it was parsed again; equal source draws the same. */
function sameBlock(a: Block, b: Block): boolean {
  if (a === b) return true;
  return a.kind === "token" && b.kind === "token" && a.token.raw === b.token.raw && a.joined === b.joined;
}

function blockOf(token: Token, joined = false): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      return depth <= 2 ? <h3>{inlines(tokens)}</h3> : <h4>{inlines(tokens)}</h4>;
    }
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? decode(text) : inlines(tokens);
    }
    case "blockquote":
      return <blockquote>{blocksOf((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} joined={joined} />;
    case "hr":
      return <hr />;
    case "code":
      return <CodeBlock lang={(token as Tokens.Code).lang ?? ""} chunks={[(token as Tokens.Code).text]} open={false} />;
    case "table":
      return <Table head={(token as Tokens.Table).header} rows={(token as Tokens.Table).rows} />;
    case "html":
      return <p>{(token as Tokens.HTML).text.trimEnd()}</p>;
    default:
      return null;
  }
}

function blocksOf(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => (token.type === "text" ? <span key={at}>{blockOf(token)}</span> : <Keyed key={at}>{blockOf(token)}</Keyed>));
}

function Keyed({ children }: { children: ReactNode }): ReactNode {
  return children;
}

function List({ list, joined }: { list: Tokens.List; joined: boolean }) {
  const items = list.items.map((item, at) => (
    <li key={at} className={item.task ? "task" : undefined}>
      {item.task ? <input type="checkbox" checked={item.checked ?? false} readOnly disabled aria-label={item.checked === true ? "done" : "open"} className="mr-2 align-[-2px]" /> : null}
      {blocksOf(item.tokens.filter((token) => token.type !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start} className={joined ? "joined" : undefined}>{items}</ol> : <ul className={joined ? "joined" : undefined}>{items}</ul>;
}

function Table({ head, rows }: { head: Tokens.TableCell[]; rows: readonly Tokens.TableCell[][] }) {
  return (
    <div className="table quiet-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead><tr>{head.map((cell, at) => <th key={at} style={cell.align === null ? undefined : { textAlign: cell.align }}>{inlines(cell.tokens)}</th>)}</tr></thead>
        <tbody>{rows.map((row, at) => <TableRow key={at} row={row} />)}</tbody>
      </table>
    </div>
  );
}

const TableRow = memo(function TableRow({ row }: { row: Tokens.TableCell[] }) {
  return <tr>{row.map((cell, at) => <td key={at} style={cell.align === null ? undefined : { textAlign: cell.align }}>{inlines(cell.tokens)}</td>)}</tr>;
});

function inlines(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, at) => <Keyed key={at}>{inline(token)}</Keyed>);
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? decode(text) : inlines(tokens);
    }
    case "escape":
      return (token as Tokens.Escape).text;
    case "strong":
      return <strong>{inlines((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inlines((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inlines((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens, title } = token as Tokens.Link;
      return isOutside(href) ? <a href={href} title={title ?? undefined} target="_blank" rel="noopener noreferrer">{inlines(tokens)}</a> : <span title={href}>{inlines(tokens)}</span>;
    }
    case "image": {
      const { href, text } = token as Tokens.Image;
      const name = text === "" ? "picture" : `picture: ${text}`;
      return isOutside(href) ? <a href={href} target="_blank" rel="noopener noreferrer">{name}</a> : <span>{name}</span>;
    }
    default:
      return "raw" in token ? token.raw : null;
  }
}

function isOutside(href: string): boolean {
  return /^(https?:\/\/|mailto:)/iu.test(href);
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←", times: "×", euro: "€" };

function decode(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(#x?[0-9a-f]+|\w+);/giu, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return Number.isFinite(code) && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
