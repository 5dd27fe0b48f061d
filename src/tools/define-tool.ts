/**
 * The form a tool fills in: words for the model, input, needs, limits, a few lines of work. Everything around a call (gating,
 * validation, time limit, cancel, result cap, errors) is done by the runner, `run-tool.ts`.
 */
import { z } from "zod";
import type { Clock } from "../ports/clock.port.ts";
import type { CallFiles, CallProcesses, CallScope, Docs } from "../ports/host.port.ts";
import type { Json } from "../protocol/json.ts";

/** What a tool may need. A tool whose needs are not there is not offered. */
export interface ToolPorts {
  files: CallFiles;
  processes: CallProcesses;
  docs: Docs;
  clock: Clock;
}
export type PortName = keyof ToolPorts;

export type ToolContext<Needs extends PortName> = Pick<ToolPorts, Needs> & Omit<CallScope, "effectKey">;

/** Read like JSON; fields that are `undefined` are left out. */
export type ToolData = { [field: string]: unknown };

export type ToolRecoveryData =
  | { kind: "done"; data: ToolData }
  | { kind: "not-started" }
  | { kind: "unknown"; known: { [field: string]: Json } };

export interface ToolLimits {
  /** Time limit of a call; absent: `agentLoop.toolCallTimeoutMs`. */
  timeoutMs?: number;
  /** On top of the limit, for a tool that keeps its own limit and answers by itself when it is over. */
  marginMs?: number;
  /** Characters of JSON; beyond that the result is shortened and kept whole in a file. */
  maxResultSizeChars?: number;
}

export interface ToolForm<Shape extends z.ZodRawShape, Needs extends PortName, Data extends ToolData> {
  name: string;
  toolset: string;
  /** Policy text for the model: what it is for, and what to prefer instead. */
  description: string;
  input: z.ZodObject<Shape>;
  needs: readonly Needs[];
  /** Running it twice harms nothing. */
  repeatable: boolean;
  limits?: ToolLimits;
  /** A limit that the call's own arguments ask for. */
  timeoutOf?(input: z.output<z.ZodObject<Shape>>): number;
  run(input: z.output<z.ZodObject<Shape>>, context: ToolContext<Needs>): Promise<Data>;
  /** A few words for the card. */
  summary?(data: Data): string;
  /** After a crash, for a tool that may not simply be run again: what became of the call. */
  recover?(input: z.output<z.ZodObject<Shape>>, context: ToolContext<Needs>): Promise<ToolRecoveryData>;
}

/** Thrown by a tool that was ended by its signal and has something to say about how far it came. */
export class ToolStopped extends Error {
  readonly known: { [field: string]: Json };

  constructor(known: { [field: string]: Json } = {}) {
    super("stopped");
    this.name = "ToolStopped";
    this.known = known;
  }
}

/** A filled-in form with its types closed over: what registry and runner handle. */
export interface Tool {
  readonly name: string;
  readonly toolset: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly fields: readonly string[];
  readonly needs: readonly PortName[];
  readonly repeatable: boolean;
  readonly limits: ToolLimits;
  parse(input: unknown): { success: true; input: unknown } | { success: false; issues: z.core.$ZodIssue[] };
  /** Null: the general limit counts. */
  timeoutOf(input: unknown): number | null;
  run(input: unknown, context: ToolContext<PortName>): Promise<ToolData>;
  summary(data: ToolData): string | null;
  recover: ((input: unknown, context: ToolContext<PortName>) => Promise<ToolRecoveryData>) | null;
}

export function defineTool<Shape extends z.ZodRawShape, Needs extends PortName, Data extends ToolData>(
  form: ToolForm<Shape, Needs, Data>,
): Tool {
  const schema = form.input.strict();
  type Input = z.output<z.ZodObject<Shape>>;
  const { recover } = form;
  return {
    name: form.name,
    toolset: form.toolset,
    description: form.description,
    inputSchema: schemaOf(schema),
    fields: Object.keys(form.input.shape),
    needs: form.needs,
    repeatable: form.repeatable,
    limits: form.limits ?? {},
    parse(input) {
      const parsed = schema.safeParse(input, { reportInput: true });
      return parsed.success ? { success: true, input: parsed.data } : { success: false, issues: parsed.error.issues };
    },
    // The runner hands over what `parse` gave and the ports that `needs` names.
    timeoutOf: (input) => form.timeoutOf?.(input as Input) ?? form.limits?.timeoutMs ?? null,
    run: (input, context) => form.run(input as Input, context),
    summary: (data) => form.summary?.(data as Data) ?? null,
    recover: recover === undefined ? null : (input, context) => recover(input as Input, context),
  };
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return z.json().parse(JSON.parse(JSON.stringify(rest)));
}
