/** Steps a chart by hand: events in, state and effects out. Nothing runs. */
import { initialTransition, transition, type AnyMachineSnapshot, type AnyStateMachine } from "xstate";
import type { Effect } from "../../src/protocol/effects.ts";

export class Play {
  snapshot: AnyMachineSnapshot;
  effects: Effect[];
  readonly #machine: AnyStateMachine;
  #n = 0;

  constructor(machine: AnyStateMachine, input: object) {
    this.#machine = machine;
    const [snapshot, actions] = initialTransition(machine, input as never);
    this.snapshot = snapshot as AnyMachineSnapshot;
    this.effects = actions as unknown as Effect[];
  }

  /** The effects of this step. Each event gets an id and a token of its own. */
  send(event: { type: string; [field: string]: unknown }): Effect[] {
    this.#n += 1;
    const [snapshot, actions] = transition(this.#machine, this.snapshot, {
      id: `1.1.${this.#n}`,
      at: 1000 + this.#n,
      from: "door",
      token: `t${this.#n}`,
      ...event,
    });
    this.snapshot = snapshot as AnyMachineSnapshot;
    this.effects = (actions as unknown as Effect[]).filter(
      (effect) => !(effect.type as string).startsWith("xstate.raise") || (effect.params as { delay?: number }).delay !== undefined,
    );
    return this.effects;
  }

  get state(): unknown {
    return this.snapshot.value;
  }

  get done(): boolean {
    return this.snapshot.status === "done";
  }

  of<Type extends Effect["type"]>(type: Type): Extract<Effect, { type: Type }>["params"][] {
    return this.effects.filter((effect) => effect.type === type).map((effect) => effect.params) as never;
  }

  rows(kind: string): { [field: string]: unknown }[] {
    return this.of("record")
      .filter((row) => row.kind === kind)
      .map((row) => row.data);
  }
}
