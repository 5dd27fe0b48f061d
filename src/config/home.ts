/** Where things lie under SOMORA_HOME (contract §1). Paths only; nothing is touched here. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

export interface HomePaths {
  home: string;
  config: string;
  secrets: string;
  key: string;
  agents: string;
  rehearsals: string;
  store: string;
  run: string;
  logs: string;
  audit: string;
}

export function homePaths(home: string): HomePaths {
  const root = resolve(expandHome(home));
  return {
    home: root,
    config: join(root, "config.yaml"),
    secrets: join(root, "somora.env"),
    key: join(root, "key"),
    agents: join(root, "agents"),
    rehearsals: join(root, "rehearsals"),
    store: join(root, "store"),
    run: join(root, "run"),
    logs: join(root, "logs"),
    audit: join(root, "audit"),
  };
}

/** `~` and `~/…` as the person's own folder. */
function expandHome(path: string, userHome: string = homedir()): string {
  if (path === "~") return userHome;
  return path.startsWith("~/") ? join(userHome, path.slice(2)) : path;
}

/** A folder of a settings file: `~` expanded, else relative to the home. */
export function folderOf(path: string, home: string): string {
  const expanded = expandHome(path);
  return isAbsolute(expanded) ? expanded : resolve(home, expanded);
}
