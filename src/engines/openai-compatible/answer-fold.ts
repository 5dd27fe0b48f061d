/** Folds the chunks of one answer into blocks, calls, usage and how it ended. Knows no socket: what it is fed is all there is. */
import type { EngineContext, RoundResult } from "../../ports/engine.port.ts";
import { createBlockWriter } from "../shared/block-writer.ts";
import { mapUsage, withReasoningEstimate } from "../shared/map-usage.ts";
import { createThinkSplitter } from "../shared/think-splitter.ts";
import { createCallCollector } from "./call-collector.ts";
import { partsOf, type Chunk } from "./chunk.schema.ts";

export interface AnswerFold {
  add(chunk: Chunk): void;
  /** A finish reason has come. */
  finished(): boolean;
  /** Usage has come with the finish reason or after it: nothing more is due. */
  settled(): boolean;
  /** Something of the answer has come. */
  begun(): boolean;
  /** The round as it stands; closes the last block. `ended`: an end mark came. */
  finish(ended: boolean): RoundResult;
  /** What came before it broke off; absent when nothing did. */
  partial(): RoundResult | undefined;
}

export interface FoldParts {
  emit: EngineContext["emit"];
  model: string;
  contextWindow: number | null;
  /** Calls are ignored, with a notice: none were offered. */
  noCalls: boolean;
}

export function createAnswerFold({ emit, model, contextWindow, noCalls }: FoldParts): AnswerFold {
  const writer = createBlockWriter(emit);
  const splitter = createThinkSplitter();
  const collector = createCallCollector();
  let answeredBy = model;
  let reason: string | null = null;
  let rawUsage: unknown;
  let usageAfterReason = false;
  let thinkingChars = 0;
  let ignoredCalls = false;

  const write = (kind: "text" | "thinking", text: string): void => {
    if (kind === "thinking") thinkingChars += text.length;
    writer.write(kind, text);
  };

  function addChoice(choice: NonNullable<Chunk["choices"]>[number]): void {
    const delta = choice.delta ?? choice.message;
    for (const part of delta ? partsOf(delta) : []) {
      if (part.kind === "thinking") write("thinking", part.text);
      else for (const piece of splitter.push(part.text)) write(piece.kind, piece.text);
    }
    for (const call of delta?.tool_calls ?? []) {
      if (noCalls) {
        ignoredCalls = true;
        continue;
      }
      endText();
      collector.add(call);
    }
    if (choice.finish_reason) reason = choice.finish_reason;
  }

  /** What the splitter holds back belongs before the calls, or to the end. */
  function endText(): void {
    for (const piece of splitter.end()) write(piece.kind, piece.text);
    writer.close();
  }

  function result(finish: RoundResult["finish"]): RoundResult {
    const usage = mapUsage(rawUsage);
    return {
      blocks: writer.blocks(),
      calls: collector.calls(),
      finish,
      model: answeredBy,
      ...(usage ? { usage: { ...withReasoningEstimate(usage, thinkingChars), ...(contextWindow === null ? {} : { contextWindow }) } } : {}),
    };
  }

  return {
    add(chunk) {
      if (chunk.model) answeredBy = chunk.model;
      // Others than the first choice are not asked for.
      const choice = chunk.choices?.find((candidate) => (candidate.index ?? 0) === 0);
      if (choice) addChoice(choice);
      const usage = chunk.usage ?? choice?.usage;
      if (usage !== null && usage !== undefined) {
        rawUsage = usage;
        usageAfterReason = reason !== null;
      }
    },
    finished: () => reason !== null,
    settled: () => reason !== null && usageAfterReason,
    begun: () => writer.hasBlocks() || collector.count() > 0 || reason !== null,
    finish(ended) {
      endText();
      if (ignoredCalls)
        emit({ type: "notice", kind: "call_ignored", text: "The model called a tool though none was offered; the call is ignored." });
      const calls = collector.calls();
      if (reason === null && !ended) return result("cut");
      if (reason === "length" || reason === "max_tokens") return withCutCall(result("length"));
      if (reason === "content_filter")
        emit({ type: "notice", kind: "content_filter", text: "The model server's content filter ended the answer." });
      return result(calls.length > 0 ? "tools" : "stop");
    },
    partial: () => (writer.hasBlocks() || collector.count() > 0 ? result("cut") : undefined),
  };
}

/** The output limit fell right before the last call's arguments: empty ones would run with nothing. */
function withCutCall(result: RoundResult): RoundResult {
  const last = result.calls.at(-1);
  if (!last || last.broken || JSON.stringify(last.input) !== "{}") return result;
  const broken = { kind: "cut" as const, error: "the output limit was reached before the arguments began", raw: "" };
  return { ...result, calls: [...result.calls.slice(0, -1), { ...last, broken }] };
}
