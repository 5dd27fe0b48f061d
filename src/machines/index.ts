/** All charts. A new one is a file and a line here. */
export { agentMachine, type AgentContext } from "./agent.machine.ts";
export { callMachine, callOutput, type CallContext, type CallEnd, type CallOutput } from "./call.machine.ts";
export { freeSlots, poolMachine, slotHolders, type PoolContext } from "./pool.machine.ts";
export { sessionMachine } from "./session.machine.ts";
export type { QueueItem, SessionContext, SteerItem, TurnItem } from "./session-types.ts";
export { supervisorMachine } from "./supervisor.machine.ts";
export { turnMachine } from "./turn.machine.ts";
export { endOf } from "./turn-rounds.ts";
export type { AskedCall, Prepared, RoundValue, TurnContext, TurnEnd } from "./turn-types.ts";
