/** Who lives where and how each kind is supervised (design §4). The half dozen combinations in use, by name. */
import type { ChildSpec } from "../protocol/effects.ts";
import type { JsonObject } from "../protocol/json.ts";
import { callMachine, callOutput, type CallContext } from "../machines/index.ts";
import {
  agentMachine,
  type AgentContext,
  endOf,
  freeSlots,
  poolMachine,
  type PoolContext,
  sessionMachine,
  type SessionContext,
  slotHolders,
  supervisorMachine,
  turnMachine,
  type TurnContext,
} from "../machines/index.ts";
import type { ChartDefinition } from "./kernel/chart.ts";

const budget = { intensity: 3, periodMs: 60_000 };

export const specs: Readonly<Record<string, ChildSpec>> = {
  root: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget, shard: "root" },
  /** Fixed supervisors: never stopped by hand. */
  fixed: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget },
  agent: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget, shard: "self" },
  /** Slots, of a persona or of the process. */
  pool: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget },
  session: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget, line: true },
  /** Its engine request ends within milliseconds of an abort; past this it is lost. */
  turn: { restart: "transient", shutdown: 10_000, identity: "keep", past: "fail", ...budget },
  /** 2 s from TERM to KILL, 5 s until a process that lives on counts as lost, and a little. */
  call: { restart: "temporary", shutdown: 9_000, identity: "keep", past: "fail", ...budget },
};

export const root: { chart: string; spec: string; input: JsonObject } = {
  chart: "supervisor",
  spec: "root",
  input: { children: [{ name: "agents", chart: "supervisor", spec: "fixed", input: {} }] },
};

export const charts: readonly ChartDefinition[] = [
  { name: "supervisor", version: 1, machine: supervisorMachine, ignore: ["resumed"] },
  {
    name: "agent",
    version: 1,
    machine: agentMachine,
    ignore: ["stopped", "erase.aborted"],
    describe: (context) => ({
      detail: { agent: (context as unknown as AgentContext).agent, sessions: (context as unknown as AgentContext).sessions.size },
    }),
  },
  {
    name: "pool",
    version: 1,
    machine: poolMachine,
    ignore: ["stopped"],
    holders: (context) => slotHolders(context as unknown as PoolContext),
    describe: describePool,
  },
  { name: "session", version: 1, machine: sessionMachine, describe: describeSession },
  {
    name: "turn",
    version: 1,
    machine: turnMachine,
    ignore: ["prepare.aborted", "prepare.interrupted"],
    describe: describeTurn,
    lastWords: (context) => endOf(context as unknown as TurnContext) as never,
  },
  {
    name: "call",
    version: 1,
    machine: callMachine,
    ignore: ["stop", "resumed"],
    describe: describeCall,
    lastWords: (context) => callOutput(context as unknown as CallContext) as never,
  },
];

function describePool(context: Record<string, unknown>): { detail: JsonObject } {
  const pool = context as unknown as PoolContext;
  return { detail: { cap: pool.cap, used: pool.holders.size, free: freeSlots(pool), waiting: pool.waiters.size } };
}

function describeSession(context: Record<string, unknown>): { detail: JsonObject } {
  const { title, queue, steers, running, held, lastAt, lastEnd = null, createdAt, cwd, model } = context as unknown as SessionContext;
  return { detail: { title, queued: queue.size, steers: steers.size, running, held, lastAt, lastEnd, createdAt, cwd, model } };
}

function describeTurn(
  context: Record<string, unknown>,
  state: string,
): { detail: JsonObject; waitingFor?: { what: string; since: number } } {
  const { turnId, round, attempt, prepared, origin, callsUsed, waitMs, forced } = context as unknown as TurnContext;
  const detail: JsonObject = {
    turnId,
    round,
    attempt,
    calls: callsUsed,
    model: prepared?.ref ?? null,
    rehearsal: prepared?.rehearsal ?? false,
    maxRounds: prepared?.maxRounds ?? null,
    origin: origin.kind,
    forced,
  };
  if (state === "waiting")
    return {
      detail,
      waitingFor: { what: `the model server, which asked to be tried again after ${Math.ceil(waitMs / 1000)} s`, since: 0 },
    };
  if (state === "calling") return { detail, waitingFor: { what: prepared?.ref ?? "the model", since: 0 } };
  return { detail };
}

function describeCall(context: Record<string, unknown>): { detail: JsonObject } {
  const { tool, about, callId, limitMs } = context as unknown as CallContext;
  return { detail: { tool, about, callId, limitMs } };
}
