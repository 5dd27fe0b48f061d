/** The door of the room: settings of a home, checking one file, and looking for models. */
export { openSettings, type Settings, type SettingsOptions } from "./settings.ts";
export { homePaths, type HomePaths } from "./home.ts";
export { checkConfig, checkConfigFile, readText } from "./read-config.ts";
export { configSchema } from "./config.schema.ts";
export { agentSchema } from "./agent.schema.ts";
export { describeKeys, type KeyWords } from "./schema-words.ts";
export { findModels } from "./find-models.ts";
export type { Problem } from "./checked-yaml.ts";
export { showConfig } from "./show-config.ts";
export { connectProvider, type ConnectRequest } from "./connect-provider.ts";
