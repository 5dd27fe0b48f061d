/** A wait followed to its end: who, for what, since when; the last link is who can end it, with the button that does. */
import { useMemo } from "react";
import { lineName, sentenceOf, spanWords, waitChain, type ChainLink } from "../../src/client/index.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import { page } from "../frame/page-state.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";
import { useWaits } from "./waits.ts";

interface Props {
  address: string;
  actors: readonly ActorView[];
  now: number;
  /** Resume can be pressed. */
  live: boolean;
  onResume: (address: string) => void;
}

export function Chain({ address, actors, now, live, onResume }: Props) {
  const waits = useWaits(actors);
  const links = useMemo(() => waitChain(address, waits), [address, waits]);
  if (links.length === 0) return null;
  return (
    <ol className="mt-2 text-small" aria-label="Waits for">
      {links.map((link, index) => (
        <Link
          key={`${index} ${link.address}`}
          link={link}
          last={index === links.length - 1}
          actors={actors}
          now={now}
          live={live}
          onResume={onResume}
        />
      ))}
    </ol>
  );
}

function Link({ link, last, actors, now, live, onResume }: { link: ChainLink; last: boolean } & Omit<Props, "address">) {
  const { wait } = link;
  const actor = actors.find((other) => other.address === link.address);
  const turn = actors.find((other) => other.kind === "turn" && other.parent === link.address);
  const said = sentenceOf({ actor: turn ?? actor, now });
  const parked = [actor, turn].find((other) => other?.status === "parked");
  const stuck = wait?.stuck === true || link.closed;
  return (
    <li
      className="relative grid grid-cols-[1rem_minmax(0,1fr)] gap-2 pb-2 last:pb-0"
      data-move={stuck ? "bad" : wait === null ? said.move : "none"}
    >
      {last ? null : (
        <i
          className={`absolute top-[1.125rem] bottom-0 left-[0.4375rem] w-0 border-l-2 ${stuck ? "border-dashed border-bad" : "border-line-2"}`}
          aria-hidden="true"
        />
      )}
      <span className="pt-px">
        <Mark name={stuck ? "stuck" : wait === null ? said.mark : "agent"} still />
      </span>
      <div className="min-w-0 [overflow-wrap:anywhere]">
        <button type="button" className="text-left font-medium hover:underline" onClick={() => page.select(link.address)}>
          {lineName(link.address)}
        </button>
        {link.closed ? (
          <span className="text-word">, and the circle is closed: no one in it can move.</span>
        ) : wait === null ? (
          <>
            <span className="text-ink-2"> can end it. {said.sentence}</span>
            {parked === undefined ? null : (
              <button type="button" className="btn small main mt-1 flex" disabled={!live} onClick={() => onResume(parked.address)}>
                <Icon name="play" />
                Resume
              </button>
            )}
          </>
        ) : (
          <span className="text-ink-2">
            {" "}
            waits {spanWords(Math.max(0, now - wait.since))} for {wait.why}
            {wait.stuck ? <span className="text-word"> Nothing there can move by itself.</span> : null}
          </span>
        )}
      </div>
    </li>
  );
}
