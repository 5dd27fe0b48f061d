/** The door of this computer. */
export { systemCalendar } from "./system-calendar.ts";
export { systemClock, systemScheduler } from "./system-clock.ts";
export { createToolHost, type ToolHostOptions } from "./tool-host.ts";
export { endLeftovers, homeIdOf } from "./leftovers.ts";
export { acquireHomeLock, homeHolder, type HomeHolder, type HomeLock } from "./home-lock.ts";
export { openBrowser } from "./open-browser.ts";
