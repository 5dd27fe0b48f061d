/** How a tool call ended, as a session's view tells it: for its row in the tree, which the call has left by then. */
import type { ActorView } from "../protocol/actor-view.ts";
import { sessionAddress } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { SessionView } from "../protocol/session-view.ts";
import { LINGER_MS } from "./departed.ts";
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

/**
 * Calls of the view that ended in the last ten seconds, as rows of the tree: the tree is told in samples, so a quick call may
 * never have stood in it. They sort before what still runs. `about` says in a few words what a call is about.
 */
export function endedCalls(view: SessionView | null, now: number, about: (tool: string, input: Json) => string): ActorView[] {
  if (view === null) return [];
  const ended = new Map<string, number>();
  const calls: ActorView[] = [];
  for (let at = view.rows.length - 1; at >= 0; at -= 1) {
    const row = view.rows[at];
    if (row === undefined || row.kind === "user_message") break;
    if (row.kind === "tool_result" && row.at > now - LINGER_MS) ended.set(row.data.callId, row.at);
    const since = row.kind === "tool_call" ? ended.get(row.data.callId) : undefined;
    if (row.kind !== "tool_call" || since === undefined) continue;
    const { callId, tool, input } = row.data;
    const parent = sessionAddress(view.agent, view.session);
    calls.push({
      address: `${parent}/ended/${callId}`,
      birth: `0.${row.seq}.0`,
      kind: "call",
      state: "ended",
      status: "down",
      parent,
      since,
      detail: { tool, callId, about: about(tool, input) },
      pending: [],
      mailbox: 0,
      restarts: 0,
    });
  }
  return calls;
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
