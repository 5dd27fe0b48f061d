/** Models: what is configured, trying one, connecting another. Files and network are the start-up file's to give. */
import { SomoraError } from "../../protocol/errors.ts";
import { ROOT } from "../../protocol/ids.ts";
import { costOf, NO_USAGE } from "../../protocol/usage.ts";
import { type Engine, EngineError } from "../../ports/engine.port.ts";
import type { ModelsHandle } from "../../ports/handles.port.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

const TEST_LIMIT_MS = 60_000;
const TEST_WORDS = "Answer with one short sentence: are you there?";

export interface ModelOutside {
  engines: Readonly<Record<string, Engine>>;
  /** Writes config.yaml and somora.env, then in force. */
  addProvider(provider: { name: string; baseUrl: string; keyEnv: string | null; models: string[]; key?: string }): Promise<void>;
  setAgentModel(agent: string, ref: string): Promise<void>;
  /** The model ids a server names. */
  listModels(baseUrl: string, keyEnv: string | null, key: string | null): Promise<string[]>;
  find: ModelsHandle["find"];
}

export function modelsHandle(parts: RuntimeParts, outside: ModelOutside): ModelsHandle {
  const { settings, clock, kernel } = parts;
  return {
    list: () => settings.models(),
    find: outside.find,
    async test(ref) {
      const model = settings.resolveModel(ref);
      if (!model) throw new SomoraError("MODEL_UNKNOWN", `There is no model "${ref}".`, { hint: `Known: ${settings.models().map((each) => each.ref).join(", ")}.` });
      const engine = outside.engines[model.engine];
      if (!engine) throw new SomoraError("MODEL_UNKNOWN", `No engine of kind "${model.engine}" is built in.`);
      const began = clock.monotonic();
      const controller = new AbortController();
      const cancel = clock.setTimer(TEST_LIMIT_MS, () => controller.abort());
      try {
        const result = await engine.round(
          { key: `model-test-${clock.now()}`, model, messages: [{ role: "user", text: TEST_WORDS }], tools: [], toolChoice: "none", agent: "", session: "", thinking: null, idleMs: TEST_LIMIT_MS },
          { signal: controller.signal, emit: () => {} },
        );
        kernel.book(ROOT, { usage: result.usage ?? NO_USAGE, costUsd: result.usage ? costOf(result.usage, model.price) : null, model: model.ref, provider: model.provider, note: "model test" });
        const text = result.blocks.filter((block) => block.kind === "text").map((block) => block.text).join("\n");
        return { ok: true, model: result.model, text, ms: Math.round(clock.monotonic() - began) };
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        return { ok: false, ms: Math.round(clock.monotonic() - began), error: { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) } };
      } finally {
        cancel();
      }
    },
    async addProvider(request) {
      const baseUrl = request.baseUrl.replace(/\/+$/, "");
      const address = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
      if (!address || !/^https?:$/.test(address.protocol)) throw new SomoraError("REQUEST_INVALID", `"${request.baseUrl}" is no http address.`, { hint: "Give the server's base URL, such as http://127.0.0.1:11434/v1." });
      const name = request.name ?? nameFor(address, settings.models().map((model) => model.provider));
      const keyEnv = request.keyEnv ?? (request.key === undefined ? null : `${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_API_KEY`);
      const models = request.models && request.models.length > 0 ? request.models : await asked(outside, baseUrl, keyEnv, request.key ?? null);
      await outside.addProvider({ name, baseUrl, keyEnv, models, ...(request.key === undefined ? {} : { key: request.key }) });
      const refs = models.map((id) => `${name}/${id}`);
      if (request.agent !== undefined && refs[0] !== undefined) await outside.setAgentModel(request.agent, refs[0]);
      return { provider: name, refs, ...(request.agent === undefined ? {} : { agent: request.agent }) };
    },
  };
}

async function asked(outside: ModelOutside, baseUrl: string, keyEnv: string | null, key: string | null): Promise<string[]> {
  try {
    const models = await outside.listModels(baseUrl, keyEnv, key);
    if (models.length === 0) throw new Error("it names no models");
    return models;
  } catch (error) {
    throw new SomoraError("PROVIDER_UNREACHABLE", `${baseUrl} did not say which models it has: ${error instanceof Error ? error.message : String(error)}.`, { hint: "Start the server, check the address (it usually ends in /v1), or name a model yourself with --model.", cause: error });
  }
}

/** `local` for this machine, else the host's own name; numbered when taken by another. */
function nameFor(address: URL, taken: string[]): string {
  const host = address.hostname;
  const base = host === "localhost" || /^[\d.[\]:]+$/.test(host) ? "local" : (host.split(".").at(-2) ?? host).replace(/[^A-Za-z0-9_-]/g, "");
  if (!taken.includes(base)) return base;
  for (let n = 2; ; n += 1) if (!taken.includes(`${base}${n}`)) return `${base}${n}`;
}
