/** Markdown as React elements: no HTML of the model ever reaches the page, links open outside, pictures are named, not fetched. */
import { Fragment, memo, useRef, type ReactNode } from "react";
import { CodeBlock } from "./code.tsx";
import type { Cell, ListToken, Token } from "./markdown.ts";
import { MarkdownBlocks, type Block } from "./markdown-blocks.ts";
import type { Inline } from "./markdown-inline.ts";

export const Prose = memo(function Prose({ text, open = false }: { text: string; open?: boolean }) {
  const blocks = useRef<MarkdownBlocks>(null);
  blocks.current ??= new MarkdownBlocks();
  const shown = blocks.current.feed(text, !open);
  return (
    <div className="prose">
      {shown.map((block) => (
        <BlockView key={block.id} block={block} />
      ))}
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
    case "heading":
      return token.depth <= 2 ? <h3>{inlines(token.tokens)}</h3> : <h4>{inlines(token.tokens)}</h4>;
    case "paragraph":
      return <p>{inlines(token.tokens)}</p>;
    case "text":
      return inlines(token.tokens);
    case "quote":
      return <blockquote>{blocksOf(token.tokens)}</blockquote>;
    case "list":
      return <List list={token} joined={joined} />;
    case "hr":
      return <hr />;
    case "code":
      return <CodeBlock lang={token.lang} chunks={[token.text]} open={false} />;
    case "table":
      return <Table head={token.head} rows={token.rows} />;
    case "space":
      return null;
  }
}

function blocksOf(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{blockOf(token)}</Fragment>);
}

function List({ list, joined }: { list: ListToken; joined: boolean }) {
  const items = list.items.map((item, at) => (
    <li key={at} className={item.task === null ? undefined : "task"}>
      {item.task === null ? null : (
        <input
          type="checkbox"
          checked={item.task}
          readOnly
          disabled
          aria-label={item.task ? "done" : "open"}
          className="mr-2 align-[-2px]"
        />
      )}
      {blocksOf(item.tokens)}
    </li>
  ));
  return list.ordered ? (
    <ol start={list.start} className={joined ? "joined" : undefined}>
      {items}
    </ol>
  ) : (
    <ul className={joined ? "joined" : undefined}>{items}</ul>
  );
}

function Table({ head, rows }: { head: Cell[]; rows: readonly Cell[][] }) {
  return (
    <div className="wide-table quiet-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at} style={cell.align === null ? undefined : { textAlign: cell.align }}>
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <TableRow key={at} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const TableRow = memo(function TableRow({ row }: { row: Cell[] }) {
  return (
    <tr>
      {row.map((cell, at) => (
        <td key={at} style={cell.align === null ? undefined : { textAlign: cell.align }}>
          {inlines(cell.tokens)}
        </td>
      ))}
    </tr>
  );
});

function inlines(tokens: readonly Inline[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{inlineOf(token)}</Fragment>);
}

function inlineOf(token: Inline): ReactNode {
  switch (token.type) {
    case "text":
      return token.text;
    case "strong":
      return <strong>{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <del>{inlines(token.tokens)}</del>;
    case "code":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return isOutside(token.href) ? (
        <a href={token.href} target="_blank" rel="noopener noreferrer">
          {inlines(token.tokens)}
        </a>
      ) : (
        <span title={token.href}>{inlines(token.tokens)}</span>
      );
    case "image": {
      const name = token.text === "" ? "picture" : `picture: ${token.text}`;
      return isOutside(token.href) ? (
        <a href={token.href} target="_blank" rel="noopener noreferrer">
          {name}
        </a>
      ) : (
        <span>{name}</span>
      );
    }
  }
}

/** Nothing but web and mail addresses is ever a link: no `javascript:`, no path on this server. */
function isOutside(href: string): boolean {
  return /^(https?:\/\/|mailto:)/iu.test(href);
}
