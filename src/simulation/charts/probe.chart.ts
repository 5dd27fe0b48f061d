/** One that begins anew after a crash, like a browser: new birth, old work aborted, parts of its own. */
import { setup } from "xstate";
import { decide, type Decision } from "../../machines/decide.ts";
import { effects } from "../../protocol/effects.ts";
import type { Address, Token } from "../../protocol/ids.ts";
import type { Delivered, OutcomeFields } from "../../protocol/kernel-events.ts";
import { Parts } from "../../protocol/parts.ts";

export interface ProbeContext {
  address: Address;
  birth: string;
  seen: Parts<{ at: number; birth: string }>;
}

type ProbeEvent =
  | (Delivered & { type: "go"; token: Token; what: string })
  | (OutcomeFields & { type: "warm.done" | "warm.failed" | "warm.aborted" | "warm.interrupted" });

function go(context: ProbeContext, { what, at, token }: ProbeEvent & { type: "go" }): Decision<ProbeContext> {
  const { seen, birth } = context;
  return {
    set: { seen: seen.size > 3 && seen.has(what) ? seen.drop(what) : seen.put(what, { at, birth }) },
    effects: [{ type: "reply", params: { token, value: null } }],
  };
}

export const probeMachine = setup({
  types: {} as { context: ProbeContext; events: ProbeEvent; input: { address: Address; birth: string } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({ address: input.address, birth: input.birth, seen: Parts.empty<{ at: number; birth: string }>() }),
  initial: "warming",
  on: { go: { actions: decide(go) } },
  states: {
    warming: {
      entry: {
        type: "perform",
        params: ({ context }) => ({ name: "warm", driver: "act", request: { of: context.address, step: 0 }, repeatable: true }),
      },
      on: { "warm.done": "warm", "warm.failed": "warm", "warm.aborted": "warm", "warm.interrupted": "warm" },
    },
    // Asked again when it is warm it warms once more.
    warm: { on: { go: { target: "warming", actions: decide(go) } } },
  },
});
