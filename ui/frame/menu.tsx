/** A small menu that closes by itself: Escape, a press elsewhere, or a choice. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { onKeys } from "./keys.ts";

export function Menu({
  label,
  className,
  button,
  children,
  align = "right",
}: {
  label: string;
  className: string;
  button: ReactNode;
  children: (close: () => void) => ReactNode;
  align?: "left" | "right";
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const away = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) !== true) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    const keys = onKeys({ Escape: () => setOpen(false) });
    return () => {
      document.removeEventListener("pointerdown", away);
      keys();
    };
  }, [open]);
  return (
    <div ref={box} className="relative min-w-0">
      <button
        type="button"
        className={className}
        aria-label={label}
        title={label}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open ? (
        <div
          className={`quiet-scroll absolute top-full z-20 mt-1 max-h-[70vh] w-72 max-w-[calc(100vw-1rem)] overflow-y-auto rounded-3 border border-line-2 bg-raised p-1.5 shadow-pop ${align === "right" ? "right-0" : "left-0"}`}
          role="dialog"
          aria-label={label}
        >
          {children(() => setOpen(false))}
        </div>
      ) : null}
    </div>
  );
}

export function MenuItem({
  icon,
  children,
  note,
  current = false,
  disabled = false,
  onPick,
}: {
  icon?: ReactNode;
  children: ReactNode;
  note?: string;
  current?: boolean;
  disabled?: boolean;
  onPick: () => void;
}) {
  return (
    <button
      type="button"
      disabled={disabled}
      aria-current={current ? "true" : undefined}
      className="flex min-h-8 w-full items-center gap-2 rounded-2 px-2 py-1 text-left hover:not-disabled:bg-fill disabled:text-ink-3 aria-[current]:bg-fill-2 max-rail:min-h-11"
      onClick={onPick}
    >
      {icon}
      <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{children}</span>
      {note === undefined ? null : <span className="text-tiny text-ink-3">{note}</span>}
    </button>
  );
}
