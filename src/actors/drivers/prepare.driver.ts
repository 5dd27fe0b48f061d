/** prepare: what a turn needs to know before it asks a model. Reads settings only; repeating it harms nothing. */
import type { Prepared } from "../../machines/index.ts";
import { SomoraError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Driver, Outcome } from "../../ports/driver.port.ts";
import type { SettingsPort } from "../../ports/settings.port.ts";

/** `ensureFolder` makes the agent's workspace when it is not there yet. */
export function prepareDriver(settings: SettingsPort, ensureFolder: (path: string) => Promise<void>): Driver {
  return {
    name: "prepare",
    async perform(request): Promise<Outcome> {
      try {
        const prepared = prepare(settings, request);
        if (typeof request["cwd"] !== "string") await ensureFolder(prepared.cwd);
        return { status: "done", value: prepared as unknown as JsonObject };
      } catch (error) {
        if (!(error instanceof SomoraError)) throw error;
        return {
          status: "failed",
          error: { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) },
        };
      }
    },
  };
}

function prepare(settings: SettingsPort, request: JsonObject): Prepared {
  const name = String(request["agent"]);
  const agent = settings.agent(name);
  if (!agent)
    throw new SomoraError("AGENT_UNKNOWN", `The folder of ${name} is gone.`, { hint: "Put it back; the agent goes on by itself." });
  const known = settings
    .models()
    .map((model) => model.ref)
    .join(", ");
  const wanted = typeof request["model"] === "string" ? request["model"] : agent.model;
  if (wanted === null) {
    throw new SomoraError(
      "MODEL_UNSET",
      agent.problem === null ? `${name} names no model.` : `${name} has no model in force: ${agent.problem}`,
      { hint: `Set \`model\` in its agent.yaml, or choose one for this session. Known: ${known}.` },
    );
  }
  const model = settings.resolveModel(wanted);
  if (!model) throw new SomoraError("MODEL_UNKNOWN", `There is no model "${wanted}".`, { hint: `Known: ${known}.` });
  return {
    provider: model.provider,
    model: model.id,
    ref: model.ref,
    rehearsal: model.rehearsal,
    parallel: model.parallelToolCalls,
    maxRounds: agent.loop.maxRounds,
    maxCalls: agent.loop.maxToolCallsPerTurn,
    cwd: typeof request["cwd"] === "string" ? request["cwd"] : agent.workspace,
    resume: settings.server().resumeAfterRestart === "all",
  };
}
