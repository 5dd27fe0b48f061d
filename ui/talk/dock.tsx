/** Below the log: what happens now in one sentence, what comes next, and your words. */
import { useState, type ReactNode } from "react";
import { clockSpan, type Outgoing, sentenceOf, unseen } from "../../src/client/index.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import type { SessionView } from "../../src/protocol/session-view.ts";
import { useNow } from "../hooks/use-now.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";

export function Slot({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="entry mt-1.5 first:mt-0">
      <span className="text-tiny leading-[2.125rem] text-ink-3 max-rail:hidden" aria-hidden="true">
        {name}
      </span>
      <div className="min-w-0">{children}</div>
    </div>
  );
}

export interface NowProps {
  view: SessionView;
  actor: ActorView | null;
  /** The call the turn waits in, when all it does is wait. */
  waitsIn: ActorView | null;
  frozenAt: number | null;
  stopping: boolean;
  /** The first Escape was pressed. */
  armed: boolean;
  /** What became of the last stop, in words. */
  stopSaid: string | null;
  onStop: () => void;
  onResume: () => void;
  onHold: (hold: boolean) => void;
}

export function NowLine({ view, actor, waitsIn, frozenAt, stopping, armed, stopSaid, onStop, onResume, onHold }: NowProps) {
  const live = frozenAt === null;
  const now = useNow(live, frozenAt);
  const said = sentenceOf(
    waitsIn === null || stopping ? { actor, session: view, now, frozenAt, stopping } : { actor: waitsIn, now, frozenAt },
  );
  const runs = view.active !== null;
  const yours = said.move === "you" && (!runs || view.parked !== null);
  const sentence = armed
    ? "Escape again stops this turn."
    : stopSaid !== null && !runs && view.queue.length > 0
      ? `${stopSaid} The next message starts now.`
      : said.sentence;
  const [lead, rest] = bold(sentence);
  return (
    <div
      className={`grid min-h-9 grid-cols-[1rem_minmax(0,1fr)_auto] items-center gap-x-2.5 rounded-2 py-0.5 pr-0.5 pl-2.5 max-rail:min-h-11 ${yours ? "border border-you-line bg-you-tint" : ""}`}
      data-move={said.move}
      role="group"
      aria-label="Now"
    >
      <Mark name={said.mark} still={!said.moves} />
      <span className="min-w-0 [overflow-wrap:anywhere] max-rail:line-clamp-2">
        <b className={`font-strong ${said.move === "none" ? "text-ink" : "text-word"}`}>{lead}</b>
        {rest}
      </span>
      <span className="flex items-center gap-3 text-meta text-ink-3">
        {view.active === null ? null : <span className="max-rail:hidden">{clockSpan(now - view.active.startedAt)}</span>}
        {view.parked !== null ? (
          <button type="button" className="btn small main" disabled={!live} onClick={onResume}>
            <Icon name="play" />
            Resume
          </button>
        ) : null}
        {view.held && view.parked === null ? (
          <button type="button" className="btn small" disabled={!live} onClick={() => onHold(false)}>
            <Icon name="play" />
            Release
          </button>
        ) : null}
        {!view.held && !runs && view.queue.length > 0 && view.parked === null ? (
          <button type="button" className="btn small" disabled={!live} onClick={() => onHold(true)}>
            <Icon name="pause" />
            Hold it
          </button>
        ) : null}
        {runs ? (
          <button type="button" className="btn small" disabled={!live || stopping} onClick={onStop} title="Esc Esc">
            <Icon name="stop" className="!size-3.5" />
            {stopping ? "Stopping" : "Stop"}
          </button>
        ) : null}
      </span>
    </div>
  );
}

/** The first words carry: up to the first of `. : ; ,` or a preposition. */
function bold(sentence: string): [string, string] {
  const was = /^At \d\d:\d\d:\d\d/u.exec(sentence)?.[0];
  if (was !== undefined) return [was, sentence.slice(was.length)];
  const cut = /^[^\s.:;,]+(?= runs| and \d| for| since|[.:;,])|^[^\s.:;,]+/u.exec(sentence)?.[0] ?? "";
  return [cut, sentence.slice(cut.length)];
}

export interface NextProps {
  view: SessionView;
  outbox: readonly Outgoing[];
  live: boolean;
  onTakeBack: (turnId: string, text: string) => void;
  onSteer: (turnId: string) => void;
  onDrop: (clientKey: string) => void;
  onAgain: (clientKey: string) => void;
}

/** A queue of hundreds is drawn whole only when somebody asks for it. */
const QUEUE_SHOWN = 30;

export function NextRows({ view, outbox, live, onTakeBack, onSteer, onDrop, onAgain }: NextProps) {
  const [all, setAll] = useState(false);
  const own = unseen(outbox, view);
  const tool = view.active?.calls.find((call) => call.settled === undefined)?.tool ?? null;
  const total = view.queue.length + own.length;
  if (total === 0 && view.steers.length === 0) return null;
  const offset = view.active === null ? 1 : 0;
  const shown = all ? view.queue : view.queue.slice(0, QUEUE_SHOWN);
  const hidden = view.queue.length - shown.length;
  return (
    <Slot name="next">
      <ul
        className={`quiet-scroll max-h-[30vh] overflow-y-auto text-small [&>li+li]:border-t [&>li+li]:border-line ${all ? "" : "max-rail:[&>li:nth-child(n+2):not(:last-child)]:hidden"}`}
        aria-label="Next"
      >
        {view.steers.map((steer) => (
          <Row
            key={steer.steerId}
            no=""
            who="steering"
            text={steer.text}
            note={(steer.after ?? tool) === null ? "goes in at the next step" : `goes in when ${steer.after ?? tool} ends`}
          >
            <button type="button" className="btn bare small" disabled={!live} onClick={() => onTakeBack(steer.steerId, steer.text)}>
              <Icon name="back" />
              <span className="max-rail:sr-only">Take back</span>
            </button>
          </Row>
        ))}
        {shown.map((entry, at) => (
          <Row
            key={entry.turnId}
            no={String(at + (view.active === null ? offset : 1))}
            who={entry.origin.kind === "human" ? "you" : String(entry.origin["from"] ?? entry.origin.kind)}
            text={entry.preview}
          >
            {entry.origin.kind === "human" && view.active !== null ? (
              <button type="button" className="btn bare small" disabled={!live} onClick={() => onSteer(entry.turnId)}>
                <Icon name="steer" />
                <span className="max-rail:sr-only">Steer in</span>
              </button>
            ) : null}
            <button type="button" className="btn bare small" disabled={!live} onClick={() => onTakeBack(entry.turnId, entry.preview)}>
              <Icon name="back" />
              <span className="max-rail:sr-only">Take back</span>
            </button>
          </Row>
        ))}
        {own.map((entry) => (
          <Row
            key={entry.clientKey}
            no=""
            who={entry.state === "refused" ? "refused" : entry.state === "kept" ? "kept here" : "sending"}
            text={entry.text === "" ? "the same message again" : entry.text}
            bad={entry.state === "refused"}
            {...(entry.error === undefined
              ? {}
              : { note: `${entry.error.message}${entry.error.hint === undefined ? "" : ` ${entry.error.hint}`}` })}
          >
            {entry.state === "refused" ? (
              <button type="button" className="btn bare small" onClick={() => onAgain(entry.clientKey)}>
                <Icon name="restart" />
                <span className="max-rail:sr-only">Try again</span>
              </button>
            ) : null}
            {entry.state === "refused" || entry.state === "kept" ? (
              <button type="button" className="btn bare small" onClick={() => onDrop(entry.clientKey)}>
                <Icon name="back" />
                <span className="max-rail:sr-only">Take back</span>
              </button>
            ) : null}
          </Row>
        ))}
        <li className={all || total + view.steers.length < 2 ? "hidden" : hidden > 0 ? "" : "rail:hidden"}>
          <button type="button" className="flex min-h-11 w-full items-center gap-1.5 text-ink-2" onClick={() => setAll(true)}>
            <span className="rail:hidden">{total + view.steers.length - 1} more</span>
            <span className="max-rail:hidden">{hidden} more</span>
            <Icon name="down" />
          </button>
        </li>
      </ul>
    </Slot>
  );
}

function Row({
  no,
  who,
  text,
  note,
  bad = false,
  children,
}: {
  no: string;
  who: string;
  text: string;
  note?: string;
  bad?: boolean;
  children: ReactNode;
}) {
  return (
    <li className="py-px" data-move={bad ? "bad" : "none"}>
      <div className="grid min-h-8 grid-cols-[1.25rem_auto_minmax(0,1fr)_auto] items-center gap-2 pl-2.5 hover:bg-fill max-rail:min-h-11 max-rail:pl-0.5">
        <span className="text-meta text-ink-3">{no}</span>
        <span className="text-word">{who}</span>
        <span className="truncate">{text}</span>
        <span className="flex gap-0.5">{children}</span>
      </div>
      {note === undefined ? null : (
        <p className={`pb-1.5 pl-[2.375rem] text-meta [overflow-wrap:anywhere] ${bad ? "text-bad" : "text-ink-3"}`}>{note}</p>
      )}
    </li>
  );
}
