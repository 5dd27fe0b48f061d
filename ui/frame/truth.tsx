/** The truth line: is what is seen true now; what moves; what the day cost. */
import { count, countMoves, exactTime, type MarkName, money, type Move } from "../../src/client/index.ts";
import { useClient, useLink, useReadable, useServer } from "../hooks/use-client.ts";
import { useNow } from "../hooks/use-now.ts";
import { useTree } from "../hooks/use-tree.ts";
import { Mark } from "../marks/mark.tsx";

const PLACE = "max-rail:z-1 max-rail:[grid-area:2/1/3/2] max-rail:border-t-0 max-rail:border-b max-rail:px-3.5 max-rail:gap-3";

export function Truth({ home }: { home: boolean }) {
  const link = useLink();
  const down = link.status !== "live" && link.heardAt !== null;
  const place = home ? "max-rail:fixed max-rail:inset-x-0 max-rail:bottom-0 max-rail:h-(--h-line) max-rail:z-6 max-rail:border-t" : PLACE;
  const look = "flex items-center gap-4 overflow-hidden border-t border-line px-4 text-meta whitespace-nowrap rail:[grid-area:truth]";
  if (down) return <Down place={place} look={look} />;
  return (
    <footer aria-label="Truth line" className={`${look} ${place} bg-rail text-ink-2 max-rail:bg-canvas`}>
      <Live />
    </footer>
  );
}

function Down({ place, look }: { place: string; look: string }) {
  const client = useClient();
  const link = useLink();
  const now = useNow(true);
  const kept = useReadable(client.outbox.entries).filter((entry) => entry.state === "kept").length;
  const left = link.retryAt === null ? null : Math.max(0, Math.ceil((link.retryAt - now) / 1000));
  return (
    <footer aria-label="Truth line" className={`${look} ${place} border-bad-line bg-bad-tint text-ink`} data-move="bad">
      <span className="inline-flex items-center gap-1.5" role="alert">
        <Mark name="failed" className="!size-3.5" />
        <b className="font-strong text-bad">
          No connection<span className="max-rail:hidden"> to the server</span>
        </b>
      </span>
      <span className="truncate">
        <span className="max-rail:hidden">You see </span>
        {exactTime(link.heardAt ?? now)}
        {kept > 0 ? <span className="max-rail:hidden">; {count(kept, "message")} kept here</span> : null}
      </span>
      <span className="flex-1" />
      <span>{left === null ? "asking now" : `again in ${left} s`}</span>
      <button type="button" className="link" onClick={client.tryNow}>
        Try now
      </button>
      <span className="text-ink-2 max-tree:hidden">
        If it stays down: <span className="font-mono">npm start</span>
      </span>
    </footer>
  );
}

function Live() {
  const link = useLink();
  const server = useServer();
  const counts = countMoves(useTree());
  const idle = counts.run + counts.wait + counts.you + counts.bad === 0;
  return (
    <>
      <span className="inline-flex items-center gap-1.5" data-move="none">
        {link.status === "live" ? <Mark name="done" className="!size-3.5" /> : <Mark name="preparing" still className="!size-3.5" />}
        {link.status === "live" ? (
          <span>
            Live
            <span className="text-ink-3 max-rail:hidden">
              {where()}
              {link.latencyMs === null ? "" : `, ${Math.max(1, link.latencyMs)} ms`}
            </span>
          </span>
        ) : (
          <span>Asking the server</span>
        )}
      </span>
      {server?.draining === true ? <span className="text-you">The server is stopping</span> : null}
      <span className="flex-1" />
      {idle ? <Count move="none" mark="idle" words="all idle" /> : null}
      {counts.run > 0 ? <Count move="run" mark="working" number={counts.run} words="working" /> : null}
      {counts.wait > 0 ? <Count move="none" mark="agent" number={counts.wait} words="waiting" /> : null}
      {counts.you > 0 ? <Count move="you" mark="you" words={`${counts.you} for you`} loud /> : null}
      {counts.bad > 0 ? <Count move="bad" mark="failed" words={`${counts.bad} broken`} loud /> : null}
      <span className="flex-1 max-rail:hidden" />
      {server === null ? null : (
        <span title={server.todayUnknown ? "Some of today's costs are not known" : undefined}>
          {server.todayUsd === null ? money(null) : money(server.todayUsd)}
          {server.todayUnknown && server.todayUsd !== null ? " and unknown" : ""}
          <span className="text-ink-3 max-rail:hidden"> today</span>
        </span>
      )}
    </>
  );
}

function Count({
  move,
  mark,
  number,
  words,
  loud = false,
}: {
  move: Move;
  mark: MarkName;
  number?: number;
  words: string;
  loud?: boolean;
}) {
  return (
    <span className="inline-flex items-center gap-1.5" data-move={move}>
      <Mark name={mark} className="!size-3.5" />
      {number} <span className={loud ? "font-strong text-word" : number === undefined ? "" : "max-rail:sr-only"}>{words}</span>
    </span>
  );
}

function where(): string {
  const { hostname } = window.location;
  return hostname === "127.0.0.1" || hostname === "localhost" || hostname === "[::1]" ? ", this machine" : `, ${hostname}`;
}
