/** One actor: its address, its sentence, facts or story, and what can be done with it. */
import { useEffect, useMemo, useState } from "react";
import type { SessionView } from "../../src/protocol/session-view.ts";
import type { StoryStep } from "../../src/protocol/actor-view.ts";
import { placeOf, type Address } from "../../src/protocol/ids.ts";
import { clockSpan, exactTime, money, sentenceOf, type TreeNode, urgency } from "../../src/client/index.ts";
import { ask } from "../frame/ask.tsx";
import { onKeys } from "../frame/keys.ts";
import { page } from "../frame/page-state.ts";
import { say } from "../frame/toast.tsx";
import { CopyButton } from "../frame/copy.tsx";
import { useActors, useClient, useFrozenAt, useReadable } from "../hooks/use-client.ts";
import { useNow } from "../hooks/use-now.ts";
import { goTo, talkHref, useRoute } from "../hooks/use-route.ts";
import { Icon } from "../marks/icon.tsx";
import { Mark } from "../marks/mark.tsx";

/** What the conversation itself says, when it is open beside; the tree knows less. */
function useSessionSeen({ agent, session }: { agent?: string; session?: string }): SessionView | null {
  const client = useClient();
  const store = useMemo(
    () => (agent === undefined || session === undefined ? client.session("", "") : client.session(agent, session)),
    [client, agent, session],
  );
  return useReadable(store).view;
}

export function Inspector({ node, wide }: { node: TreeNode; wide: boolean }) {
  const route = useRoute();
  const client = useClient();
  const frozenAt = useFrozenAt();
  const [story, setStory] = useState<StoryStep[] | string | null>(null);
  const live = frozenAt === null;
  const now = useNow(live, frozenAt);
  const { actor } = node;
  const place = placeOf(actor.address as Address);
  const here = route.place === "talk" && route.agent === place.agent && route.session === (place.session ?? "main");
  const turn = useActors().find((other) => other.kind === "turn" && other.parent === actor.address);
  const view = useSessionSeen(actor.kind === "session" ? place : {});
  const said = sentenceOf({ actor: view === null ? (turn ?? actor) : actor, session: view, now, frozenAt });
  const parked = actor.status === "parked";
  const below = countBelow(node);
  const stoppable =
    live && !node.past && actor.kind !== "supervisor" && (said.move === "run" || urgency(said) === 1 || below > 0 || actor.mailbox > 0);
  const tell = (request: Promise<unknown>): void =>
    void request.catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));

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
  const toggleStory = (): void => {
    if (story !== null) return setStory(null);
    setStory("Asking the server.");
    client.api.story(actor.address).then(setStory, (error: unknown) => setStory(error instanceof Error ? error.message : String(error)));
  };
  const open = (): void => {
    if (place.agent === undefined) return;
    page.showTree(false);
    goTo(talkHref(place.agent, place.session ?? "main"));
  };
  useEffect(() => onKeys({ s: toggleStory, o: open, "Ctrl .": () => void stop() }));

  return (
    <section
      className={`quiet-scroll flex-none overflow-y-auto bg-canvas px-4 pt-2.5 pb-3 ${wide ? "border-l border-line max-tree:max-h-[45%] max-tree:border-t max-tree:border-l-0" : "max-h-[55%] border-t border-line"}`}
      aria-label="Selected"
    >
      <div className="flex min-w-0 items-center gap-2" data-move={said.move}>
        <Mark name={said.mark} still />
        <b className="min-w-0 flex-1 truncate font-strong" title={actor.address}>
          {place.session !== undefined && place.agent !== undefined && actor.kind === "session"
            ? `${place.agent} / ${place.session}`
            : node.name}
        </b>
        <button
          type="button"
          className="btn bare small"
          aria-pressed={story !== null}
          disabled={!live && story === null}
          onClick={toggleStory}
        >
          Story
        </button>
        {parked ? (
          <button type="button" className="btn small main" disabled={!live} onClick={() => tell(client.api.resume(actor.address))}>
            <Icon name="play" />
            Resume
          </button>
        ) : null}
        {node.past ? null : (
          <button type="button" className="btn small" disabled={!live || (!parked && !stoppable)} onClick={() => void stop()}>
            <Icon name="stop" className="!size-3.5" />
            Stop
          </button>
        )}
      </div>
      <p className="mt-1 leading-[1.3125rem] [overflow-wrap:anywhere]">{said.sentence}</p>
      <p className="mt-1 flex items-center gap-1 font-mono text-meta [overflow-wrap:anywhere] text-ink-3">
        {actor.address}
        <CopyButton text={() => actor.address} what="address" />
      </p>
      {story === null ? (
        <dl className="mt-2 grid grid-cols-4 gap-x-3 text-meta text-ink-3 max-rail:grid-cols-2 max-rail:gap-y-2">
          <Fact name="with all below" value={actor.costUsd === undefined ? "–" : money(actor.costUsd)} />
          <Fact name="mailbox" value={String(actor.mailbox)} />
          <Fact name="restarts" value={String(actor.restarts)} />
          <Fact name="next timer" value={actor.nextTimer === undefined ? "none" : clockSpan(Math.max(0, actor.nextTimer.at - now))} />
        </dl>
      ) : typeof story === "string" ? (
        <p className="mt-2 text-small text-ink-2">{story}</p>
      ) : (
        <Story steps={story} />
      )}
      {place.agent === undefined || here ? null : (
        <button type="button" className="link mt-2 text-left text-meta [overflow-wrap:anywhere] max-rail:py-2" onClick={open}>
          Open {place.agent} / {place.session ?? "main"}
        </button>
      )}
    </section>
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

function Story({ steps }: { steps: StoryStep[] }) {
  if (steps.length === 0) return <p className="mt-2 text-small text-ink-2">No event was handled yet.</p>;
  return (
    <ol className="mt-2 text-meta">
      {steps.slice(-60).map((step) => (
        <li key={step.eventId} className="grid grid-cols-[4.25rem_minmax(0,1fr)] gap-2 py-0.5">
          <time className="text-ink-3">{exactTime(step.at)}</time>
          <span className="min-w-0">
            <span className="font-mono">{step.type}</span> → <b className="font-medium">{step.state}</b>
            {step.effects.length === 0 ? "" : <span className="text-ink-3">; asks for {step.effects.join(", ")}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function countBelow(node: TreeNode): number {
  return node.children.reduce((sum, child) => sum + (child.past ? 0 : 1) + countBelow(child), 0);
}
