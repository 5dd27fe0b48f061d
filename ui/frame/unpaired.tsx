/** This browser is not paired: says so, and how to get a fresh address. */
import { CopyButton } from "./copy.tsx";
import { Icon } from "../marks/icon.tsx";

const COMMAND = "node bin/somora.mjs server open";

export function Unpaired({ said }: { said: string | null }) {
  return (
    <main className="mx-auto max-w-[34rem] px-6 py-16">
      <p className="mb-6 flex items-center gap-2 text-[1rem] font-[700]">
        <Icon name="tree" className="!size-[1.125rem]" />
        somora
      </p>
      <h1 className="text-page font-strong tracking-tight">This browser is not paired.</h1>
      {said === null ? null : (
        <p className="mt-3 rounded-2 border border-bad-line bg-bad-tint px-3.5 py-2" role="alert">
          {said}
        </p>
      )}
      <p className="mt-3 text-prose text-ink-2">
        Only someone with access to this machine gets in. A fresh address, good once and for five minutes, comes from a terminal in somora's
        folder:
      </p>
      <div className="mt-3 flex items-center gap-2 rounded-2 border border-edge bg-raised py-1 pr-1.5 pl-3.5 font-mono text-small">
        <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{COMMAND}</span>
        <CopyButton text={() => COMMAND} what="command" />
      </div>
      <p className="mt-3 text-ink-3">Open the address it prints in this browser. It stays paired after that.</p>
    </main>
  );
}
