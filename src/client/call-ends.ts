/** How a tool call ended, as a session's view tells it: for its row in the tree, which the call has left by then. */
import type { ActorView } from "../protocol/actor-view.ts";
import type { SessionView } from "../protocol/session-view.ts";
import { saying, type MarkName, type Saying } from "./marks.ts";
import { codeWord } from "./words.ts";

/** Null when the view does not tell: another session's call, or one from before its first row. */
export function callEnd(view: SessionView | null, actor: ActorView): Saying | null {
  const callId = actor.detail["callId"];
  if (view === null || typeof callId !== "string") return null;
  const row = view.rows.findLast((other) => other.kind === "tool_result" && other.data.callId === callId);
  const settled = view.active?.calls.find((call) => call.callId === callId)?.settled;
  if (row?.kind === "tool_result") return ofEnd(row.data.ok, row.data.code, row.data.interrupted === true);
  return settled === undefined ? null : ofEnd(settled.ok, settled.code, false);
}

function ofEnd(ok: boolean, code: string | undefined, interrupted: boolean): Saying {
  const mark: MarkName = ok
    ? "done"
    : interrupted || code === "TOOL_INTERRUPTED"
      ? "interrupted"
      : code === "TOOL_CANCELLED"
        ? "cancelled"
        : code === "TOOL_TIMEOUT"
          ? "cut"
          : "failed";
  const word = mark === "failed" ? codeWord(code) : undefined;
  const sentence = ok ? "It is done." : `It ended: ${codeWord(code)}.`;
  // What a call came to is its model's to handle: the shape and the word say it, no colour calls for anybody.
  return saying(mark, sentence, { move: "none", ...(word === undefined ? {} : { word }) });
}
