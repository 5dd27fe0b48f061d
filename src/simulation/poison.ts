/** The charts of a world, with poison and a count of which chart heard what in which state. */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { type ChartDefinition, stateName } from "../actors/kernel/chart.ts";

export interface Heard {
  chart: string;
  state: string;
  event: string;
  address: string | null;
}

/** `isPoison`: true makes the step throw. The first step of an actor comes as event `start` in state `starting`. */
export function poisoned(charts: readonly ChartDefinition[], isPoison: (heard: Heard) => boolean): ChartDefinition[] {
  return charts.map((definition) => {
    const { machine, name } = definition;
    const over = Object.create(machine) as AnyStateMachine;
    const ask = (state: string, event: string, address: unknown): void => {
      if (isPoison({ chart: name, state, event, address: typeof address === "string" ? address : null }))
        throw new Error(`planted poison in "${event}"`);
    };
    over.transition = ((...given: Parameters<AnyStateMachine["transition"]>) => {
      const [before, event] = given as unknown as [AnyMachineSnapshot, { type: string }];
      ask(stateName(before.value), event.type, (before.context as { address?: unknown }).address);
      return machine.transition(...given);
    }) as AnyStateMachine["transition"];
    over.getInitialSnapshot = ((...given: Parameters<AnyStateMachine["getInitialSnapshot"]>) => {
      ask("starting", "start", (given[1] as { address?: unknown } | undefined)?.address);
      return machine.getInitialSnapshot(...given);
    }) as AnyStateMachine["getInitialSnapshot"];
    return { ...definition, machine: over };
  });
}
