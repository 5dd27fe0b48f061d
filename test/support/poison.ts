/** Charts with a planted throw: which events of which chart are poison is asked for each one. */
import type { AnyStateMachine } from "xstate";
import type { ChartDefinition } from "../../src/actors/kernel/chart.ts";
import { charts } from "../../src/actors/tree.ts";

export interface PoisonEvent {
  type: string;
  id?: string;
  [field: string]: unknown;
}

/** `isPoison(chart, event)`: true makes the step throw. The very first step of an actor comes as type `start`. */
export function poisonedCharts(isPoison: (chart: string, event: PoisonEvent) => boolean): ChartDefinition[] {
  return charts.map((definition) => ({ ...definition, machine: planted(definition.machine, (event) => isPoison(definition.name, event)) }));
}

function planted(machine: AnyStateMachine, isPoison: (event: PoisonEvent) => boolean): AnyStateMachine {
  const over = Object.create(machine) as AnyStateMachine;
  const act = (event: PoisonEvent): void => {
    if (isPoison(event)) throw new Error(`planted poison in "${event.type}"`);
  };
  over.transition = ((...given: Parameters<AnyStateMachine["transition"]>) => {
    act(given[1] as PoisonEvent);
    return machine.transition(...given);
  }) as AnyStateMachine["transition"];
  over.getInitialSnapshot = ((...given: Parameters<AnyStateMachine["getInitialSnapshot"]>) => {
    act({ type: "start" });
    return machine.getInitialSnapshot(...given);
  }) as AnyStateMachine["getInitialSnapshot"];
  return over;
}
