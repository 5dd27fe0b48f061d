/**
 * Turns what streams into blocks: numbered per kind (`t1`, `r1`, …), one open at a time, start and end around its deltas.
 * A delta never splits a character; white space alone makes no block, and blank lines before a text are dropped.
 */
import type { EngineContext, RoundResult } from "../../ports/engine.port.ts";
import { wellFormed } from "./well-formed.ts";

type Kind = "text" | "thinking";
const PREFIX = { text: "t", thinking: "r" } as const;
const BLANK_LINES = /^\s*\n/;
const HIGH_AT_END = /[\ud800-\udbff]$/;

export interface BlockWriter {
  write(kind: Kind, text: string): void;
  /** Ends the open block. Called at a change of kind, before calls, and when the round ended. Not when it failed: the block stays open. */
  close(): void;
  blocks(): RoundResult["blocks"];
  hasBlocks(): boolean;
}

export function createBlockWriter(emit: EngineContext["emit"]): BlockWriter {
  const done: { kind: Kind; blockId: string; pieces: string[] }[] = [];
  const counts = { text: 0, thinking: 0 };
  let open: (typeof done)[number] | null = null;
  let kindOfHeld: Kind | null = null;
  /** White space before a block's first word, or half a character at its end. */
  let held = "";

  function send(block: (typeof done)[number], text: string): void {
    block.pieces.push(text);
    emit({ type: `${block.kind}.delta`, blockId: block.blockId, text });
  }

  const writer: BlockWriter = {
    write(kind, text) {
      if (text === "") return;
      if (kindOfHeld !== null && kindOfHeld !== kind) writer.close();
      kindOfHeld = kind;
      let ready = held + text;
      held = "";
      if (!open && ready.trim() === "") {
        held = ready;
        return;
      }
      if (HIGH_AT_END.test(ready)) {
        held = ready.slice(-1);
        ready = ready.slice(0, -1);
        if (ready === "" || (!open && ready.trim() === "")) {
          held = ready + held;
          return;
        }
      }
      if (!open) {
        ready = ready.replace(BLANK_LINES, "");
        counts[kind] += 1;
        open = { kind, blockId: `${PREFIX[kind]}${counts[kind]}`, pieces: [] };
        done.push(open);
        emit({ type: `${kind}.start`, blockId: open.blockId });
      }
      send(open, wellFormed(ready));
    },
    close() {
      if (open) {
        if (held !== "") send(open, wellFormed(held));
        emit({ type: `${open.kind}.end`, blockId: open.blockId });
      }
      open = null;
      kindOfHeld = null;
      held = "";
    },
    blocks: () => done.map(({ kind, blockId, pieces }) => ({ kind, blockId, text: pieces.join("") })),
    hasBlocks: () => done.length > 0,
  };
  return writer;
}
