/** An empty conversation: what lives here, a sentence to start with, and the one command that connects a real model. */
import { useState } from "react";
import { RequestFailed } from "../../src/client/index.ts";
import type { AgentLine } from "../../src/protocol/frames.ts";
import { CopyButton } from "../frame/copy.tsx";
import { useAgents, useClient } from "../hooks/use-client.ts";
import { goTo, talkHref } from "../hooks/use-route.ts";
import { Tile } from "../marks/tile.tsx";
import { Mark } from "../marks/mark.tsx";

const STARTERS: Record<string, { about: string; action: string; text: string }> = {
  guide: { about: "A tour in a few short answers, with the tree at the side.", action: "Show me around", text: "Show me around" },
  tinker: { about: "Writes a file, mends a line of it and runs it, all for real.", action: "Do a small job", text: "Do a small job" },
  mishap: { about: "Fails, stalls and is cut off, so that you see what happens then.", action: "Break something", text: "Break something" },
};
const commandFor = (agent: string): string => `node bin/somora.mjs model add http://127.0.0.1:11434/v1 --agent ${agent}`;

export function FirstRun({
  agent,
  line,
  parked,
  onStart,
}: {
  agent: string;
  line: AgentLine | undefined;
  parked: boolean;
  onStart: (text: string) => void;
}) {
  const client = useClient();
  const agents = useAgents();
  const shown = agents.filter((other) => other.name in STARTERS && other.rehearsal);
  const anyModel = agents.some((other) => other.model !== null && !other.rehearsal);
  const start = (name: string, text: string): void => {
    if (name === agent) return onStart(text);
    client.outbox.add({ agent: name, session: "main", text });
    goTo(talkHref(name, "main"));
  };
  if (line !== undefined && !line.rehearsal) {
    return (
      <div className="lane">
        <div className="pt-10 pb-6 rail:pl-(--w-gutter) max-rail:pt-5">
          <h2 className="text-page font-strong tracking-tight [overflow-wrap:anywhere]">{agent}</h2>
          <p className="mt-2 max-w-[60ch] text-prose text-ink-2">
            {line.description === ""
              ? parked
                ? "Nothing was said here yet."
                : `Nothing was said here yet. ${agent} starts when you write.`
              : line.description}
          </p>
          {line.model === null ? (
            <>
              <p className="mt-3 max-w-[60ch] text-prose text-ink-2">
                It has no model yet. Any server that speaks the OpenAI format will do:
              </p>
              <Connect agent={agent} />
            </>
          ) : null}
        </div>
      </div>
    );
  }
  return (
    <div className="lane">
      <div className="pt-10 pb-6 rail:pl-(--w-gutter) max-rail:pt-5">
        <h2 className="text-page font-strong tracking-tight">
          {agents.length === 3 && shown.length === 3 ? "Three agents live here." : `${agent} plays a rehearsal.`}
        </h2>
        <p className="mt-2 max-w-[60ch] text-prose text-ink-2">
          {agents.length === 3 && shown.length === 3
            ? "They play rehearsals: written scripts that drive"
            : shown.length > 1
              ? "Like the others below it follows a written script that drives"
              : "It follows a written script that drives"}{" "}
          the real tools on the real server. {anyModel ? "No model is asked" : "No model is connected"} and nothing leaves this machine.
        </p>
        {shown.length === 0 ? null : (
          <ul className="mt-4.5 overflow-hidden rounded-3 border border-line bg-raised">
            {shown
              .toSorted((a, b) => rank(a.name) - rank(b.name))
              .map((other) => {
                const starter = STARTERS[other.name];
                return starter === undefined ? null : (
                  <li
                    key={other.name}
                    className="grid grid-cols-[1.875rem_minmax(0,1fr)_auto] items-center gap-x-3.5 border-t border-line px-3.5 py-3 first:border-t-0 max-rail:grid-cols-[1.875rem_minmax(0,1fr)]"
                  >
                    <Tile name={other.name} color={other.color} className="!size-[1.875rem] max-rail:self-start" />
                    <div>
                      <b className="font-strong">{other.name}</b> <span className="tag ml-1">rehearsal</span>
                      <p className="text-small text-ink-2">{starter.about}</p>
                    </div>
                    <button
                      type="button"
                      className={`btn max-rail:col-start-2 max-rail:mt-2 max-rail:justify-self-start ${other.name === agent ? "main" : ""}`}
                      onClick={() => start(other.name, starter.text)}
                    >
                      {starter.action}
                    </button>
                  </li>
                );
              })}
          </ul>
        )}
        <h3 className="mt-7 text-title font-strong">Connect a real model</h3>
        <p className="mt-1.5 text-prose text-ink-2">Any server that speaks the OpenAI format will do. In a terminal, in somora's folder:</p>
        <Connect agent={agent} />
      </div>
    </div>
  );
}

const rank = (name: string): number => Object.keys(STARTERS).indexOf(name);

function Connect({ agent }: { agent: string }) {
  const client = useClient();
  const [address, setAddress] = useState("");
  const [said, setSaid] = useState<{ good: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const connect = async (): Promise<void> => {
    setBusy(true);
    setSaid(null);
    try {
      const added = await client.api.addProvider({ baseUrl: address.trim(), agent });
      const [ref] = added.refs;
      if (ref === undefined)
        setSaid({ good: true, text: `${added.provider} was connected already; ${agent} uses it from its next message on.` });
      else {
        const test = await client.api.testModel(ref);
        if (!test.ok) setSaid({ good: false, text: test.error?.message ?? "It did not answer." });
        else setSaid({ good: true, text: `${test.model ?? ref} answered in ${(test.ms / 1000).toFixed(1)} s.` });
      }
    } catch (error) {
      const hint = error instanceof RequestFailed && error.hint !== undefined ? ` ${error.hint}` : "";
      setSaid({ good: false, text: `${error instanceof Error ? error.message : String(error)}${hint}` });
    }
    setBusy(false);
  };
  return (
    <>
      <div className="mt-3 flex items-center gap-2 rounded-2 border border-edge bg-raised py-1 pr-1.5 pl-3.5 font-mono text-small">
        <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{commandFor(agent)}</span>
        <CopyButton text={() => commandFor(agent)} what="command" />
      </div>
      <form
        className="mt-2.5 flex gap-2 max-rail:flex-wrap"
        onSubmit={(event) => {
          event.preventDefault();
          void connect();
        }}
      >
        <input
          className="field flex-1 max-rail:basis-full"
          type="url"
          inputMode="url"
          placeholder="or paste an address here"
          aria-label="Address of a model server"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        <button type="submit" className="btn" disabled={address.trim() === "" || busy}>
          {busy ? "Asking it" : "Connect and test"}
        </button>
      </form>
      <p className="mt-2 text-small text-ink-3" role="status" data-move={said?.good === false ? "bad" : "none"}>
        {said === null ? (
          "The test sends one real message and tells you which model answered."
        ) : (
          <span className={`inline-flex items-center gap-1.5 [overflow-wrap:anywhere] ${said.good ? "text-ink" : "text-bad"}`}>
            <Mark name={said.good ? "done" : "failed"} />
            {said.text}
          </span>
        )}
      </p>
    </>
  );
}
