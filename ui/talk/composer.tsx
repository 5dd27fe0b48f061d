/** Your words. Send and Queue are one button at one place; Steer is a second one while a turn runs; Stop is never in here. */
import { useEffect, useImperativeHandle, useRef, useState, type KeyboardEvent, type Ref } from "react";
import { middle, ordinal } from "../../src/client/index.ts";
import { useClient } from "../hooks/use-client.ts";
import { Icon } from "../marks/icon.tsx";

export interface ComposerHandle {
  focus(): void;
  /** Puts text in front of what is there; `undo` (Ctrl Z, as long as it stands there) takes it out again and calls `again`. */
  put(text: string, again?: () => void): void;
  undo(): void;
}
interface Props {
  handle: Ref<ComposerHandle>;
  agent: string;
  session: string;
  /** `down`: kept here and sent once. */
  state: "live" | "down";
  running: boolean;
  /** The tool a steer would go in after. */
  after: string | null;
  waiting: number;
  blocked: string | null;
  /** The tree shows the past. */
  past: boolean;
  onSend: (text: string, steer: boolean) => void;
  /** ↑ in an empty field. */
  onUp: () => boolean;
}

const DRAFT_EVERY = 250;

export function Composer({ handle, agent, session, state, running, after, waiting, blocked, past, onSend, onUp }: Props) {
  const { drafts } = useClient();
  const [text, setText] = useState(() => drafts.read(agent, session));
  const field = useRef<HTMLTextAreaElement>(null);
  const saved = useRef(text);
  const put = useRef<{ whole: string; before: string; again: () => void } | null>(null);

  useEffect(() => {
    if (saved.current === text) return undefined;
    const keep = (): void => {
      saved.current = text;
      drafts.write(agent, session, text);
    };
    const timer = setTimeout(keep, DRAFT_EVERY);
    window.addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", keep);
      keep();
    };
  }, [drafts, agent, session, text]);

  useImperativeHandle(
    handle,
    () => ({
      focus: () => field.current?.focus(),
      put(more, again) {
        const before = field.current?.value ?? "";
        const whole = before.trim() === "" ? more : `${more}\n${before}`;
        put.current = again === undefined ? null : { whole, before, again };
        setText(whole);
        field.current?.focus();
      },
      undo: () => void undo(),
    }),
    [],
  );
  const undo = (): boolean => {
    const last = put.current;
    put.current = null;
    if (last === null || field.current?.value !== last.whole) return false;
    setText(last.before);
    last.again();
    return true;
  };

  const can = text.trim() !== "" && blocked === null;
  const give = (steer: boolean): void => {
    if (!can) return;
    onSend(text.trim(), steer && running && state === "live");
    setText("");
    saved.current = "";
    drafts.write(agent, session, "");
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      give(event.ctrlKey || event.metaKey);
    } else if (event.key === "z" && (event.ctrlKey || event.metaKey) && undo()) event.preventDefault();
    else if (event.key === "ArrowUp" && text === "" && onUp()) event.preventDefault();
  };
  const place = waiting + (running ? 1 : 0);
  const down = state === "down";
  const label = down ? "Keep" : place === 0 ? "Send" : place === 1 ? "Queue next" : `Queue ${ordinal(place)}`;
  const tells =
    blocked ??
    (down
      ? "Sent once, when the server is back."
      : past
        ? "Messages go to the present"
        : running
          ? can
            ? `Steer goes in ${after === null ? "at the next step" : `after ${after}`}.`
            : `A message now runs ${place === 1 ? "next" : ordinal(place)}.`
          : "");
  return (
    <div
      className={`composer rounded-3 border border-edge bg-raised shadow-flat has-[textarea:focus-visible]:border-ink-2 ${down ? "border-dashed" : ""}`}
    >
      <textarea
        ref={field}
        rows={1}
        value={text}
        placeholder={`Message to ${middle(agent, 24)}`}
        aria-label={`Message to ${agent}`}
        enterKeyHint="send"
        className="quiet-scroll block max-h-[40vh] min-h-9 w-full resize-none bg-transparent px-3.5 pt-2.5 pb-1 text-prose leading-[1.375rem] field-sizing-content placeholder:text-ink-3 focus-visible:outline-none"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="flex min-w-0 items-center gap-1.5 px-2 pt-1 pb-2 pl-3.5">
        <span className="min-w-0 flex-1 truncate text-meta text-ink-3" title={tells}>
          <span className={running && !down && !past ? "max-rail:hidden" : ""}>{tells}</span>
          {past && !down && blocked === null ? <span className="max-rail:hidden">; the tree shows the past</span> : null}
        </span>
        {running && !down ? (
          <button type="button" className="btn" disabled={!can} onClick={() => give(true)}>
            <Icon name="steer" />
            Steer <kbd className="key max-wide:hidden">Ctrl Enter</kbd>
          </button>
        ) : null}
        <button type="button" className="btn main" disabled={!can} onClick={() => give(false)}>
          <Icon name={down ? "clock" : place === 0 ? "send" : "queue"} />
          {label} <kbd className="key max-wide:hidden">Enter</kbd>
        </button>
      </div>
    </div>
  );
}
