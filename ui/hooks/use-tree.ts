/** The living tree, built once per change for everyone who shows a part of it. */
import { createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import { buildTree, Departed, type TreeNode } from "../../src/client/index.ts";
import { useActors, useFrozenAt } from "./use-client.ts";

export const TreeContext = createContext<TreeNode[]>([]);
export const useTree = (): TreeNode[] => useContext(TreeContext);

/** For the frame only: builds it. Sentences with spans are made anew by whoever shows them. */
export function useBuiltTree(): TreeNode[] {
  const actors = useActors();
  const frozenAt = useFrozenAt();
  const departed = useRef<Departed>(null);
  departed.current ??= new Departed();
  const [tick, setTick] = useState(0);
  const now = frozenAt ?? Date.now();
  const taken = useMemo(() => departed.current?.take(actors, now) ?? { actors, gone: new Set<string>() }, [actors, tick]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    if (taken.gone.size === 0 || frozenAt !== null) return undefined;
    const timer = setTimeout(() => setTick((count) => count + 1), 2500);
    return () => clearTimeout(timer);
  }, [taken, frozenAt]);
  return useMemo(() => buildTree(taken.actors, now, taken.gone), [taken]); // eslint-disable-line react-hooks/exhaustive-deps
}

export function findNode(roots: readonly TreeNode[], address: string): TreeNode | null {
  for (const node of roots) {
    if (node.address === address) return node;
    if (address.startsWith(`${node.address}/`)) {
      const found = findNode(node.children, address);
      if (found !== null) return found;
    }
  }
  return null;
}
