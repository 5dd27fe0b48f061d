/** What is wrong with the house itself, above the place: a store that was mended, broken configuration, a disk that takes nothing, held turns. */
import { clockTime, type MarkName } from "../../src/client/index.ts";
import { useClient, useServer } from "../hooks/use-client.ts";
import { say } from "./toast.tsx";
import { Mark } from "../marks/mark.tsx";
import { useEffect, useRef, type ReactNode } from "react";

export function Strips() {
  const client = useClient();
  const server = useServer();
  const box = useRef<HTMLDivElement>(null);
  // On the phone the places lie below the strips; they begin as much lower as the strips are high.
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => document.documentElement.style.setProperty("--h-strips", `${element.offsetHeight}px`));
    observer.observe(element);
    return () => observer.disconnect();
  }, [server === null]); // eslint-disable-line react-hooks/exhaustive-deps
  if (server === null) return null;
  return (
    <div ref={box} className="[grid-area:strips] max-rail:z-2 max-rail:[grid-area:3/1/4/2]">
      {server.store.state === "stalled" ? (
        <Strip move="bad" mark="stuck">
          The disk takes no commits since {clockTime(server.store.since)}
          {server.store.reason === null ? "" : `: ${server.store.reason}`}. What was accepted waits; new messages are kept here; Stop still
          works.
        </Strip>
      ) : null}
      {server.storeNotice ? (
        <Strip move="bad" mark="failed">
          The store at this start: {coded(server.storeNotice)} <span className="font-mono">somora doctor</span> says it again.
        </Strip>
      ) : null}
      {server.config.errors.map((error) => (
        <Strip key={`${error.file}:${error.line}:${error.key}`} move="bad" mark="failed">
          <span className="font-mono" title={error.file}>
            {error.file
              .split("/")
              .slice(error.file.includes("/agents/") ? -2 : -1)
              .join("/")}
          </span>
          , line {error.line}: {coded(error.message.replace(/^\S+:\d+: /u, ""))}
          {error.allowed === "" || error.message.includes(error.allowed) ? "" : ` Allowed: ${error.allowed}.`}
          {error.near === null || error.message.includes(error.near) ? "" : ` Did you mean ${error.near}?`} The last valid version stays in
          force.
        </Strip>
      ))}
      {server.held ? (
        <Strip move="you" mark="held">
          Turns are held: the server died three times within a minute of starting.{" "}
          <button
            type="button"
            className="link"
            onClick={() =>
              void client.api.resume("/").catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
            }
          >
            Let them go on
          </button>
        </Strip>
      ) : null}
    </div>
  );
}

/** What stands between backticks as code. */
const coded = (text: string): ReactNode[] =>
  text.split("`").map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <code key={at} className="font-mono">
        {part}
      </code>
    ),
  );

function Strip({ move, mark, children }: { move: "bad" | "you"; mark: MarkName; children: ReactNode }) {
  return (
    <div
      className={`flex items-start gap-2 border-b px-4 py-1.5 text-small ${move === "bad" ? "border-bad-line bg-bad-tint" : "border-you-line bg-you-tint"}`}
      data-move={move}
      role="alert"
    >
      <Mark name={mark} className="mt-px" />
      <p className="min-w-0 flex-1 [overflow-wrap:anywhere]">{children}</p>
    </div>
  );
}
