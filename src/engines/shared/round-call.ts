/** A call of the port from a model's name and argument text. */
import type { RoundCall } from "../../ports/engine.port.ts";
import { parseArguments } from "./parse-arguments.ts";
import { wellFormed } from "./well-formed.ts";

export function roundCall(id: string, name: string, argumentText: string): RoundCall {
  const parsed = parseArguments(argumentText);
  const named = { id: wellFormed(id), name: wellFormed(name).trim() };
  if (parsed.ok) return { ...named, input: parsed.value };
  return { ...named, input: {}, broken: { kind: parsed.kind, error: parsed.error, raw: wellFormed(argumentText) } };
}
