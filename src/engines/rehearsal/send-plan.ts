/** Plays a planned round into an HTTP answer: as a stream of events, or whole. A client that leaves ends it at once. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../ports/clock.port.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { beatsOf, type Beat } from "./beats.ts";
import { chunk, errorBody, FINISH, toolCall, usageChunk, whole, type Head } from "./completion-chunks.ts";
import type { RoundPlan } from "./player.ts";

export interface Sending {
  response: ServerResponse;
  head: Head;
  clock: Clock;
  withUsage: boolean;
}

/** Arguments arrive in pieces of this many characters, as they do from real servers. */
const ARGUMENT_PIECE = 12;

export async function sendStream(plan: RoundPlan, { response, head, clock, withUsage }: Sending): Promise<void> {
  let begun = false;
  const event = (body: unknown): void => {
    if (!begun) {
      begun = true;
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.write(`data: ${JSON.stringify(chunk(head, { role: "assistant", content: "" }))}\n\n`);
    }
    response.write(`data: ${typeof body === "string" ? body : JSON.stringify(body)}\n\n`);
  };
  for (const beat of beatsOf(plan)) {
    if (response.destroyed) return;
    switch (beat.kind) {
      case "think":
        event(chunk(head, { reasoning_content: beat.text }));
        break;
      case "say":
        event(chunk(head, { content: beat.text }));
        break;
      case "wait":
        await pause(clock, beat.ms, response);
        break;
      case "call":
        event(chunk(head, { tool_calls: [{ index: beat.index, ...toolCall(beat.id, beat.name, "") }] }));
        for (let at = 0; at < beat.arguments.length; at += ARGUMENT_PIECE) {
          const piece = beat.arguments.slice(at, at + ARGUMENT_PIECE);
          event(chunk(head, { tool_calls: [{ index: beat.index, function: { arguments: piece } }] }));
        }
        break;
      case "fail":
        if (!beat.begun) return refuse(response, beat);
        event(errorBody(beat.message, beat.status));
        response.end();
        return;
      case "cut":
        if (plan.cut === "finish") {
          response.end();
          return;
        }
        if (!begun) response.writeHead(200, { "content-type": "text/event-stream" });
        // Everything written goes out first; then the connection breaks without an end of the body.
        await new Promise<void>((resolve) => response.write(": the connection breaks here\n\n", () => resolve()));
        response.destroy();
        return;
      case "end":
        event(chunk(head, {}, FINISH[beat.finish]));
        if (plan.usage && withUsage) event(usageChunk(head, plan.usage));
        event("[DONE]");
        response.end();
        return;
    }
  }
}

export async function sendWhole(plan: RoundPlan, { response, head, clock }: Sending): Promise<void> {
  const message: { content: string; reasoning_content: string; tool_calls: JsonObject[] } = {
    content: "",
    reasoning_content: "",
    tool_calls: [],
  };
  for (const beat of beatsOf(plan)) {
    if (response.destroyed) return;
    if (beat.kind === "say") message.content += beat.text;
    else if (beat.kind === "think") message.reasoning_content += beat.text;
    else if (beat.kind === "call") message.tool_calls.push(toolCall(beat.id, beat.name, beat.arguments));
    else if (beat.kind === "wait") await pause(clock, beat.ms, response);
    else if (beat.kind === "fail") return refuse(response, beat);
    else if (beat.kind === "cut") {
      response.destroy();
      return;
    } else {
      const { content, reasoning_content, tool_calls } = message;
      const body = whole(
        head,
        {
          content: content === "" ? null : content,
          ...(reasoning_content === "" ? {} : { reasoning_content }),
          ...(tool_calls.length === 0 ? {} : { tool_calls }),
        },
        FINISH[beat.finish],
        plan.usage,
      );
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
      return;
    }
  }
}

function refuse(response: ServerResponse, beat: Extract<Beat, { kind: "fail" }>): void {
  response.writeHead(beat.status, {
    "content-type": "application/json",
    ...(beat.retryAfter === null ? {} : { "retry-after": String(beat.retryAfter) }),
  });
  response.end(JSON.stringify(errorBody(beat.message, beat.status)));
}

/** Until `ms` have gone by (null: never), or the client left. */
function pause(clock: Clock, ms: number | null, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      response.off("close", end);
      resolve();
    };
    const cancel = ms === null ? () => undefined : clock.setTimer(ms, end);
    response.on("close", end);
    if (response.destroyed) end();
  });
}
