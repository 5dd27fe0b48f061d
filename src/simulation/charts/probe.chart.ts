/** One that begins anew after a crash, like a browser: new birth, old work aborted, parts of its own. */
import { setup } from "xstate";
import { decide } from "../../machines/decide.ts";
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

export const probeMachine = setup({
  types: {} as { context: ProbeContext; events: ProbeEvent; input: { address: Address; birth: string } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({ address: input.address, birth: input.birth, seen: Parts.empty<{ at: number; birth: string }>() }),
  initial: "warming",
  on: {
    go: {
      actions: decide<ProbeContext, ProbeEvent & { type: "go" }>((context, { what, at, token }) => ({
        set: {
          seen:
            context.seen.size > 3 && context.seen.has(what)
              ? context.seen.drop(what)
              : context.seen.put(what, { at, birth: context.birth }),
        },
        effects: [{ type: "reply", params: { token, value: null } }],
      })),
    },
  },
  states: {
    warming: {
      entry: {
        type: "perform",
        params: ({ context }) => ({ name: "warm", driver: "act", request: { of: context.address, step: 0 }, repeatable: true }),
      },
      on: { "warm.done": "warm", "warm.failed": "warm", "warm.aborted": "warm", "warm.interrupted": "warm" },
    },
    warm: {},
  },
});
