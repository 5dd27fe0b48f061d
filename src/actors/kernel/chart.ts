/**
 * The only file that knows XState. It turns a machine into a `Chart`: pure `init` and `step` that give the next snapshot and
 * the effects asked for, as data; and `freeze` / `thaw` between a snapshot and its stored form.
 *
 * Owns: what a chart may use (design §3.1), refused at registration; collecting effects with one reused scope; the check that
 * context equals its own JSON; `Parts`. Its neighbour is `rounds.ts`, which alone calls `init` and `step`.
 *
 * 1. A step that throws, ends in status `error`, names an unknown action or leaves a context that is not JSON changes nothing.
 * 2. Only what the step replaced is looked at, by reference.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { EFFECT_TYPES, type Effect } from "../../protocol/effects.ts";
import type { Address } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { Parts } from "../../protocol/parts.ts";
import { ChartRefused } from "./refusals.ts";

export interface ChartDefinition {
  /** The `kind` of its actors; unique. */
  name: string;
  /** Raised with every change that stored rows must be migrated for. */
  version: number;
  machine: AnyStateMachine;
  /** Events that may come in a state that does not take them. Every other one that is not taken is counted. */
  ignore?: readonly string[];
  /** A few plain facts for watchers; pure. */
  describe?(context: Record<string, unknown>, state: string): { detail: JsonObject; waitingFor?: { what: string; since: number } };
  /** Of a pool with nothing free: who holds what it gives out. A wait for it ends when one of them gives back; pure. */
  holders?(context: Record<string, unknown>): Address[];
  /** What `down` carries as output when the actor ends before its chart does (stopped, crashed): what is known by then; pure. */
  lastWords?(context: Record<string, unknown>): Json;
  /** Brings a stored row body of an earlier version up to date; called with the version it was written with. */
  migrate?(stored: StoredSnapshot, from: number): StoredSnapshot;
}

export interface StoredSnapshot {
  value: Json;
  context: JsonObject;
  history: Json;
  status: string;
  output: Json;
}

export interface StepResult {
  snapshot: AnyMachineSnapshot;
  effects: Effect[];
  /** False when no transition took the event. */
  taken: boolean;
}

interface Collected {
  type: string;
  params: unknown;
}

/** XState looks at `self` and `system` in passing; a chart that really uses one fails here. */
const refuseUse = new Proxy({}, { get: (_, name) => (name === "_sendInspectionEvent" || name === "id" ? () => undefined : undefined) });
let collected: Collected[] = [];
const scope = {
  self: refuseUse,
  system: refuseUse,
  id: "",
  sessionId: "",
  logger: (): void => {},
  defer: (): void => {},
  stopChild: (): void => {},
  emit: (): void => {},
  actionExecutor: (action: Collected): void => {
    collected.push({ type: action.type, params: action.params });
  },
} as never;

const MAX_ITERATIONS = 1000;
const BUILT_IN = new Set(["xstate.assign", "xstate.raise", "xstate.cancel", "xstate.enqueueActions"]);

export class Chart {
  readonly name: string;
  readonly version: number;
  readonly definition: ChartDefinition;
  readonly #machine: AnyStateMachine;
  readonly #ignore: ReadonlySet<string>;

  constructor(definition: ChartDefinition) {
    refuseForbidden(definition);
    this.name = definition.name;
    this.version = definition.version;
    this.definition = definition;
    this.#machine = definition.machine;
    (this.#machine as { options: { maxIterations?: number } }).options = {
      ...(this.#machine as { options?: object }).options,
      maxIterations: MAX_ITERATIONS,
    };
    this.#ignore = new Set(definition.ignore ?? []);
  }

  init(input: JsonObject): StepResult {
    const { snapshot, effects } = collect(() => this.#machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot);
    checkContext({}, snapshot.context as Record<string, unknown>);
    return { snapshot, effects, taken: true };
  }

  step(before: AnyMachineSnapshot, event: { type: string; [field: string]: unknown }): StepResult {
    const { snapshot, effects } = collect(() => this.#machine.transition(before, event, scope) as AnyMachineSnapshot);
    if (snapshot.context !== before.context)
      checkContext(before.context as Record<string, unknown>, snapshot.context as Record<string, unknown>);
    const taken =
      snapshot !== before ||
      effects.length > 0 ||
      this.#ignore.has(event.type) ||
      (this.#machine.getTransitionData(before, event)?.length ?? 0) > 0;
    return { snapshot, effects, taken };
  }

  /** What is stored. `Parts` are left out: their entries are rows of their own. */
  freeze(snapshot: AnyMachineSnapshot): StoredSnapshot {
    const context: JsonObject = {};
    for (const [key, value] of Object.entries(snapshot.context as Record<string, unknown>))
      context[key] = value instanceof Parts ? { $parts: key } : (value as Json);
    const history = snapshot.historyValue as Record<string, { id: string }[]>;
    const kept: JsonObject = {};
    for (const key in history) kept[key] = (history[key] ?? []).map((node) => ({ id: node.id }));
    return { value: snapshot.value as Json, context, history: kept, status: snapshot.status, output: (snapshot.output ?? null) as Json };
  }

  thaw(stored: StoredSnapshot, version: number, parts: (collection: string) => Iterable<readonly [string, Json]>): AnyMachineSnapshot {
    let current = stored;
    if (version !== this.version) {
      if (!this.definition.migrate)
        throw new ChartRefused(
          this.name,
          `rows of version ${version} cannot be read by version ${this.version}: the chart has no migration`,
        );
      current = this.definition.migrate(stored, version);
    }
    const context: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(current.context)) context[key] = isPartsMark(value) ? Parts.of(parts(key)) : value;
    const shaped = {
      value: current.value,
      context,
      historyValue: current.history,
      status: current.status,
      output: current.output ?? undefined,
      children: {},
      error: undefined,
    };
    return this.#machine.restoreSnapshot(shaped as never, scope) as AnyMachineSnapshot;
  }
}

/** `calling.waiting` for nested, `a|b` for parallel regions. */
export function stateName(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "?";
  return Object.entries(value as Record<string, unknown>)
    .map(([key, inner]) => {
      const below = stateName(inner);
      return below === "" || below === "{}" ? key : `${key}.${below}`;
    })
    .join("|");
}

function isPartsMark(value: Json): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && typeof value["$parts"] === "string";
}

function collect(run: () => AnyMachineSnapshot): { snapshot: AnyMachineSnapshot; effects: Effect[] } {
  collected = [];
  const snapshot = run();
  const actions = collected;
  collected = [];
  if (snapshot.status === "error") throw snapshot.error instanceof Error ? snapshot.error : new Error(String(snapshot.error));
  const effects: Effect[] = [];
  for (const { type, params } of actions) {
    if (type === "xstate.raise") {
      const { id, delay, event } = params as { id?: string; delay?: number; event: { type: string } };
      if (delay === undefined) continue; // stands in the list too; it was taken within this very step
      if (id === undefined) throw new Error(`a delayed raise of "${event.type}" needs an id, or nothing can cancel it`);
      effects.push({ type: "timer.set", params: { id, event, after: delay } });
    } else if (type === "xstate.cancel") {
      effects.push({ type: "timer.cancel", params: { id: cancelId(params) } });
    } else if (EFFECT_TYPES.has(type)) {
      effects.push({ type, params } as Effect);
    } else {
      throw new Error(`unknown action "${type}"`);
    }
  }
  return { snapshot, effects };
}

function cancelId(params: unknown): string {
  return typeof params === "string" ? params : String((params as { sendId?: string }).sendId ?? params);
}

/** Crash when a replaced part of the context is not equal to its own JSON (`undefined` too). */
function checkContext(before: Record<string, unknown>, after: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(after)) if (value !== before[key]) checkJson(value, key, 0);
}

function checkJson(value: unknown, path: string, depth: number): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw new Error(`context.${path} is ${value}, which JSON cannot hold`);
  }
  if (depth === 0 && value instanceof Parts) return;
  if (depth > 40) throw new Error(`context.${path} is nested deeper than 40 levels`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) checkJson(value[index], `${path}[${index}]`, depth + 1);
    return;
  }
  if (typeof value === "object") {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      for (const [key, inner] of Object.entries(value)) checkJson(inner, `${path}.${key}`, depth + 1);
      return;
    }
  }
  throw new Error(
    `context.${path} is ${value === undefined ? "undefined" : `a ${typeof value}`}, which JSON cannot hold; write null or plain data`,
  );
}

interface NodeLike {
  id: string;
  invoke: unknown[];
  entry: unknown[];
  exit: unknown[];
  transitions: Map<string, { actions: unknown[] }[]>;
  always?: { actions: unknown[] }[];
  states: Record<string, NodeLike>;
}

function refuseForbidden(definition: ChartDefinition): void {
  const visit = (node: NodeLike): void => {
    if (node.invoke.length > 0) throw new ChartRefused(definition.name, `${node.id} invokes an actor; use perform or spawn`);
    const actions = [...node.entry, ...node.exit, ...(node.always ?? []).flatMap((each) => each.actions)];
    for (const list of node.transitions.values()) for (const each of list) actions.push(...each.actions);
    for (const action of actions) {
      const type = typeof action === "string" ? action : (action as { type?: string }).type;
      if (
        typeof action === "function"
          ? !BUILT_IN.has(type ?? "")
          : !(EFFECT_TYPES.has(type ?? "") || BUILT_IN.has(type ?? "") || isNamed(definition, type))
      ) {
        throw new ChartRefused(
          definition.name,
          `${node.id} uses the action "${type ?? "(inline function)"}"; effects are ${[...EFFECT_TYPES].join(", ")}`,
        );
      }
    }
    for (const below of Object.values(node.states)) visit(below);
  };
  visit(definition.machine.root as unknown as NodeLike);
}

/** A named action of the machine's own `setup` that is a built-in (a named assign, an enqueueActions). */
function isNamed(definition: ChartDefinition, type: string | undefined): boolean {
  const named = (definition.machine as unknown as { implementations: { actions: Record<string, { type?: string } | undefined> } })
    .implementations.actions[type ?? ""];
  return named !== undefined && BUILT_IN.has(named.type ?? "");
}
