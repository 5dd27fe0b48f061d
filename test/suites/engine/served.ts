/** The openai-compatible engine in front of a rehearsal server that refuses every invalid conversation. */
import { createOpenAiCompatibleEngine } from "../../../src/engines/openai-compatible/index.ts";
import { createRehearsalServer, type RehearsalServerParts } from "../../../src/engines/rehearsal/index.ts";
import { modelOf, realClock } from "./engine-bench.ts";

export async function served(more: Partial<RehearsalServerParts> = {}) {
  const scripts = new Map<string, string>();
  const server = await createRehearsalServer({
    clock: realClock,
    readScript: (name) => Promise.resolve(scripts.has(name) ? { text: scripts.get(name) ?? "", file: `${name}.yaml` } : null),
    models: () => Promise.resolve([...scripts.keys()]),
    strict: true,
    ...more,
  });
  return {
    server,
    engine: engineAt(server.baseUrl),
    model(script: string) {
      const id = `s${scripts.size}`;
      scripts.set(id, script);
      return modelOf(id);
    },
    asked: () =>
      new Promise<void>((resolve) => {
        const off = server.onRequest(() => {
          off();
          resolve();
        });
      }),
    openSockets: () => server.openSockets(),
    close: () => server.close(),
  };
}

export function engineAt(baseUrl: string, key: string | null = null) {
  return createOpenAiCompatibleEngine({ clock: realClock, provider: () => ({ baseUrl, apiKey: () => key }) });
}
