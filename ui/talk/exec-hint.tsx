/** `exec` is off until an agent's own file names it. Says so once per agent, with the line that turns it on and what it means. */
import { useEffect, useState } from "react";
import { CopyButton } from "../frame/copy.tsx";
import { useClient } from "../hooks/use-client.ts";

const LINE = "tools: { allow: [exec] }";

export function ExecHint({ agent, empty }: { agent: string; empty: boolean }) {
  const client = useClient();
  const [off, setOff] = useState(false);
  useEffect(() => {
    let gone = false;
    setOff(false);
    if (!empty) return undefined;
    client.api.tools(agent).then(
      ({ tools }) => {
        if (gone) return;
        const exec = tools.find((tool) => tool.name === "exec");
        setOff(exec !== undefined && !exec.visible);
      },
      () => undefined, // without the list nothing is claimed about it
    );
    return () => {
      gone = true;
    };
  }, [client, agent, empty]);
  if (!off || !empty) return null;
  return (
    <details className="mb-1 text-meta text-ink-3">
      <summary className="list-none rail:ml-(--w-gutter) max-rail:py-2">
        <span className="link cursor-pointer">{agent} may not run commands. What turns it on?</span>
      </summary>
      <div className="mt-1 rail:ml-(--w-gutter)">
        <p>
          This line in <span className="font-mono text-ink-2">agents/{agent}/agent.yaml</span>:
        </p>
        <div className="my-1 flex items-center gap-2 rounded-2 border border-line bg-raised py-0.5 pr-1 pl-3 font-mono text-ink">
          <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{LINE}</span>
          <CopyButton text={() => LINE} what="line" />
        </div>
        <p>It then runs any command as you, with your files and your network. Only give it to a model and a task you trust with that.</p>
      </div>
    </details>
  );
}
