/** The configuration as people may see it: defaults filled in, keys that stand in the file hidden. */
import type { Config } from "./config.schema.ts";

export function showConfig(config: Config): Config {
  const providers = Object.fromEntries(
    Object.entries(config.providers).map(([name, provider]) => {
      const { apiKey } = provider;
      return [name, apiKey === undefined || /^\$\{[A-Za-z0-9_]+\}$/.test(apiKey) ? provider : { ...provider, apiKey: "(hidden)" }];
    }),
  );
  return { ...config, providers };
}
