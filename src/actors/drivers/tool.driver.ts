/** tool: one call in the tool room. What a restart finds of it is in the effect's folder; the room knows how to read that. */
import type { Json, JsonObject } from "../../protocol/json.ts";
import { TOPIC } from "../../protocol/live-ops.ts";
import type { PayloadRef } from "../../protocol/payload.ts";
import type { Driver, DriverContext, Outcome, Recovery } from "../../ports/driver.port.ts";
import type { ToolCallRequest, ToolCallResult, ToolRoom } from "../../ports/tools.port.ts";
import type { PayloadTexts } from "../payload-texts.ts";

export function toolDriver(tools: ToolRoom, texts: PayloadTexts): Driver {
  return {
    name: "tool",
    async perform(request, context) {
      const broken = request["broken"] as { kind: "cut" | "malformed"; error: string } | null | undefined;
      if (broken) return brokenOutcome(broken, request["input"] as unknown as PayloadRef | null);
      const call = await callOf(request, context, texts);
      const result = await tools.run(call, {
        signal: context.signal,
        progress: (text) =>
          context.live(TOPIC.session(call.agent, call.session), "call.progress", { turnId: call.turnId ?? "", callId: call.callId, text }),
      });
      return outcomeOf(result);
    },
    async recover(request, context): Promise<Recovery> {
      if (request["broken"]) return { kind: "not-started" };
      const recovery = await tools.recover(await callOf(request, context, texts));
      if (recovery.kind === "done") return { kind: "done", outcome: outcomeOf(recovery.result) };
      return recovery.kind === "not-started" ? recovery : { kind: "unknown", value: recovery.known };
    },
  };
}

async function callOf(request: JsonObject, context: DriverContext, texts: PayloadTexts): Promise<ToolCallRequest> {
  const ref = request["input"] as unknown as PayloadRef | null;
  const text = ref ? (await texts.read([ref.id])).get(ref.id) : undefined;
  return {
    tool: String(request["tool"]),
    input: text === undefined ? ((request["inline"] ?? {}) as Json) : (JSON.parse(text) as Json),
    agent: String(request["agent"]),
    session: String(request["session"]),
    turnId: typeof request["turnId"] === "string" ? request["turnId"] : null,
    callId: String(request["callId"]),
    cwd: String(request["cwd"]),
    effectKey: context.key,
  };
}

function outcomeOf(result: ToolCallResult): Outcome {
  const { output, summary, ms, filesWritten, changes, endedProcesses, lost, aborted } = result;
  const value = {
    ok: output.ok,
    summary,
    ms,
    filesWritten,
    changes,
    code: output.ok ? null : (output as { error: { code: string } }).error.code,
    processes: endedProcesses ?? 0,
  };
  return {
    status: aborted ? "aborted" : "done",
    value: value as unknown as Json,
    payloads: [{ kind: "json", text: JSON.stringify(output).toWellFormed() }],
    ...(lost && lost.length > 0 ? { lost } : {}),
  };
}

/** Broken arguments are never run from a guess; the model is told what is wrong with them (bugs G09). */
function brokenOutcome(broken: { kind: "cut" | "malformed"; error: string }, input: PayloadRef | null): Outcome {
  const chars = Math.max(0, (input?.size ?? 0) - '{"_raw":""}'.length);
  const error =
    broken.kind === "cut"
      ? {
          code: "TOOL_INPUT_BROKEN",
          message: `The arguments break off after ${chars} characters (${broken.error}). Nothing was run.`,
          hint: "Send less at once: split long content over several calls.",
        }
      : {
          code: "TOOL_INPUT_BROKEN",
          message: `The arguments are not valid JSON (${broken.error}). Nothing was run.`,
          hint: "Send the call again with valid JSON; a call without parameters takes {}.",
        };
  return {
    status: "done",
    value: {
      ok: false,
      summary: broken.kind === "cut" ? "arguments cut off" : "arguments not JSON",
      ms: 0,
      filesWritten: [],
      changes: [],
      code: error.code,
      processes: 0,
    },
    payloads: [{ kind: "json", text: JSON.stringify({ ok: false, error }) }],
  };
}
