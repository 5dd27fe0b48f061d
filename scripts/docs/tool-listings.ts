/** The tools of the reference page: all that are registered, whatever an agent is offered. */
import { systemClock } from "../../src/host/system-clock.ts";
import { createToolHost } from "../../src/host/tool-host.ts";
import type { SettingsPort } from "../../src/ports/settings.port.ts";
import type { ToolListing } from "../../src/ports/tools.port.ts";
import { createToolRoom } from "../../src/tools/index.ts";

export function toolListings(): readonly ToolListing[] {
  const host = createToolHost({ home: "/nowhere", clock: systemClock, environment: {} });
  return createToolRoom({
    settings: {} as SettingsPort,
    clock: systemClock,
    host,
    docsFolder: new URL("../../docs", import.meta.url).pathname,
  }).all();
}
