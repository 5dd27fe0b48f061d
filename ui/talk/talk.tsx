/** The conversation: head, log, dock. */
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Item, RequestFailed, sentenceOf, tenthTime, timelineOf, timeOf } from "../../src/client/index.ts";
import type { AgentLine } from "../../src/protocol/frames.ts";
import { sessionAddress } from "../../src/protocol/ids.ts";
import type { CallView, SessionView } from "../../src/protocol/session-view.ts";
import { say } from "../frame/toast.tsx";
import { onKeys } from "../frame/keys.ts";
import { useActors, useAgents, useClient, useFrozenAt, useLink, useOutbox, usePast, useSession } from "../hooks/use-client.ts";
import { findNode, useTree } from "../hooks/use-tree.ts";
import { Icon } from "../marks/icon.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { NextRows, NowLine, Slot } from "./dock.tsx";
import { ExecHint } from "./exec-hint.tsx";
import { Divider, ItemView, type ItemContext } from "./item-view.tsx";
import { Log, type LogHandle } from "./log.tsx";
import { TalkHead } from "./talk-head.tsx";

// Most conversations are not empty: it comes at once, but not with the first load.
const firstRun = import("./first-run.tsx");
const FirstRun = lazy(() => firstRun.then((found) => ({ default: found.FirstRun })));

/** Where the tree stands in time, as a row of the log. */
interface Moment {
  kind: "moment";
  key: "moment";
  at: number;
}

const NO_CALLS: CallView[] = [];
const GO_ON = "Go on from where you stopped.";

export function Talk({ agent, session, row }: { agent: string; session: string; row: number | null }) {
  const { view, refused } = useSession(agent, session);
  const agents = useAgents();
  const line = agents.find((other) => other.name === agent);
  const link = useLink();
  if (view === null) {
    return (
      <main className="flex min-h-0 min-w-0 flex-col [grid-area:talk] max-rail:[grid-area:1/1/5/2]">
        <TalkHead agent={agent} session={session} view={null} line={line} />
        <div className="lane flex-1 py-6 text-ink-2" role="status">
          {refused !== null ? (
            <Nowhere agent={agent} session={session} known={line} />
          ) : link.status === "live" || link.status === "connecting" ? (
            "Asking the server."
          ) : (
            "No connection to the server; nothing of this conversation is here yet."
          )}
        </div>
      </main>
    );
  }
  return <Open key={`${agent}/${session}`} view={view} line={line} row={row} />;
}

function Nowhere({ agent, session, known }: { agent: string; session: string; known: AgentLine | undefined }) {
  const client = useClient();
  if (known === undefined)
    return (
      <p>
        There is no agent {agent} here.{" "}
        <a className="link" href="#/">
          See who is.
        </a>
      </p>
    );
  return (
    <div>
      <p>
        {agent} has no session {session}.
      </p>
      <button
        type="button"
        className="btn mt-3"
        onClick={() => void client.api.createSession(agent, session).catch((error: unknown) => say(wordsOf(error)))}
      >
        Begin it
      </button>
    </div>
  );
}

function wordsOf(error: unknown): string {
  if (error instanceof RequestFailed) return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}

function Open({ view, line, row }: { view: SessionView; line: AgentLine | undefined; row: number | null }) {
  const { agent, session } = view;
  const client = useClient();
  const frozenAt = useFrozenAt();
  const outbox = useOutbox(agent, session);
  const actor = useActors().find((other) => other.address === sessionAddress(agent, session)) ?? null;
  const speaker = findNode(useTree(), sessionAddress(agent, session))?.speaker;
  const log = useRef<LogHandle>(null);
  const composer = useRef<ComposerHandle>(null);
  const [behind, setBehind] = useState<number | null>(null);
  const [stopping, setStopping] = useState<string | null>(null);
  const [stopSaid, setStopSaid] = useState<string | null>(null);
  const [armed, setArmed] = useState(false);
  const items = useMemo(() => timelineOf(view), [view]);
  const { at: pastAt } = usePast();
  const rows = useMemo(() => withMoment(items, pastAt), [items, pastAt]);
  const led = useRef(false);
  useEffect(() => {
    // Who reads something keeps it; who was at the end is led to the moment and back.
    if (pastAt !== null && (led.current || behind === null)) {
      led.current = true;
      log.current?.toKey("moment");
    } else if (pastAt === null && led.current) {
      led.current = false;
      log.current?.toEnd();
    }
  }, [pastAt]); // eslint-disable-line react-hooks/exhaustive-deps
  const live = frozenAt === null;
  const active = view.active;
  const turnId = active?.turnId ?? null;

  const newest = view.rows.at(-1)?.seq ?? 0;
  useEffect(() => {
    const seen = (): void => {
      if (document.visibilityState === "visible" && newest > 0) client.unread.mark(agent, session, newest);
    };
    seen();
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, [client, agent, session, newest]);

  useEffect(() => {
    if (row !== null) log.current?.toKey(`r:${row}`);
  }, [row]);

  const stop = useCallback(async (): Promise<void> => {
    if (turnId === null || !live) return;
    setArmed(false);
    setStopping(turnId);
    setStopSaid(null);
    try {
      const answer = await client.api.abort(agent, session, turnId);
      if (answer.stuck !== undefined && answer.stuck.length > 0)
        say(`${answer.stuck.map((one) => `${one.command} (pid ${one.pid})`).join(", ")} does not die. The session goes on.`);
      else setStopSaid(answer.aborted ? "Stopped." : answer.stalled === true ? "Stopped; the disk has not taken it yet." : null);
    } catch (error) {
      say(wordsOf(error));
    } finally {
      setStopping(null);
    }
  }, [client, agent, session, turnId, live]);
  useEffect(() => setArmed(false), [turnId]);
  useEffect(() => {
    if (!armed) return undefined;
    const timer = setTimeout(() => setArmed(false), 1500);
    return () => clearTimeout(timer);
  }, [armed]);
  useEffect(
    () =>
      onKeys({
        Escape: () => {
          if (turnId === null || !live || client.past.at !== null) return false;
          if (armed) void stop();
          else setArmed(true);
          return true;
        },
      }),
    [client, armed, stop, turnId, live],
  );

  const send = (text: string, steer: boolean): void => {
    setStopSaid(null);
    client.outbox.add({ agent, session, text, steer });
    log.current?.toEnd();
  };
  const context: ItemContext = useMemo(
    () => ({
      agent,
      session,
      frozen: !live,
      live: active?.calls ?? NO_CALLS,
      activeTurn: turnId,
      rehearsal: line?.rehearsal ?? false,
      onRetry: (failed) => {
        client.outbox.add({ agent, session, text: "", retryOf: failed });
        log.current?.toEnd();
      },
      onGoOn: () => {
        client.outbox.add({ agent, session, text: GO_ON });
        log.current?.toEnd();
      },
    }),
    [client, agent, session, live, active?.calls, turnId, line?.rehearsal],
  );

  const takeBack = async (id: string, preview: string): Promise<void> => {
    try {
      const answer = await client.api.takeBack(id);
      const text = answer.text === "" ? preview : answer.text;
      const again = (): void => void client.outbox.add({ agent, session, text });
      composer.current?.put(text, again);
      say("Taken back into the composer.", { word: "Put it back in line", run: () => composer.current?.undo() });
    } catch (error) {
      say(wordsOf(error));
    }
  };
  const asked = (request: Promise<unknown>): void => void request.catch((error: unknown) => say(wordsOf(error)));
  const running = active?.calls.find((call) => call.settled === undefined);
  const lastOwn = (): string | null => {
    const said = view.rows.findLast((other) => other.kind === "user_message" && other.data.origin.kind === "human");
    return said?.kind === "user_message" ? said.data.text : null;
  };
  const empty = items.length === 0 && active === null && view.queue.length === 0 && outbox.length === 0;
  const guess = useCallback((item: Item | Moment) => (item.kind === "moment" ? 30 : guessHeight(item)), []);
  const onTop = useCallback(() => void client.older(agent, session).catch(() => undefined), [client, agent, session]);

  return (
    <main className="relative flex min-h-0 min-w-0 flex-col [grid-area:talk] max-rail:[grid-area:1/1/5/2]">
      <TalkHead agent={agent} session={session} view={view} line={line} />
      {empty ? (
        <div className="quiet-scroll min-h-0 flex-1 overflow-y-auto">
          <Suspense fallback={null}>
            <FirstRun agent={agent} line={line} parked={view.parked !== null} onStart={(text) => send(text, false)} />
          </Suspense>
        </div>
      ) : (
        <Log
          handle={log}
          name={`${agent}/${session}`}
          items={rows}
          guess={guess}
          onTop={onTop}
          onBehind={setBehind}
          render={(item) =>
            item.kind === "moment" ? (
              <div className="entry py-0.5">
                <span className="max-rail:hidden" />
                <Divider
                  icon="clock"
                  text={<b className="font-strong text-ink">{tenthTime(item.at)}</b>}
                  more=", the moment the tree shows"
                />
              </div>
            ) : (
              <div className={pastAt !== null && timeOf(item) > pastAt ? "later" : undefined}>
                <ItemView item={item} context={item.kind === "calls" || item.kind === "end" ? context : QUIET} />
              </div>
            )
          }
          head={
            <div className="lane py-2 text-center text-tiny text-ink-3">{view.hasMore ? "Older messages come as you scroll." : ""}</div>
          }
        />
      )}
      <div className="relative z-1 border-t border-line bg-canvas pt-2 pb-3 max-rail:pt-1.5 max-rail:pb-[max(0.625rem,env(safe-area-inset-bottom))]">
        {behind === null ? null : (
          <div className="pointer-events-none absolute inset-x-0 -top-10 flex justify-center">
            <button type="button" className="btn small pointer-events-auto shadow-pop" onClick={() => log.current?.toEnd()}>
              <Icon name="down" />
              {behind === 0 ? "To the end" : `${behind} new`}
            </button>
          </div>
        )}
        <div className="lane">
          <ExecHint agent={agent} empty={empty && view.parked === null} />
          <Slot name="now">
            <NowLine
              view={view}
              actor={actor}
              waitsIn={speaker?.kind === "call" && active !== null ? speaker : null}
              frozenAt={frozenAt}
              stopping={stopping !== null && stopping === turnId}
              armed={armed}
              stopSaid={stopSaid}
              onStop={() => void stop()}
              onResume={() => asked(client.api.resume(sessionAddress(agent, session)))}
              onHold={(hold) => asked(hold ? client.api.hold(agent, session) : client.api.release(agent, session))}
            />
          </Slot>
          <NextRows
            view={view}
            outbox={outbox}
            live={live}
            onTakeBack={(id, preview) => void takeBack(id, preview)}
            onSteer={(id) => asked(client.api.steerQueued(id))}
            onDrop={(key) => {
              const text = client.outbox.takeBack(key);
              if (text !== null) composer.current?.put(text);
            }}
            onAgain={(key) => client.outbox.again(key)}
          />
          <Slot name="you">
            <Composer
              handle={composer}
              agent={agent}
              session={session}
              state={live ? "live" : "down"}
              running={active !== null}
              after={running?.tool ?? null}
              waiting={view.queue.length + outbox.filter((entry) => entry.state === "kept" || entry.state === "sending").length}
              past={pastAt !== null}
              blocked={line?.problem ?? (view.parked === null ? null : `${agent} is parked; resume it first.`)}
              onSend={send}
              onUp={() => {
                const own = view.queue.findLast((entry) => entry.origin.kind === "human");
                if (own !== undefined && live) void takeBack(own.turnId, own.preview);
                else {
                  const text = lastOwn();
                  if (text === null) return false;
                  composer.current?.put(text);
                }
                return true;
              }}
            />
          </Slot>
        </div>
      </div>
      <Spoken view={view} />
      <Title agent={agent} session={session} view={view} />
    </main>
  );
}

const QUIET: ItemContext = {
  agent: "",
  session: "",
  frozen: false,
  live: NO_CALLS,
  activeTurn: null,
  rehearsal: false,
  onRetry: () => undefined,
  onGoOn: () => undefined,
};

/** Before the first row that came later. */
function withMoment(items: readonly Item[], at: number | null): readonly (Item | Moment)[] {
  if (at === null) return items;
  const later = items.findIndex((item) => timeOf(item) > at);
  const place = later < 0 ? items.length : later;
  return [...items.slice(0, place), { kind: "moment", key: "moment", at }, ...items.slice(place)];
}

function guessHeight(item: Item): number {
  switch (item.kind) {
    case "said":
      return 64 + 25 * Math.floor(item.row.data.text.length / 75);
    case "text":
      return item.superseded ? 30 : 37 + 25 * Math.floor(item.text.length / 78);
    case "thought":
      return 30;
    case "calls":
      return 14 + 35 * item.calls.length;
    case "notice":
      return 34;
    case "end":
      return 28;
  }
}

/** For a screen reader: began, needs you, ended with its first sentence; at most one sentence in four seconds. */
function Spoken({ view }: { view: SessionView }) {
  const [said, setSaid] = useState("");
  const turn = view.active?.turnId ?? null;
  const last = useRef<{ turn: string | null; at: number }>({ turn, at: 0 });
  useEffect(() => {
    if (last.current.turn === turn) return;
    last.current.turn = turn;
    const wait = Math.max(0, last.current.at + 4000 - Date.now());
    const timer = setTimeout(() => {
      last.current.at = Date.now();
      setSaid(turn === null ? sentenceOf({ session: view, now: Date.now() }).sentence : `${view.agent} began.`);
    }, wait);
    return () => clearTimeout(timer);
  }, [turn, view]);
  useEffect(
    () =>
      onKeys({
        "Alt r": () => {
          const answer = view.active?.blocks.findLast((block) => block.kind === "text")?.text ?? lastAnswer(view);
          setSaid(answer ?? "No answer is here yet.");
        },
      }),
    [view],
  );
  return (
    <div className="sr-only" role="status" aria-live="polite">
      {said}
    </div>
  );
}

function lastAnswer(view: SessionView): string | null {
  const row = view.rows.findLast((other) => other.kind === "assistant_message" && other.data.text !== "");
  return row?.kind === "assistant_message" ? row.data.text : null;
}

function Title({ agent, session, view }: { agent: string; session: string; view: SessionView }) {
  const working = view.active !== null;
  useEffect(() => {
    document.title = `${working ? "● " : ""}${view.title ?? `${agent} / ${session}`} · somora`;
  }, [agent, session, view.title, working]);
  return null;
}
