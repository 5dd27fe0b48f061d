/** Keys of the page. Handlers stack: the newest that says it took a key ends the matter. Single letters work outside fields only. */
type Handlers = Record<string, (event: KeyboardEvent) => boolean | void>;
const stack: Handlers[] = [];

export function nameOf(event: KeyboardEvent): string {
  const graph = event.getModifierState("AltGraph"); // the key that makes a bracket on many keyboards says Ctrl and Alt too
  const parts = [
    !graph && (event.ctrlKey || event.metaKey) ? "Ctrl" : "",
    event.altKey && !graph ? "Alt" : "",
    event.shiftKey && event.key.length > 1 ? "Shift" : "",
    event.key.length === 1 && !graph && (event.ctrlKey || event.metaKey) ? event.key.toLowerCase() : event.key,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

export function onKeys(handlers: Handlers): () => void {
  stack.push(handlers);
  return () => void stack.splice(stack.indexOf(handlers), 1);
}

export function listenForKeys(): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.isComposing || event.defaultPrevented) return;
    const name = nameOf(event);
    const inField = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, [contenteditable]") !== null;
    if (inField && name.length === 1) return;
    for (const handlers of stack.toReversed()) {
      const run = handlers[name];
      if (run === undefined || run(event) === false) continue;
      event.preventDefault();
      return;
    }
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
}
