/** One question at a time in a dialog: a line of text, or yes. */
import { useEffect, useRef, useState } from "react";

interface Question {
  title: string;
  note?: string;
  label?: string;
  value?: string;
  placeholder?: string;
  action: string;
}
let open: ((question: Question & { done: (answer: string | null) => void }) => void) | null = null;

/** Resolves with the text (empty for a plain yes), or null when it was left. */
export function ask(question: Question): Promise<string | null> {
  return new Promise((done) => {
    if (open === null) done(null);
    else open({ ...question, done });
  });
}

export function AskDialog() {
  const [question, setQuestion] = useState<(Question & { done: (answer: string | null) => void }) | null>(null);
  const [text, setText] = useState("");
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    open = (next) => {
      setText(next.value ?? "");
      setQuestion(next);
    };
    return () => {
      open = null;
    };
  }, []);
  useEffect(() => {
    if (question !== null) dialog.current?.showModal();
  }, [question]);
  if (question === null) return null;
  const end = (answer: string | null): void => {
    question.done(answer);
    setQuestion(null);
  };
  return (
    <dialog
      ref={dialog}
      className="m-auto w-[26rem] max-w-[calc(100vw-2rem)] rounded-3 border border-line-2 bg-raised p-4 text-ink shadow-pop backdrop:bg-black/30"
      aria-labelledby="ask-title"
      onCancel={(event) => {
        event.preventDefault();
        end(null);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          end(text);
        }}
      >
        <h2 id="ask-title" className="text-title font-strong [overflow-wrap:anywhere]">
          {question.title}
        </h2>
        {question.note === undefined ? null : <p className="mt-1 text-ink-2">{question.note}</p>}
        {question.label === undefined ? null : (
          <label className="mt-3 block text-small text-ink-2">
            {question.label}
            <input
              autoFocus
              className="field mt-1 block w-full text-ui"
              value={text}
              placeholder={question.placeholder}
              onFocus={(event) => event.currentTarget.select()}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="btn bare" onClick={() => end(null)}>
            Leave it
          </button>
          <button type="submit" className="btn main">
            {question.action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
