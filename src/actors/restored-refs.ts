/** Payload ids that restored charts and mail still speak of: their texts are read once, so that later facts find them in memory. */
import { Parts } from "../protocol/parts.ts";
import type { Kernel } from "./kernel/kernel.ts";

const KINDS = new Set(["session", "turn", "call"]);

export function restoredRefs(kernel: Kernel): string[] {
  const ids = new Set<string>();
  for (const address of kernel.addresses()) {
    const kind = kernel.committed(address)?.kind;
    if (kind === undefined || !KINDS.has(kind)) continue;
    const context = kernel.context(address);
    for (const value of Object.values(context ?? {})) {
      if (value instanceof Parts) for (const [, entry] of value.entries()) collect(entry, ids, 0);
      else collect(value, ids, 0);
    }
    for (const payload of kernel.mailPayloads(address)) ids.add(payload);
  }
  ids.delete("");
  return [...ids];
}

function collect(value: unknown, ids: Set<string>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > 8) return;
  const { id, kind, size, preview } = value as Record<string, unknown>;
  if (typeof id === "string" && typeof kind === "string" && typeof size === "number" && typeof preview === "string") {
    ids.add(id);
    return;
  }
  for (const inner of Object.values(value)) collect(inner, ids, depth + 1);
}
