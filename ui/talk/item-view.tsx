/** One row of the conversation. */
import { memo, useState, type ReactNode } from "react";
import { atTime, clockTime, count, grouped, type Item, money, ofEnd, shortSpan, spanWords } from "../../src/client/index.ts";
import type { Origin } from "../../src/protocol/history.ts";
import { CopyButton } from "../frame/copy.tsx";
import { Icon, type IconName } from "../marks/icon.tsx";
import { Menu } from "../frame/menu.tsx";
import { Mark } from "../marks/mark.tsx";
import { Calls, type CallContext } from "./call-card.tsx";
import { Prose } from "./prose.tsx";
import { Models } from "./talk-head.tsx";

export interface ItemContext extends CallContext {
  onRetry: (turnId: string) => void;
  onGoOn: () => void;
  rehearsal: boolean;
}

export const ItemView = memo(function ItemView({ item, context }: { item: Item; context: ItemContext }) {
  switch (item.kind) {
    case "said":
      return <Said row={item.row} after={item.after} />;
    case "text":
      return item.superseded ? (
        <Attempt text={item.text} attempt={item.attempt} />
      ) : (
        <Entry>
          <Prose text={item.text} open={item.open} />
        </Entry>
      );
    case "thought":
      return (
        <Entry tight>
          <Thought text={item.text} open={item.open} ms={item.ms} interrupted={item.interrupted} />
        </Entry>
      );
    case "calls":
      return (
        <Entry>
          <Calls calls={item.calls} context={context} />
        </Entry>
      );
    case "notice":
      return <Notice at={item.row.at} data={item.row.data} />;
    case "end":
      return <End item={item} context={context} />;
  }
});

function Entry({ time, tight = false, children }: { time?: number; tight?: boolean; children: ReactNode }) {
  return (
    <div className={`entry ${tight ? "py-0.5" : "py-1.5"}`}>
      {time === undefined ? (
        <span className="max-rail:hidden" />
      ) : (
        <time
          className="pt-1.5 text-tiny leading-(--l-prose) text-ink-3 max-rail:mb-0.5 max-rail:pt-0"
          dateTime={new Date(time).toISOString()}
          title={new Date(time).toLocaleString()}
        >
          {clockTime(time)}
        </time>
      )}
      <div className="min-w-0">{children}</div>
    </div>
  );
}

function Said({ row, after }: Pick<Extract<Item, { kind: "said" }>, "row" | "after">) {
  const { text, steer, origin } = row.data;
  const other = origin.kind !== "human";
  return (
    <Entry time={row.at}>
      {other ? <Divider icon="wake" text={originWords(origin)} /> : null}
      <div
        className={`group relative mt-1.5 rounded-3 px-3.5 py-2 text-prose [overflow-wrap:anywhere] whitespace-pre-wrap ${steer === true || other ? "border border-line-2" : "bg-fill"}`}
      >
        {steer === true ? (
          <div className="mb-0.5 flex items-center gap-1.5 text-tiny text-ink-3">
            <Icon name="steer" className="!size-3.5" />
            You steered at {clockTime(row.at)}
            {after === null ? "" : `, after ${after}`}
          </div>
        ) : null}
        {text}
      </div>
    </Entry>
  );
}

function originWords(origin: Origin): string {
  const from = typeof origin["from"] === "string" ? origin["from"] : null;
  const words: Record<Origin["kind"], string> = {
    human: "You",
    agent: `Asked by ${from ?? "another agent"}`,
    subagent: `From sub-agent ${from ?? ""}`,
    sentinel: "A schedule fired",
    tmux: "A terminal wants attention",
    browser: "The browser was handed back",
    voice: "Spoken",
    wake: "Woken: work it waited for is done",
  };
  return words[origin.kind];
}

function Thought({ text, open, ms, interrupted }: { text: string; open: boolean; ms: number | undefined; interrupted: boolean }) {
  const [unfolded, setUnfolded] = useState(false);
  const line = open ? lastLine(text) : firstSentence(text);
  const lead = interrupted ? "Thought, interrupted" : open ? "Thinks" : ms === undefined ? "Thought" : `Thought for ${spanWords(ms)}`;
  return (
    <div>
      <button
        type="button"
        className="flex h-[1.625rem] max-w-full items-center gap-2 text-small text-ink-3 hover:text-ink-2 max-rail:h-10"
        aria-expanded={unfolded}
        onClick={() => setUnfolded(!unfolded)}
      >
        <Icon name={unfolded ? "down" : "right"} className="!size-3.5" />
        <span className="truncate">
          {lead}
          {line === "" ? "" : `: ${line}`}
        </span>
      </button>
      {unfolded ? (
        <div className="mb-2 ml-[0.4375rem] border-l border-line-2 pl-4 text-ui [overflow-wrap:anywhere] whitespace-pre-wrap text-ink-2">
          {text}
        </div>
      ) : null}
    </div>
  );
}

function firstSentence(text: string): string {
  const flat = text.slice(0, 400).replace(/\s+/gu, " ").trim();
  return /^.*?[.!?。](?=\s|$)/u.exec(flat)?.[0] ?? flat.slice(0, 200);
}
function lastLine(text: string): string {
  return text.slice(-400).trimEnd().split("\n").at(-1)?.slice(-200).trim() ?? "";
}

function Attempt({ text, attempt }: { text: string; attempt: number }) {
  const [unfolded, setUnfolded] = useState(false);
  return (
    <Entry tight>
      <button
        type="button"
        className="flex min-h-[1.625rem] items-center gap-2 text-left text-small text-ink-3 hover:text-ink-2"
        aria-expanded={unfolded}
        onClick={() => setUnfolded(!unfolded)}
      >
        <Icon name={unfolded ? "down" : "right"} className="!size-3.5" />
        <span>
          <b className="font-strong text-ink-2">Attempt {attempt}</b>, interrupted after {grouped(text.length)} characters; the model does
          not see it
        </span>
      </button>
      {unfolded ? (
        <div className="mt-1 text-ink-3">
          <Prose text={text} />
        </div>
      ) : null}
    </Entry>
  );
}

export function Divider({ icon, text, more = "" }: { icon: IconName; text: ReactNode; more?: string }) {
  return (
    <div className="flex items-center gap-2 py-1 text-small text-ink-2 after:h-px after:min-w-4 after:flex-1 after:bg-line">
      <Icon name={icon} className="text-ink-3" />
      <span className="[overflow-wrap:anywhere]">
        {text}
        {more}
      </span>
    </div>
  );
}

function Notice({ at, data }: { at: number; data: { kind: string; text?: string | undefined } }) {
  const icon: IconName = /resum|restart|attempt|retry|again/u.test(data.kind)
    ? "restart"
    : /model/u.test(data.kind)
      ? "model"
      : /wake/u.test(data.kind)
        ? "wake"
        : /limit|wait|429/u.test(data.kind)
          ? "clock"
          : "note";
  return (
    <Entry time={at} tight>
      <Divider icon={icon} text={data.text ?? data.kind.replaceAll(/[._]/gu, " ")} />
    </Entry>
  );
}

function End({ item, context }: { item: Extract<Item, { kind: "end" }>; context: ItemContext }) {
  const { data, at, turnId } = item.row;
  const said = ofEnd(item.row, Date.now());
  const failed = data.outcome === "failed";
  const cut = data.outcome === "partial";
  const { usage } = data;
  const tokens = `${grouped(usage.input)} in, ${grouped(usage.output)} out${usage.cacheRead > 0 ? `, ${grouped(usage.cacheRead)} from cache` : ""}${usage.reasoning > 0 ? `, ${grouped(usage.reasoning)} reasoning` : ""}${usage.estimated === true ? ", estimated" : ""}`;
  return (
    <Entry tight>
      {failed || cut || data.outcome === "degraded" ? (
        <div
          className={`mb-1 rounded-2 border px-3.5 py-2 ${said.move === "bad" ? "border-bad-line bg-bad-tint" : "border-you-line bg-you-tint"}`}
          data-move={said.move}
        >
          <p className="[overflow-wrap:anywhere] text-ink">{said.sentence}</p>
          {data.error?.hint === undefined || !item.newest || data.error.hint === "Try again." ? null : (
            <p className="text-small [overflow-wrap:anywhere] text-ink-2">{data.error.hint}</p>
          )}
          {item.newest && turnId !== null && context.activeTurn === null ? (
            <div className="mt-1.5 flex flex-wrap gap-2">
              {failed || data.outcomeReason === "cut" ? (
                <button type="button" className="btn small" disabled={context.frozen} onClick={() => context.onRetry(turnId)}>
                  <Icon name="restart" />
                  Try again
                </button>
              ) : null}
              {failed ? (
                <Menu
                  label="Try again with another model"
                  className="btn small"
                  align="left"
                  button={
                    <>
                      <Icon name="model" />
                      With another model
                    </>
                  }
                >
                  {(close) => (
                    <Models
                      agent={context.agent}
                      session={context.session}
                      model={null}
                      running={null}
                      live={!context.frozen}
                      close={close}
                      then={() => context.onRetry(turnId)}
                    />
                  )}
                </Menu>
              ) : null}
              {cut ? (
                <button type="button" className="btn small" disabled={context.frozen} onClick={context.onGoOn}>
                  <Icon name="right" />
                  Go on
                </button>
              ) : null}
            </div>
          ) : null}
        </div>
      ) : null}
      <div className="group flex min-h-6 flex-wrap items-center gap-x-3 gap-y-0.5 text-meta text-ink-3" data-move={said.move}>
        <span className="inline-flex items-center gap-1.5">
          <Mark name={said.mark} className="!size-3.5" />
          <b className={`font-strong ${said.move === "none" ? "text-ink-2" : "text-word"}`}>{said.word}</b>
        </span>
        {data.outcome === "cancelled" ? <span>{said.sentence.replace(/\.$/u, "").replace(/^C/u, "c")}</span> : null}
        {(data.toolCalls ?? 0) > 0 ? <span>{count(data.toolCalls ?? 0, "tool")}</span> : null}
        {data.ms === undefined ? null : <span>{data.ms < 10_000 ? shortSpan(data.ms) : spanWords(data.ms)}</span>}
        {usage.input + usage.cacheRead + usage.cacheWrite + usage.output === 0 ? null : (
          <span title={tokens}>
            {grouped(usage.input + usage.cacheRead + usage.cacheWrite)} in, {grouped(usage.output)} out
          </span>
        )}
        <span>{context.rehearsal && data.costUsd === 0 ? "rehearsal, no cost" : money(data.costUsd)}</span>
        <span className="sr-only">{atTime(at, Date.now())}</span>
        <span className="ml-auto opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
          {item.answer === "" ? null : <CopyButton text={() => item.answer} what="answer" />}
        </span>
      </div>
    </Entry>
  );
}
