/** Tool cards: one line each, born at their final height; consecutive ones share a frame. */
import { lazy, Suspense, memo, useEffect, useMemo, useState } from "react";
import { type CallItem, characters, clockSpan, middle, shortSpan } from "../../src/client/index.ts";
import type { CallView } from "../../src/protocol/session-view.ts";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { useClient } from "../hooks/use-client.ts";
import { useClockText } from "../hooks/use-now.ts";
import { CopyButton } from "../frame/copy.tsx";
import { say } from "../frame/toast.tsx";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";
import { aboutOf, cardWords, changesOf, fieldsOf, planOf, resultOf, textOf, type Change } from "./call-words.ts";
import { diffLines, readDiff, type DiffLine } from "./diff.ts";

// There before the first card is opened, and no part of the first load.
const lines = import("./lines.tsx");
const Lines = lazy(() => lines.then((found) => ({ default: found.Lines })));

/** A shortened result up to this size is fetched whole when its card opens. */
const WHOLE_BY_ITSELF = 600_000;

export interface CallContext {
  agent: string;
  session: string;
  live: readonly CallView[];
  activeTurn: string | null;
  frozen: boolean;
}

export function Calls({ calls, context }: { calls: CallItem[]; context: CallContext }) {
  return (
    <div className="overflow-hidden rounded-2 border border-line bg-raised">
      {calls.map((call) => (
        <CallCard
          key={call.callId}
          call={call}
          live={context.live.find((other) => other.callId === call.callId)}
          running={call.turnId === context.activeTurn}
          agent={context.agent}
          session={context.session}
          frozen={context.frozen}
        />
      ))}
    </div>
  );
}

const CallCard = memo(function CallCard({
  call,
  live,
  running,
  agent,
  session,
  frozen,
}: {
  call: CallItem;
  live: CallView | undefined;
  running: boolean;
  agent: string;
  session: string;
  frozen: boolean;
}) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const words = cardWords(call, live, running);
  const open = choice ?? call.ended;
  const about = aboutOf(call.tool, call.input);
  const ms = call.result?.data.ms ?? live?.settled?.ms;
  const edged = words.move !== "none";
  return (
    <div
      className={`relative border-t border-line first:border-t-0 ${edged ? "before:absolute before:inset-y-0 before:left-0 before:w-0.5 before:bg-mark" : ""}`}
      data-move={words.move}
    >
      <button
        type="button"
        className="grid h-(--h-bar) w-full grid-cols-[1rem_auto_minmax(1.5rem,1fr)_auto_0.875rem] items-center gap-2 px-2.5 text-left text-small"
        aria-expanded={open}
        onClick={() => setChoice(!open)}
      >
        <Mark name={words.mark} />
        <span className="max-w-40 truncate font-mono text-meta font-medium">{call.tool}</span>
        <span className="truncate font-mono text-meta text-ink-2" title={about}>
          {middle(about.replace(/\s+/gu, " "), 160)}
        </span>
        <span className="flex gap-2.5 whitespace-nowrap text-ink-3">
          <span className={words.loud ? "font-medium text-word" : "max-rail:hidden"}>{words.word}</span>
          {ms === undefined ? running && live !== undefined ? <Running live={live} frozen={frozen} /> : null : <span>{shortSpan(ms)}</span>}
        </span>
        <Icon name={open ? "down" : "right"} className="!size-3.5 text-ink-3" />
      </button>
      {open ? <CallBody call={call} live={live} agent={agent} session={session} /> : null}
    </div>
  );
});

function Running({ live, frozen }: { live: CallView; frozen: boolean }) {
  const limit = live.limitMs;
  const text = (now: number): string => {
    const ran = now - live.startedAt;
    return limit !== undefined && ran > limit / 2 ? `${clockSpan(ran)} of ${clockSpan(limit)}` : clockSpan(ran);
  };
  const ref = useClockText(text, !frozen);
  return <span ref={ref}>{text(Date.now())}</span>;
}

function CallBody({ call, live, agent, session }: { call: CallItem; live: CallView | undefined; agent: string; session: string }) {
  const client = useClient();
  const [whole, setWhole] = useState<CallItem | null>(null);
  const [wrap, setWrap] = useState(true);
  const seen = whole ?? call;
  const text = useMemo(() => textOf(seen), [seen]);
  const { data, error } = resultOf(seen);
  const changes = changesOf(call);
  const plan = changes.length > 0 ? null : planOf(call);
  const drawn = changes.length > 0 || plan !== null;
  const shortened = call.result?.data.shortened;
  const file = ["full_output_file", "full_stdout_file", "full_stderr_file"]
    .map((key) => data[key])
    .find((path) => typeof path === "string");
  const many = text.length > 2_000 && text.split("\n").length > 40;
  const loadWhole = async (): Promise<void> => {
    if (call.result === null) return;
    const row: HistoryRow = await client.api.row(agent, session, call.result.seq);
    if (row.kind === "tool_result") setWhole({ ...call, result: { ...row, data: withoutShortened(row.data) } });
  };
  const undo = (change: Change): void => {
    client.api.undoChange(agent, change.id).then(
      ({ data: done }) => say(`${done.path} is as it was before.`),
      (failed: unknown) => say(failed instanceof Error ? failed.message : "It could not be put back."),
    );
  };
  const short = shortened !== undefined && shortened.chars <= WHOLE_BY_ITSELF;
  useEffect(() => {
    if (short) void loadWhole().catch(() => undefined); // the shortened one stays, with its button
  }, [short]); // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <>
      <div className="px-2.5 pb-2.5 pl-[2.1875rem] text-small text-ink-2 max-rail:pl-2.5">
        {error !== null ? <ErrorWords error={error} interrupted={call.result?.data.interrupted ?? false} /> : null}
        {call.row?.data.broken === undefined ? null : (
          <p>
            The arguments were {call.row.data.broken.kind === "cut" ? "cut off" : "not valid JSON"}: {call.row.data.broken.error}
          </p>
        )}
        {changes.map((change) => (
          <Diff key={change.id} lines={readDiff(change.diff)} />
        ))}
        {plan !== null ? <Diff lines={diffLines(plan.before, plan.after)} /> : drawn || isObvious(call) ? null : <Input call={call} />}
        {live?.progress === undefined || call.result !== null ? null : <pre className="out whitespace-pre-wrap">{live.progress}</pre>}
        {error === null && !many && text !== "" && !drawn ? (
          <pre
            className={`out quiet-scroll max-h-96 overflow-auto ${wrap ? "[overflow-wrap:anywhere] whitespace-pre-wrap" : ""}`}
            tabIndex={0}
            aria-label="Output"
          >
            {text}
          </pre>
        ) : null}
        {call.result === null && live?.settled === undefined ? null : (
          <div className="mt-1.5 flex flex-wrap items-center gap-x-3.5 gap-y-1 text-meta text-ink-3 empty:hidden">
            {shortened === undefined || whole !== null ? null : (
              <span>
                shortened: {characters(shortened.shown)} of {characters(shortened.chars)}
              </span>
            )}
            {shortened === undefined || whole !== null ? null : (
              <button type="button" className="link" onClick={() => void loadWhole()}>
                Whole row
              </button>
            )}
            {file === undefined ? null : (
              <span>
                whole file: <span className="font-mono text-ink-2">{file}</span>
              </span>
            )}
            {changes.map((change) => (
              <button key={change.id} type="button" className="link" title={change.path} onClick={() => undo(change)}>
                Undo this change{changes.length > 1 ? `: ${middle(change.path, 30)}` : ""}
              </button>
            ))}
            {text === "" || error !== null || drawn ? null : <CopyButton text={() => text} what="output" word />}
            {text.includes("\n") && !many && error === null && !drawn ? (
              <button type="button" className="link" onClick={() => setWrap(!wrap)}>
                {wrap ? "No wrap" : "Wrap"}
              </button>
            ) : null}
          </div>
        )}
      </div>
      {many && error === null && !drawn ? (
        <Suspense fallback={null}>
          <Lines text={text} />
        </Suspense>
      ) : null}
    </>
  );
}

function withoutShortened<Data extends { shortened?: unknown }>(data: Data): Omit<Data, "shortened"> {
  const { shortened: _, ...rest } = data;
  return rest;
}

function ErrorWords({ error, interrupted }: { error: ReturnType<typeof fieldsOf>; interrupted: boolean }) {
  const message = typeof error["message"] === "string" ? error["message"] : "No reason was given.";
  return (
    <div className="[overflow-wrap:anywhere]">
      {interrupted ? (
        <p>
          Outcome unknown: the server died while it ran. It was <b>not run again</b>.
        </p>
      ) : null}
      <p className="whitespace-pre-wrap">{message}</p>
      {typeof error["hint"] === "string" ? <p className="text-ink-3">{error["hint"]}</p> : null}
    </div>
  );
}

/** An input the bar already says whole is not said again. */
function isObvious(call: CallItem): boolean {
  const fields = fieldsOf(call.input);
  const about = aboutOf(call.tool, call.input);
  return Object.keys(fields).length <= 1 && about.length < 60 && !about.includes("\n");
}

function Input({ call }: { call: CallItem }) {
  const fields = Object.entries(fieldsOf(call.input));
  if (fields.length === 0) return null;
  return (
    <dl className="mb-1.5 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 text-meta">
      {fields.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="font-mono text-ink-3">{name}</dt>
          <dd className="font-mono [overflow-wrap:anywhere] whitespace-pre-wrap text-ink">
            {typeof value === "string" ? value : JSON.stringify(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Diff({ lines }: { lines: DiffLine[] }) {
  return (
    <pre className="out quiet-scroll max-h-96 overflow-auto" tabIndex={0} aria-label="Change">
      {lines.slice(0, 400).map((line, at) => (
        <span
          key={at}
          className={`block w-max min-w-full pr-2 ${line.sign === "+" ? "bg-fill text-ink" : line.sign === "-" ? "text-ink-3 line-through decoration-line-2" : ""}`}
        >
          <span className="inline-block w-4 select-none">{line.sign === "-" ? "−" : line.sign}</span>
          {line.text}
        </span>
      ))}
      {lines.length > 400 ? <span className="block text-ink-3">and {lines.length - 400} lines more</span> : null}
    </pre>
  );
}
