/** The pools of slots: one for the process, one in each persona, with the caps that config.yaml says (design §6). */
import type { PoolContext } from "../machines/index.ts";
import { agentAddress, type Address, childOf, ROOT } from "../protocol/ids.ts";
import type { SettingsPort } from "../ports/settings.port.ts";
import type { Kernel } from "./kernel/kernel.ts";

const SLOTS = childOf(ROOT, "slots");
/** The process's pool for sub-agents. */
const AGENTS_POOL = childOf(SLOTS, "agents");

/** Starts those that are not there, tells the others their cap when it changed. A parked persona is looked at the next time. */
export async function fitSlots(kernel: Kernel, settings: SettingsPort, agents: Iterable<string>): Promise<void> {
  const { perAgent, total } = settings.slots();
  if (!kernel.has(SLOTS)) {
    const children = [{ name: "agents", chart: "pool", spec: "pool", input: { cap: total } }];
    await kernel.command(ROOT, { type: "child.start", name: "slots", chart: "supervisor", spec: "fixed", input: { children } });
  }
  await fitCap(kernel, AGENTS_POOL, total);
  for (const agent of agents) {
    const address = agentAddress(agent);
    const pool = childOf(address, "slots");
    if (!kernel.has(address) || kernel.parkedReason(address) !== null) continue;
    if (kernel.has(pool)) await fitCap(kernel, pool, perAgent);
    else await kernel.command(address, { type: "slots.start", cap: perAgent });
  }
}

async function fitCap(kernel: Kernel, pool: Address, cap: number): Promise<void> {
  const context = kernel.context(pool) as unknown as PoolContext | null;
  if (context && context.cap !== cap && kernel.parkedReason(pool) === null) await kernel.command(pool, { type: "slot.cap", cap });
}
