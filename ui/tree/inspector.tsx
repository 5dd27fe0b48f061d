/** One actor: its address, its sentence, whom it waits for, facts or story, and what can be done with it. In the past: to read only. */
import { useEffect, useMemo } from "react";
import type { SessionView } from "../../src/protocol/session-view.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import { placeOf, type Address } from "../../src/protocol/ids.ts";
import { clockSpan, money, sentenceOf, tenthTime, type TreeNode, urgency } from "../../src/client/index.ts";
import { ask } from "../frame/ask.tsx";
import { onKeys } from "../frame/keys.ts";
import { page, usePage } from "../frame/page-state.ts";
import { say } from "../frame/toast.tsx";
import { CopyButton } from "../frame/copy.tsx";
import { useActors, useClient, useFrozenAt, useReadable } from "../hooks/use-client.ts";
import { useNow } from "../hooks/use-now.ts";
import { goTo, talkHref, useRoute } from "../hooks/use-route.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";
import { Chain } from "./chain.tsx";
import { Story } from "./story.tsx";

/** What the conversation itself says, when it is open beside; the tree knows less. */
function useSessionSeen({ agent, session }: { agent?: string; session?: string }): SessionView | null {
  const client = useClient();
  const store = useMemo(
    () => (agent === undefined || session === undefined ? client.session("", "") : client.session(agent, session)),
    [client, agent, session],
  );
  return useReadable(store).view;
}

export interface InspectorProps {
  address: string;
  /** Null: it was not there at the moment that is shown. */
  node: TreeNode | null;
  /** All actors of the tree that is shown. */
  actors: readonly ActorView[];
  /** The moment of the past that is shown. */
  at: number | null;
  wide: boolean;
}

const LOOK = "quiet-scroll flex flex-none flex-col overflow-y-auto bg-canvas [&>:not(div)]:flex-none px-4 pt-2.5 pb-3 border-line";
const PLACE = {
  wide: "border-l max-tree:max-h-[45%] max-tree:border-t max-tree:border-l-0",
  beside: "max-h-[55%] min-h-34 border-t",
} as const;

export function Inspector({ address, node, at, actors, wide }: InspectorProps) {
  return (
    <section className={`${LOOK} ${wide ? PLACE.wide : PLACE.beside}`} aria-label="Selected">
      {node === null ? (
        <p className="[overflow-wrap:anywhere] text-ink-2">
          <span className="font-mono text-meta">{address}</span> was not there{at === null ? "" : ` at ${tenthTime(at)}`}.
        </p>
      ) : (
        <Found key={address} node={node} at={at} actors={actors} wide={wide} />
      )}
    </section>
  );
}

function Found({ node, at, actors, wide }: Omit<InspectorProps, "address"> & { node: TreeNode }) {
  const route = useRoute();
  const client = useClient();
  const { story } = usePage();
  const frozenAt = useFrozenAt();
  const told = useActors();
  const live = frozenAt === null && at === null;
  const still = at ?? frozenAt;
  const now = useNow(live, still);
  const { actor } = node;
  const place = placeOf(actor.address as Address);
  const here = route.place === "talk" && route.agent === place.agent && route.session === (place.session ?? "main");
  const turn = actors.find((other) => other.kind === "turn" && other.parent === actor.address);
  const seen = useSessionSeen(actor.kind === "session" ? place : {});
  const view = at === null ? seen : null;
  const { speaker } = node;
  const said = sentenceOf({
    actor: view === null || speaker.kind === "call" ? speaker : actor,
    session: speaker.kind === "call" ? null : view,
    now,
    frozenAt: at === null ? frozenAt : null,
  });
  const parked = [actor, turn].find((other) => other?.status === "parked");
  const below = countBelow(node);
  const stoppable =
    live && !node.past && actor.kind !== "supervisor" && (said.move === "run" || urgency(said) === 1 || below > 0 || actor.mailbox > 0);
  const canStop = live && (parked !== undefined || stoppable);
  const tell = (request: Promise<unknown>): void =>
    void request.catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  const resume = (parkedAddress: string): void => tell(client.api.resume(parkedAddress));

  const stop = async (): Promise<void> => {
    const sure = await ask({
      title: `Stop ${node.name}${below === 0 ? "" : ` and ${below} below it`}?`,
      note:
        actor.kind === "session" || actor.kind === "agent"
          ? "What waits in its queue is cancelled too. It stays, idle."
          : "What it has done stays done.",
      action: "Stop",
    });
    if (sure !== null) tell(client.api.stop(actor.address));
  };
  const open = (): void => {
    if (place.agent === undefined) return;
    page.showTree(false);
    goTo(talkHref(place.agent, place.session ?? "main"));
  };
  useEffect(() =>
    onKeys({
      s: () => page.showStory(!story),
      o: open,
      "Ctrl .": () => {
        if (canStop) void stop();
        return canStop;
      },
    }),
  );

  return (
    <>
      <div className="flex min-w-0 flex-none items-center gap-2" data-move={said.move}>
        <Mark name={said.mark} still />
        <b className="min-w-0 flex-1 truncate font-strong" title={actor.address}>
          {place.session !== undefined && place.agent !== undefined && actor.kind === "session"
            ? `${place.agent} / ${place.session}`
            : node.name}
        </b>
        <button type="button" className="btn bare small aria-pressed:bg-fill-2" aria-pressed={story} onClick={() => page.showStory(!story)}>
          Story
        </button>
        {at === null && parked !== undefined && parked.parkedReason !== "folder gone" ? (
          <button type="button" className="btn small main" disabled={!live} onClick={() => resume(parked.address)}>
            <Icon name="play" />
            Resume
          </button>
        ) : null}
        {node.past || at !== null ? null : (
          <button type="button" className="btn small" disabled={!canStop} onClick={() => void stop()}>
            <Icon name="stop" className="!size-3.5" />
            Stop
          </button>
        )}
      </div>
      <p className="mt-1 leading-[1.3125rem] [overflow-wrap:anywhere]">{said.sentence}</p>
      {at === null ? <Chain address={actor.address} actors={actors} now={now} live={live} onResume={resume} /> : null}
      <p className="mt-1 flex items-center gap-1 font-mono text-meta [overflow-wrap:anywhere] text-ink-3">
        {actor.address}
        <CopyButton text={() => actor.address} what="address" />
      </p>
      {story ? (
        <Story
          key={actor.address}
          address={actor.address}
          change={told.find((other) => other.address === actor.address)}
          at={at}
          tall={wide}
        />
      ) : (
        <dl className="mt-2 grid grid-cols-4 gap-x-3 text-meta text-ink-3 max-rail:grid-cols-2 max-rail:gap-y-2">
          <Fact name="with all below" value={actor.costUsd === undefined ? "–" : money(actor.costUsd)} />
          <Fact name="mailbox" value={String(actor.mailbox)} />
          <Fact name="restarts" value={String(actor.restarts)} />
          <Fact name="next timer" value={actor.nextTimer === undefined ? "none" : clockSpan(Math.max(0, actor.nextTimer.at - now))} />
        </dl>
      )}
      {place.agent === undefined || here ? null : (
        <button type="button" className="link mt-2 self-start text-left text-meta [overflow-wrap:anywhere] max-rail:py-2" onClick={open}>
          Open {place.agent} / {place.session ?? "main"}
        </button>
      )}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="font-medium [overflow-wrap:anywhere] text-ink">{value}</dd>
    </div>
  );
}

function countBelow(node: TreeNode): number {
  return node.children.reduce((sum, child) => sum + (child.past ? 0 : 1) + countBelow(child), 0);
}
