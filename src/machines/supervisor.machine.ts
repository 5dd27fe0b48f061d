/** A fixed supervisor: starts its static children, and one child per name it is told of. It ends never. */
import { setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Delivered } from "../protocol/kernel-events.ts";
import { Parts } from "../protocol/parts.ts";
import { decide } from "./decide.ts";

interface StaticChild {
  name: string;
  chart: string;
  spec: string;
  input: JsonObject;
}

interface SupervisorContext {
  children: Parts<{ chart: string }>;
}

type SupervisorEvent = Delivered & { type: "child.start"; name: string; chart: string; spec: string; input: JsonObject };

export const supervisorMachine = setup({
  types: {} as { context: SupervisorContext; events: SupervisorEvent; input: { children?: StaticChild[] } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    children: (input.children ?? []).reduce((all, child) => all.put(child.name, { chart: child.chart }), Parts.empty<{ chart: string }>()),
  }),
  initial: "serving",
  entry: decide<SupervisorContext, { input: { children?: StaticChild[] } }>((_, event) => ({
    effects: (event.input.children ?? []).map(({ name, chart, spec, input }) => ({ type: "spawn", params: { name, chart, spec, input } })),
  })),
  states: {
    serving: {
      on: {
        "child.start": {
          actions: decide<SupervisorContext, SupervisorEvent>(({ children }, { name, chart, spec, input, token }) => {
            const answer =
              token === undefined ? [] : [{ type: "reply" as const, params: { token, value: { started: !children.has(name) } } }];
            if (children.has(name)) return { effects: answer };
            return {
              set: { children: children.put(name, { chart }) },
              effects: [{ type: "spawn", params: { name, chart, spec, input } }, ...answer],
            };
          }),
        },
      },
    },
  },
});
