/** The door of this computer. */
export { systemClock, systemScheduler } from "./system-clock.ts";
export { createToolHost, type ToolHostOptions } from "./tool-host.ts";
export { endLeftovers, homeIdOf } from "./leftovers.ts";
export { syncFolder, writeFileAtomic } from "./files.ts";
