/** One tool call: runs it, and ends with what came of it. Its parent writes the row. */
import { assign, setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import type { Token } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { OutcomeFields } from "../protocol/kernel-events.ts";
import type { PayloadRef } from "../protocol/payload.ts";

export interface CallContext {
  tool: string;
  callId: string;
  about: string;
  request: JsonObject;
  repeatable: boolean;
  limitMs: number;
  token: Token | null;
  startedAt: number;
  end: CallEnd | null;
}

/** What `down` carries of a call, also of one that was stopped before its end (then `end` is null). */
export interface CallOutput {
  token: Token | null;
  end: CallEnd | null;
}

export const callOutput = (context: CallContext): CallOutput => ({ token: context.token, end: context.end });

export interface CallEnd {
  [field: string]: unknown;
  ok: boolean;
  summary: string;
  code: string | null;
  ms: number;
  filesWritten: string[];
  changes: JsonObject[];
  processes: number;
  /** The whole output as stored JSON text; null when there is none (interrupted, crashed). */
  output: PayloadRef | null;
  interrupted: boolean;
  known: JsonObject | null;
}

type ToolOutcome = OutcomeFields & { type: "tool.done" | "tool.failed" | "tool.aborted" | "tool.interrupted" };

const endFrom = ({ context, event }: { context: CallContext; event: ToolOutcome }): Partial<CallContext> => {
  const value = (event.value ?? {}) as Partial<CallEnd>;
  const status = event.type.slice("tool.".length);
  const output = event.payloads?.[0] ?? null;
  const fallback =
    status === "done"
      ? { code: null, summary: "done" }
      : status === "aborted"
        ? { code: "TOOL_CANCELLED", summary: event.started === false ? "stopped before it began" : "stopped" }
        : status === "interrupted"
          ? { code: "TOOL_INTERRUPTED", summary: "interrupted, outcome unknown" }
          : { code: event.error?.code ?? "TOOL_FAILED", summary: event.error?.message ?? "failed" };
  return {
    end: {
      ok: status === "done" && value.ok !== false,
      summary: value.summary ?? fallback.summary,
      code: value.code ?? fallback.code,
      ms: value.ms ?? Math.max(0, event.at - context.startedAt),
      filesWritten: value.filesWritten ?? [],
      changes: value.changes ?? [],
      processes: value.processes ?? 0,
      output,
      interrupted: status === "interrupted",
      known: status === "interrupted" && value !== null && typeof value === "object" ? (value as JsonObject) : null,
    },
  };
};

export const callMachine = setup({
  types: {} as {
    context: CallContext;
    events: ToolOutcome;
    input: Pick<CallContext, "tool" | "callId" | "about" | "request" | "repeatable" | "limitMs"> & { token?: Token; at: number };
    output: CallOutput;
  },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    tool: input.tool,
    callId: input.callId,
    about: input.about,
    request: input.request,
    repeatable: input.repeatable,
    limitMs: input.limitMs,
    token: input.token ?? null,
    startedAt: input.at,
    end: null,
  }),
  initial: "running",
  output: ({ context }) => callOutput(context),
  states: {
    running: {
      entry: {
        type: "perform",
        params: ({ context }) => ({ name: "tool", driver: "tool", request: context.request, repeatable: context.repeatable }),
      },
      on: {
        "tool.done": { target: "ended", actions: assign(endFrom) },
        "tool.failed": { target: "ended", actions: assign(endFrom) },
        "tool.aborted": { target: "ended", actions: assign(endFrom) },
        "tool.interrupted": { target: "ended", actions: assign(endFrom) },
      },
    },
    ended: { type: "final" },
  },
});
