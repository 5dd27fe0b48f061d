/** The models of a configuration, rehearsals included: a script under rehearsals/ is a model of the provider `rehearsal`. */
import { readdir } from "node:fs/promises";
import type { ModelInfo } from "../protocol/model.ts";
import type { Config } from "./config.schema.ts";

export const REHEARSAL = "rehearsal";

export async function rehearsalNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder))
      .filter((name) => name.endsWith(".yaml"))
      .map((name) => name.slice(0, -".yaml".length))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

export function modelsOf(config: Config, rehearsals: readonly string[]): ModelInfo[] {
  const models: ModelInfo[] = [];
  const providers = { [REHEARSAL]: { engine: REHEARSAL, models: [] } as Config["providers"][string], ...config.providers };
  for (const [provider, { engine, baseUrl, models: entries }] of Object.entries(providers)) {
    const ids = engine === REHEARSAL ? rehearsals.filter((id) => !entries.some((entry) => entry.id === id)) : [];
    const plain = ids.map((id): Config["providers"][string]["models"][number] => ({ id, capabilities: ["text"], parallelToolCalls: true }));
    for (const entry of [...entries, ...plain]) {
      models.push({
        ref: `${provider}/${entry.id}`,
        alias: entry.alias ?? null,
        provider,
        id: entry.id,
        engine,
        rehearsal: engine === REHEARSAL,
        contextWindow: entry.contextWindow ?? null,
        maxTokens: entry.maxTokens ?? null,
        capabilities: entry.capabilities,
        parallelToolCalls: entry.parallelToolCalls,
        price: entry.price ?? null,
        baseUrl: baseUrl ?? null,
      });
    }
  }
  return models;
}
