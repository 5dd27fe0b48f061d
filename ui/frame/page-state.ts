/** What the page itself remembers: drawers, selection, theme. Nothing of it is the server's business. */
import { useSyncExternalStore } from "react";

interface PageState {
  tree: boolean;
  palette: boolean;
  keys: boolean;
  selected: string | null;
  /** The selected actor shows its story instead of its facts. */
  story: boolean;
  theme: "system" | "light" | "dark";
  treeWidth: number | null;
}
const WIDTH = "somora.tree-width";
const THEME = "somora.theme";

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage forbidden: the page starts as on the first day
  }
}
function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // forbidden or full: it holds until the reload
  }
}

const theme = read(THEME);
let state: PageState = {
  tree: false,
  palette: false,
  keys: false,
  selected: null,
  story: false,
  theme: theme === "light" || theme === "dark" ? theme : "system",
  treeWidth: Number(read(WIDTH)) || null,
};
const listeners = new Set<() => void>();

function set(change: Partial<PageState>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

export const page = {
  get: (): PageState => state,
  showTree: (tree: boolean): void => set({ tree }),
  showPalette: (palette: boolean): void => set({ palette }),
  showKeys: (keys: boolean): void => set({ keys }),
  select: (selected: string | null): void => set({ selected }),
  showStory: (story: boolean): void => set({ story }),
  setTreeWidth(treeWidth: number): void {
    set({ treeWidth });
    keep(WIDTH, String(treeWidth));
  },
  setTheme(next: PageState["theme"]): void {
    set({ theme: next });
    keep(THEME, next);
    applyTheme();
  },
};

export function applyTheme(): void {
  if (state.theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = state.theme;
}

export function usePage(): PageState {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, page.get);
}
