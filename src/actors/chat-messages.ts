/**
 * History rows → the conversation a model gets. Pure. Thinking, superseded attempts and notices that are not for the model
 * stay out; steered and our own words are marked as such. Each round is one assistant message with its calls, their results
 * right behind it in the calls' order (what is still missing is filled by the repair, P8).
 */
import type { HistoryRow } from "../protocol/history.ts";
import type { ChatMessage } from "../ports/engine.port.ts";

interface Round {
  key: string;
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  results: Map<string, string>;
}

/** A message that is tried again stands where it is tried again; what the earlier try left is not sent. */
function withoutRetried(rows: readonly HistoryRow[]): readonly HistoryRow[] {
  let kept = rows;
  for (const row of rows) {
    const of = row.kind === "notice" && row.data.kind === "retried" ? row.data["of"] : undefined;
    if (typeof of !== "string") continue;
    const said = kept.filter((each) => each.turnId === of && each.kind === "user_message").map((each) => ({ ...each, turnId: row.turnId }));
    kept = kept.flatMap((each) => (each === row ? said : each.turnId === of ? [] : [each]));
  }
  return kept;
}

export function chatMessages(rows: readonly HistoryRow[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let round: Round | null = null;
  const flush = (): void => {
    if (!round) return;
    messages.push({ role: "assistant", text: round.text, calls: round.calls });
    for (const call of round.calls) {
      const text = round.results.get(call.id);
      if (text !== undefined) messages.push({ role: "tool", callId: call.id, name: call.name, text });
    }
    round = null;
  };
  const open = (key: string): Round => {
    if (round?.key !== key) {
      flush();
      round = { key, text: "", calls: [], results: new Map() };
    }
    return round as Round;
  };
  for (const row of withoutRetried(rows)) {
    switch (row.kind) {
      case "user_message":
        flush();
        messages.push({ role: "user", text: row.data.steer ? `[somora] steered:\n${row.data.text}` : row.data.text });
        break;
      case "assistant_message": {
        if (row.data.superseded) break;
        const current = open(`${row.turnId}/${row.data.round}`);
        current.text = current.text === "" ? row.data.text : `${current.text}\n\n${row.data.text}`;
        break;
      }
      case "tool_call":
        open(`${row.turnId}/${row.data.round}`).calls.push({
          id: row.data.callId,
          name: row.data.tool,
          arguments: row.data.broken ? "{}" : JSON.stringify(row.data.input),
        });
        break;
      case "tool_result": {
        const current = round as Round | null;
        if (current?.calls.some((call) => call.id === row.data.callId))
          current.results.set(row.data.callId, JSON.stringify(row.data.output));
        break;
      }
      case "notice":
        if (row.data["toModel"] === true) {
          flush();
          messages.push({ role: "user", text: `[somora] ${row.data.text ?? ""}` });
        }
        break;
      case "thinking":
      case "turn_end":
        break;
    }
  }
  flush();
  return messages;
}
