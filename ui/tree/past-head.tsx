/** The head of a tree that shows the past: the moment, how long ago, and the way back. */
import { spanWords, tenthTime } from "../../src/client/index.ts";
import { page } from "../frame/page-state.ts";
import { useClient, usePast } from "../hooks/use-client.ts";
import { useNow } from "../hooks/use-now.ts";
import { Icon } from "../marks/icon.tsx";

/** Stands where the head stood, as high: nothing moves. */
export function PastHead({ at, className }: { at: number; className: string }) {
  const { past } = useClient();
  const { refused } = usePast();
  const now = useNow(true);
  return (
    <div
      className={`hatched flex h-(--h-head) flex-none items-center gap-2 border-b border-line pr-2.5 pl-4 text-small ${className}`}
      role="status"
      aria-label="The past"
    >
      <Icon name="clock" />
      <span className="min-w-0 flex-1 truncate" title={refused ?? undefined}>
        <b className="text-ui font-strong">{tenthTime(at)}</b>
        {refused === null ? `, ${spanWords(now - at)} ago` : `: ${refused}`}
      </span>
      <button type="button" className="btn small main" onClick={past.live}>
        Back to live <kbd className="key max-rail:hidden">Esc</kbd>
      </button>
      <button type="button" className="icon-btn tree:!hidden" aria-label="Close" onClick={() => page.showTree(false)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
