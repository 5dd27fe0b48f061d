/** Ctrl K: places, agents, sessions, actions, and "why is x waiting" answered in the row itself. */
import { useEffect, useMemo, useRef, useState } from "react";
import type { TreeNode } from "../../src/client/index.ts";
import { useActions, type Action } from "./actions.ts";
import { useTree } from "../hooks/use-tree.ts";
import { Icon } from "../marks/icon.tsx";
import { page } from "./page-state.ts";

export function Palette({ agent, session }: { agent: string | null; session: string | null }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const actions = useActions(agent, session);
  const tree = useTree();
  useEffect(() => dialog.current?.showModal(), []);
  const shown = useMemo(() => [...whyRows(text, tree), ...rankActions(actions, text)].slice(0, 12), [actions, text, tree]);
  const close = (): void => page.showPalette(false);
  const run = (action: Action | undefined): void => {
    if (action === undefined || action.off !== undefined) return;
    close();
    action.run();
  };
  return (
    <dialog
      ref={dialog}
      className="mx-auto mt-[12vh] w-[35rem] max-w-[calc(100vw-1rem)] overflow-hidden rounded-3 border border-line-2 bg-raised p-0 text-ink shadow-pop backdrop:bg-black/20"
      aria-label="Search and commands"
      onCancel={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div className="flex h-12 items-center gap-2.5 border-b border-line px-4">
        <Icon name="search" />
        <input
          autoFocus
          className="min-w-0 flex-1 bg-transparent text-title outline-none placeholder:text-ink-3"
          placeholder="Agent, session, action, or: why is guide waiting"
          aria-label="Search and commands"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-${at}`}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(shown.length - 1, at + 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
            else if (event.key === "Enter") run(shown[at]);
            else return;
            event.preventDefault();
          }}
        />
      </div>
      <ul id="palette-list" role="listbox" aria-label="Found" className="max-h-[60vh] overflow-y-auto py-1">
        {shown.map((action, index) => (
          <li
            key={action.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            aria-disabled={action.off !== undefined}
            className="grid min-h-9 cursor-pointer grid-cols-[1rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-1 aria-disabled:text-ink-3 aria-selected:bg-fill-2"
            onPointerMove={() => setAt(index)}
            onClick={() => run(action)}
          >
            <Icon name={action.icon} className="text-ink-3" />
            <span className="min-w-0 [overflow-wrap:anywhere]">
              {action.words}
              {action.note === undefined ? null : <span className="ml-2 text-small text-ink-2">{action.note}</span>}
              {action.off === undefined ? null : <span className="ml-2 text-small">{action.off}</span>}
            </span>
            {action.key === undefined ? null : <kbd className="key">{action.key}</kbd>}
          </li>
        ))}
        {shown.length === 0 ? <li className="px-4 py-2 text-ink-3">Nothing is called that.</li> : null}
      </ul>
    </dialog>
  );
}

function rankActions(actions: readonly Action[], text: string): Action[] {
  const words = text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
  return actions.filter((action) => words.every((word) => action.words.toLowerCase().includes(word)));
}

function whyRows(text: string, tree: readonly TreeNode[]): Action[] {
  const asked = /^why(?:\s+is)?\s+(\S+)/iu.exec(text)?.[1]?.toLowerCase();
  if (asked === undefined) return [];
  return tree
    .flatMap((agent) =>
      agent.name.toLowerCase().startsWith(asked) ? [agent.children.find((child) => child.said === agent.said) ?? agent] : [],
    )
    .map((node) => ({
      id: `why:${node.address}`,
      icon: "tree" as const,
      words: `Why is ${node.kind === "session" ? (node.address.split("/")[2] ?? node.name) : node.name} ${node.said.word === "tool" ? "running a tool" : node.said.word}?`,
      note: node.said.sentence,
      run: () => page.select(node.address),
    }));
}
