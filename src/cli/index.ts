/** The door of the room. */
export { runCli } from "./run-cli.ts";
export { processIo } from "./process-io.ts";
export { COMMANDS } from "./commands/table.ts";
export type { CliDependencies, ConfigProblem, RunningServer } from "./dependencies.ts";
export type { CliIo } from "./io.ts";
export type { PlayedServer, RehearsalDependencies } from "./rehearse/play.ts";
export { startDetached } from "./start-detached.ts";
