/**
 * Puts the pieces of tool calls together. Servers differ: an index or none, ids or none, all calls under index 0, the name
 * repeated in each piece or cut up, whole calls in one chunk, arguments as an object.
 */
import type { RoundCall } from "../../ports/engine.port.ts";
import { parseArguments } from "../shared/parse-arguments.ts";
import { roundCall } from "../shared/round-call.ts";
import type { CallDelta } from "./chunk.schema.ts";

interface Slot {
  id: string;
  name: string;
  arguments: string;
  index: number | null;
}

export interface CallCollector {
  add(delta: CallDelta): void;
  count(): number;
  calls(): RoundCall[];
}

export function createCallCollector(): CallCollector {
  const slots: Slot[] = [];
  return {
    add(delta) {
      const name = delta.function?.name ?? "";
      const piece = argumentText(delta.function?.arguments);
      const slot = slotFor(slots, delta, name, piece);
      if (slot.id === "") slot.id = delta.id ?? "";
      if (slot.name === "") slot.name = name;
      else if (name !== "" && name !== slot.name && slot.arguments === "" && !slot.name.endsWith(name)) slot.name += name;
      slot.arguments += piece;
    },
    count: () => slots.length,
    calls: () =>
      slots.filter((slot) => slot.name !== "" || slot.arguments !== "").map((slot) => roundCall(slot.id, slot.name, slot.arguments)),
  };
}

/** The call a piece belongs to; a new one when it begins one. */
function slotFor(slots: Slot[], delta: CallDelta, name: string, piece: string): Slot {
  const index = delta.index ?? null;
  const id = delta.id ?? "";
  const same =
    index === null ? (id === "" ? slots.at(-1) : slots.find((slot) => slot.id === id)) : slots.findLast((slot) => slot.index === index);
  if (same && !beginsAnother(same, id, name, piece)) return same;
  const fresh: Slot = { id: "", name: "", arguments: "", index };
  slots.push(fresh);
  return fresh;
}

function beginsAnother(slot: Slot, id: string, name: string, piece: string): boolean {
  if (name === "") return false;
  // Another id under the same index (or none): servers that number every call 0.
  if (id !== "" && slot.id !== "") return id !== slot.id;
  // No ids to go by: the arguments there are complete, and more of them come with a name.
  return piece !== "" && slot.arguments.trim() !== "" && parseArguments(slot.arguments).ok;
}

function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
