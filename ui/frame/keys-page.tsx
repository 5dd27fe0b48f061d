/** `?`: every key that does something here. */
import { useEffect, useRef } from "react";
import { page } from "./page-state.ts";

const KEYS: [string, string][] = [
  ["Enter", "send, or put in line"],
  ["Shift Enter", "new line"],
  ["Ctrl Enter", "steer the running turn"],
  ["Esc, Esc", "stop the turn"],
  ["↑ in an empty field", "take back my last queued, else my last message"],
  ["Ctrl K", "search and commands"],
  ["Alt ↑, Alt ↓", "previous, next agent"],
  ["Alt ←, Alt →", "previous, next session"],
  ["G T", "living tree"],
  ["G C", "back to the conversation"],
  ["T", "tree drawer on narrow pages"],
  ["J, K, ← →", "rows and folds in the tree"],
  ["O, S", "open, story of the selected"],
  ["[, ]", "step back, step on in time"],
  ["L, Esc", "from the past back to live"],
  ["Ctrl .", "stop the selected"],
  ["Ctrl Z", "put what was taken back in line again"],
  ["Alt R", "have the last answer read"],
  ["I", "to the message field"],
  ["?", "this page"],
];

export function KeysPage() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => page.showKeys(false);
  const mac = navigator.platform.startsWith("Mac");
  return (
    <dialog
      ref={dialog}
      className="m-auto w-[30rem] max-w-[calc(100vw-1rem)] rounded-3 border border-line-2 bg-raised p-5 text-ink shadow-pop backdrop:bg-black/20"
      aria-labelledby="keys-title"
      onCancel={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <h2 id="keys-title" className="mb-3 text-head font-strong">
        Keys
      </h2>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5">
        {KEYS.map(([key, does]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="key">{mac ? key.replace("Ctrl", "⌘") : key}</kbd>
            </dt>
            <dd className="text-ink-2">{does}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-small text-ink-3">Single letters work outside fields only.</p>
      <div className="mt-4 text-right">
        <button type="button" className="btn" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}
