/**
 * The table of design §2 as data: which room may import which. A room is a folder of `src` (or `ui`); some rooms are cut
 * finer. A room may always import itself. `main`, `test`, `bench` and `scripts` may import everything and are not listed.
 */

export interface Room {
  /** Files whose path begins with this belong to the room; the longest match wins. `*` stands for one folder name. */
  path: string;
  /** Paths it may import, with the same `*`: a room's `*` in its own path is the same name in `mayImport`. */
  mayImport: readonly string[];
  /** Packages of npm it may not import, and why. */
  mayNotUse?: { [name: string]: string };
}

const LEAF = ["src/ports/", "src/protocol/"] as const;

export const ROOMS: readonly Room[] = [
  { path: "src/protocol/", mayImport: [] },
  { path: "src/ports/", mayImport: ["src/protocol/"] },
  { path: "src/machines/", mayImport: ["src/protocol/"] },
  { path: "src/actors/", mayImport: ["src/actors/kernel/", "src/machines/", ...LEAF] },
  // The runtime knows no chart.
  { path: "src/actors/kernel/", mayImport: LEAF },
  { path: "src/config/", mayImport: LEAF },
  { path: "src/store/", mayImport: LEAF },
  { path: "src/host/", mayImport: LEAF },
  { path: "src/browser/", mayImport: LEAF },
  { path: "src/memory/", mayImport: LEAF },
  { path: "src/mcp/", mayImport: LEAF },
  { path: "src/server/", mayImport: LEAF },
  // An engine never imports another engine.
  { path: "src/engines/", mayImport: LEAF },
  { path: "src/engines/shared/", mayImport: LEAF },
  { path: "src/engines/*/", mayImport: ["src/engines/shared/", ...LEAF] },
  // A tool family never imports another family; memory and browser come in as ports.
  { path: "src/tools/", mayImport: ["src/tools/*/", ...LEAF] },
  { path: "src/tools/*/", mayImport: ["src/tools/define-tool.ts", ...LEAF] },
  { path: "src/client/", mayImport: ["src/protocol/"] },
  { path: "src/cli/", mayImport: ["src/client/", "src/protocol/"] },
  { path: "ui/", mayImport: ["src/client/", "src/protocol/"] },
  { path: "src/simulation/", mayImport: ["src/actors/", "src/machines/", "src/store/", "src/simulation/oracle/", ...LEAF] },
  // What checks shares no code with what it checks.
  { path: "src/simulation/oracle/", mayImport: ["src/protocol/"] },
];
