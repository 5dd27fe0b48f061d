/** Tools at the door: list them, run one without a model, undo what one changed. */
import { SomoraError } from "../../protocol/errors.ts";
import { sessionAddress } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PayloadRef } from "../../protocol/payload.ts";
import type { CallEnd } from "../../machines/index.ts";
import type { ToolsHandle } from "../../ports/handles.port.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

/** Codes that mean "the request was not accepted", not "the call failed". */
const REFUSALS = new Set(["TOOL_UNKNOWN", "TOOL_DENIED", "TOOL_INPUT_INVALID"]);

export function toolsHandle(parts: RuntimeParts): ToolsHandle {
  const { kernel, tools, texts, settings } = parts;
  const knownAgent = (agent: string) => {
    const found = settings.agent(agent);
    if (!found)
      throw new SomoraError("AGENT_UNKNOWN", `There is no agent "${agent}".`, { hint: `Known: ${settings.agents().join(", ")}.` });
    return found;
  };
  return {
    all: () => tools.all(),
    offered(agent) {
      knownAgent(agent);
      const visible = new Set(tools.offered(agent).map((tool) => tool.name));
      return tools.all().map((tool) => ({ ...tool, visible: visible.has(tool.name) }));
    },
    async call(agent, tool, { input, session = "main" }) {
      const { workspace } = knownAgent(agent);
      const address = sessionAddress(agent, session);
      if (!kernel.has(address))
        throw new SomoraError("SESSION_UNKNOWN", `${agent} has no session "${session}".`, {
          hint: `Known: ${parts.sessionsOf(agent).join(", ")}.`,
        });
      const cwd = (kernel.context(address)?.["cwd"] as string | null) ?? workspace;
      const answer = (await kernel.command(address, {
        type: "tool.call",
        tool,
        about: "",
        repeatable: tools.isRepeatable(tool),
        limitMs: tools.limitOf(tool, input),
        request: { tool, inline: input, agent, session, cwd },
      })) as { reason: string; end: (Omit<CallEnd, "output"> & { output: (PayloadRef & JsonObject) | null }) | null };
      const ref = answer.end?.output ?? null;
      const text = ref ? (await texts.read([ref.id])).get(ref.id) : undefined;
      const output = (
        text === undefined
          ? {
              ok: false,
              error: { code: answer.end?.code ?? "TOOL_FAILED", message: answer.end?.summary ?? "The call ended without a result." },
            }
          : JSON.parse(text)
      ) as { ok: boolean; error?: { code: string; message: string; hint?: string } };
      if (!output.ok && output.error && REFUSALS.has(output.error.code))
        throw new SomoraError(
          output.error.code as "TOOL_UNKNOWN",
          output.error.message,
          output.error.hint === undefined ? {} : { hint: output.error.hint },
        );
      return output as Json;
    },
    undo(agent, changeId) {
      knownAgent(agent);
      return tools.undo(agent, changeId);
    },
  };
}
