/** What one actor did: event, where it came from, its state after, what it asked for; newest last, to read and to copy. */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { causeWords, storyText, tenthTime } from "../../src/client/index.ts";
import type { ActorView, StoryStep } from "../../src/protocol/actor-view.ts";
import { CopyButton } from "../frame/copy.tsx";
import { useClient } from "../hooks/use-client.ts";

/** Asked for when it opens and whenever the tree told of a change of this actor; one request at a time. */
function useStory(address: string, change: ActorView | undefined): { steps: StoryStep[] | null; refused: string | null } {
  const client = useClient();
  const [story, setStory] = useState<{ steps: StoryStep[] | null; refused: string | null }>({ steps: null, refused: null });
  const wanted = useRef(0);
  const asking = useRef(false);
  useEffect(() => {
    wanted.current += 1;
    const ask = async (): Promise<void> => {
      if (asking.current) return;
      asking.current = true;
      for (let answered = 0; answered !== wanted.current;) {
        answered = wanted.current;
        try {
          const steps = await client.api.story(address);
          setStory({ steps, refused: null });
        } catch (error) {
          const refused = error instanceof Error ? error.message : String(error);
          setStory((now) => ({ ...now, refused }));
        }
      }
      asking.current = false;
    };
    void ask();
  }, [client, address, change]);
  return story;
}

export function Story({ address, change, at, tall }: { address: string; change: ActorView | undefined; at: number | null; tall: boolean }) {
  const { steps, refused } = useStory(address, change);
  const box = useRef<HTMLDivElement>(null);
  const end = useRef(true);
  const now = at === null ? -1 : (steps?.findLastIndex((step) => step.at <= at) ?? -1);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const marked = element.querySelector<HTMLElement>("[aria-current]");
    if (marked !== null) element.scrollTop = marked.offsetTop - element.clientHeight / 2;
    else if (end.current && at === null) element.scrollTop = element.scrollHeight;
  }, [steps, at, now]);
  return (
    <div className={`mt-2 flex flex-col ${tall ? "" : "min-h-36"}`}>
      <div className="flex h-7 flex-none items-center justify-between gap-2 text-meta text-ink-3 max-rail:h-11">
        <span className="min-w-0 truncate">
          {refused ??
            (steps === null
              ? "Asking the server."
              : steps.length === 0
                ? "Nothing is kept of it."
                : `${steps.length} ${steps.length === 1 ? "event" : "events"}, newest last`)}
        </span>
        {steps === null || steps.length === 0 ? null : <CopyButton text={() => storyText(address, steps)} what="story" />}
      </div>
      <div
        ref={box}
        className={`quiet-scroll relative min-h-0 overflow-y-auto text-meta -outline-offset-2 ${tall ? "max-tree:h-44" : "h-44"}`}
        tabIndex={0}
        role="region"
        aria-label="Story"
        onScroll={({ currentTarget: seen }) => (end.current = seen.scrollHeight - seen.clientHeight - seen.scrollTop < 24)}
      >
        <ol>
          {(steps ?? []).map((step, index) => (
            <Step key={step.eventId} step={step} address={address} current={index === now} later={at !== null && index > now} />
          ))}
        </ol>
      </div>
    </div>
  );
}

function Step({ step, address, current, later }: { step: StoryStep; address: string; current: boolean; later: boolean }) {
  const quiet = later ? "text-ink-3" : "text-ink-2";
  const crashed = step.state.startsWith("crashed");
  return (
    <li
      className={`grid grid-cols-[4.5rem_minmax(0,1fr)] gap-2 rounded-1 px-1 py-1 ${current ? "bg-fill-2" : ""} ${later ? "text-ink-3" : ""}`}
      aria-current={current ? "time" : undefined}
      data-move={crashed ? "bad" : undefined}
    >
      <time className={quiet} dateTime={new Date(step.at).toISOString()}>
        {tenthTime(step.at)}
      </time>
      <span className="min-w-0 [overflow-wrap:anywhere]">
        <span className="font-mono">{step.type}</span> <span className={quiet}>from {causeWords(step.from, address)}</span>
        {" → "}
        <b className={`font-medium ${crashed ? "text-word" : ""}`}>{step.state}</b>
        {step.effects.length === 0 ? null : <span className={`block ${quiet}`}>asks for {step.effects.join(", ")}</span>}
      </span>
    </li>
  );
}
