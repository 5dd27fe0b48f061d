/**
 * One call from its name to its result. Order: name, gating, availability, input, work under a time limit and the caller's
 * signal, cap. Never rejects: what goes wrong is a result with `ok: false` that says what to do next.
 */
import type { Clock } from "../ports/clock.port.ts";
import type { CallScope, ToolHost } from "../ports/host.port.ts";
import type { AgentSettings, SettingsPort } from "../ports/settings.port.ts";
import type { ToolCallContext, ToolCallRequest, ToolCallResult, ToolRecovery } from "../ports/tools.port.ts";
import { closeNames } from "../protocol/close-names.ts";
import { SomoraError } from "../protocol/errors.ts";
import type { ToolOutput } from "../protocol/history.ts";
import type { Json } from "../protocol/json.ts";
import { wellFormed } from "../protocol/well-formed.ts";
import { capResult, DEFAULT_CAP } from "./cap-result.ts";
import { checkInput } from "./check-input.ts";
import { ToolStopped, type PortName, type Tool, type ToolContext, type ToolData, type ToolPorts } from "./define-tool.ts";
import { isOffered } from "./gating.ts";
import type { Registry } from "./registry.ts";

/** After a stop or a time limit the tool has this long to end by itself: grace, kill and lost of a command fit in. */
const END_MS = 9_000;

export interface RunnerOptions {
  registry: Registry;
  settings: SettingsPort;
  clock: Clock;
  host: ToolHost;
  /** What is there for all calls; `files` and `processes` are made per call. */
  shared: Pick<Partial<ToolPorts>, "docs">;
  log: (line: string, fields: Record<string, unknown>) => void;
}

export interface Runner {
  run(request: ToolCallRequest, context: ToolCallContext): Promise<ToolCallResult>;
  recover(request: ToolCallRequest): Promise<ToolRecovery>;
  isAvailable(tool: Tool): boolean;
}

interface Call {
  tool: Tool;
  input: unknown;
  ports: ToolContext<PortName>;
}

export function createRunner(options: RunnerOptions): Runner {
  const { clock, host, log } = options;

  function isAvailable(tool: Tool): boolean {
    return tool.needs.every((need) => need !== "docs" || options.shared.docs !== undefined);
  }

  /** The tool, if this agent may have it. */
  function chosenTool(name: string, agent: AgentSettings): Tool {
    const tool = options.registry.get(name);
    if (tool === null) {
      const near = closeNames(
        name,
        options.registry.all.filter((other) => isOffered(other, rulesOf(agent)) && isAvailable(other)).map((other) => other.name),
      );
      throw new SomoraError("TOOL_UNKNOWN", `There is no tool ${JSON.stringify(name)}.`, {
        hint: near.length > 0 ? `Close names: ${near.join(", ")}.` : "Call one of the tools you were offered.",
        ...(near.length > 0 ? { details: { close: near } } : {}),
      });
    }
    if (!isOffered(tool, rulesOf(agent))) {
      throw new SomoraError("TOOL_DENIED", `The rules of agent ${agent.name} hide the tool ${name}.`, {
        hint: `A person can turn it on in agents/${agent.name}/agent.yaml: tools: { allow: [${name}] }. Go on without it.`,
      });
    }
    if (!isAvailable(tool))
      throw new SomoraError("TOOL_UNAVAILABLE", `The tool ${name} is not there now: ${tool.needs.join(", ")} is missing.`, {
        hint: "Go on without it.",
      });
    return tool;
  }

  function agentOf(name: string): AgentSettings {
    const agent = options.settings.agent(name);
    if (agent === null)
      throw new SomoraError("AGENT_UNKNOWN", `There is no agent ${JSON.stringify(name)}.`, {
        hint: `Known agents: ${options.settings.agents().join(", ") || "none"}.`,
      });
    return agent;
  }

  function prepare(request: ToolCallRequest, scope: CallScope): Call {
    const tool = chosenTool(request.tool, agentOf(request.agent));
    const { effectKey: _, ...context } = scope;
    const ports: Partial<ToolPorts> = { clock, files: host.files(scope), processes: host.processes(scope), ...options.shared };
    // Which of them are there was asked above; a tool sees only those it names.
    return { tool, input: checkInput(tool, request.input), ports: { ...context, ...(ports as ToolPorts) } };
  }

  async function run(request: ToolCallRequest, context: ToolCallContext): Promise<ToolCallResult> {
    const began = clock.monotonic();
    const ending = new AbortController();
    const scope: CallScope = { ...request, signal: ending.signal, progress: (text) => context.progress(wellFormed(text)) };
    let call: Call | null = null;
    let outcome: { output: ToolOutput; summary: string; extra?: Partial<ToolCallResult> };
    try {
      if (context.signal.aborted) throw new ToolStopped();
      call = prepare(request, scope);
      const data = await underLimit(call, request, context.signal, ending);
      outcome = await success(call.tool, request, data);
    } catch (error) {
      outcome = failure(error, request, log);
    }
    return {
      output: outcome.output,
      summary: outcome.summary,
      ms: Math.round(clock.monotonic() - began),
      filesWritten: [...(call?.ports.files.written ?? [])],
      changes: [...(call?.ports.files.changes ?? [])],
      ...processesOf(call),
      ...outcome.extra,
    };
  }

  function underLimit(call: Call, request: ToolCallRequest, signal: AbortSignal, ending: AbortController): Promise<ToolData> {
    const limit = limitFor(call.tool, call.input, agentOf(request.agent).loop.toolCallTimeoutMs);
    return new Promise((resolve, reject) => {
      const timers: (() => void)[] = [];
      const stop = (why: "cancelled" | "timeout"): void => {
        if (ending.signal.aborted) return;
        const said =
          why === "timeout"
            ? new SomoraError("TOOL_TIMEOUT", `${call.tool.name} ran past its limit of ${limit} ms and was ended.`, {
                hint: "Ask for less at once, or give a longer limit where the tool takes one.",
              })
            : new ToolStopped();
        ending.abort(said);
        timers.push(clock.setTimer(END_MS, () => settle(() => reject(said))));
      };
      const onAbort = (): void => stop("cancelled");
      const settle = (end: () => void): void => {
        for (const cancel of timers) cancel();
        signal.removeEventListener("abort", onAbort);
        end();
      };
      timers.push(clock.setTimer(limit + (call.tool.limits.marginMs ?? 0), () => stop("timeout")));
      signal.addEventListener("abort", onAbort, { once: true });
      // Async, so that a throw before the first promise is a rejection like any other.
      const work = async (): Promise<ToolData> => call.tool.run(call.input, call.ports);
      work().then(
        (data) => settle(() => resolve(data)),
        // What a tool throws because we ended it is our ending, unless it says more itself.
        (error: unknown) =>
          settle(() =>
            reject(
              ending.signal.aborted && !(error instanceof SomoraError) && !(error instanceof ToolStopped) ? ending.signal.reason : error,
            ),
          ),
      );
    });
  }

  async function success(tool: Tool, request: ToolCallRequest, data: ToolData): Promise<{ output: ToolOutput; summary: string }> {
    const cap = tool.limits.maxResultSizeChars ?? DEFAULT_CAP;
    const capped = await capResult(data, cap, (text) => host.saveOverflow(request.agent, tool.name, text, "json"));
    return { output: { ok: true, data: capped }, summary: tool.summary(data) ?? "done" };
  }

  async function recover(request: ToolCallRequest): Promise<ToolRecovery> {
    const scope: CallScope = { ...request, signal: new AbortController().signal, progress: () => {} };
    const began = clock.monotonic();
    let call: Call;
    try {
      call = prepare(request, scope);
    } catch (error) {
      // Refused before any work, then as now: running it again only says so.
      if (error instanceof SomoraError) return { kind: "not-started" };
      throw error;
    }
    if (call.tool.recover === null) return call.tool.repeatable ? { kind: "not-started" } : { kind: "unknown", known: {} };
    const found = await call.tool.recover(call.input, call.ports);
    if (found.kind === "not-started") return found;
    if (found.kind === "unknown") return { kind: "unknown", known: found.known };
    const { output, summary } = await success(call.tool, request, found.data);
    return {
      kind: "done",
      result: {
        output,
        summary,
        ms: Math.round(clock.monotonic() - began),
        filesWritten: [...call.ports.files.written],
        changes: [...call.ports.files.changes],
      },
    };
  }

  return { run, recover, isAvailable };
}

function processesOf(call: Call | null): Pick<ToolCallResult, "endedProcesses" | "lost"> {
  const { endedProcesses = 0, lost = [] } = call?.ports.processes ?? {};
  return { ...(endedProcesses > 0 ? { endedProcesses } : {}), ...(lost.length > 0 ? { lost: [...lost] } : {}) };
}

export function rulesOf(agent: AgentSettings): { kind: "chat" | "builder"; deny: string[]; allow: string[] } {
  return { kind: agent.kind, ...agent.tools };
}

export function limitFor(tool: Tool, input: unknown, general: number): number {
  return tool.timeoutOf(input) ?? general;
}

function failure(
  error: unknown,
  request: ToolCallRequest,
  log: RunnerOptions["log"],
): { output: ToolOutput; summary: string; extra?: Partial<ToolCallResult> } {
  if (error instanceof ToolStopped) {
    const body = {
      ...error.known,
      code: "TOOL_CANCELLED",
      message: `${request.tool} was stopped before it ended.`,
      hint: "It was not repeated. What it had done until then stays.",
    };
    return { output: { ok: false, error: body }, summary: "stopped", extra: { aborted: true } };
  }
  const known = error instanceof SomoraError ? error : unforeseen(error, request, log);
  const aborted = known.code === "TOOL_CANCELLED";
  return { output: { ok: false, error: bodyOf(known) }, summary: firstWords(known.message), ...(aborted ? { extra: { aborted } } : {}) };
}

function unforeseen(error: unknown, request: ToolCallRequest, log: RunnerOptions["log"]): SomoraError {
  log("a tool failed in a way it does not know", { tool: request.tool, callId: request.callId, error });
  const reason = error instanceof Error ? error.message : String(error);
  return new SomoraError("TOOL_FAILED", `${request.tool} failed: ${wellFormed(reason)}.`, {
    hint: "Try another way, or tell the person what did not work.",
    cause: error,
  });
}

function bodyOf(error: SomoraError): { [field: string]: Json; code: string; message: string } {
  const body = error.toBody();
  return { ...(body as { [field: string]: Json }), code: body.code, message: wellFormed(body.message) };
}

function firstWords(text: string): string {
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
