/**
 * What the next round of a rehearsal does: a pure function of script and messages (contract §7), so the same script plays
 * alike in process, over HTTP and after a restart.
 *
 * - The position is the number of assistant messages since the last person's message.
 * - What begins with `[somora]` in the user role is neither matched nor counted.
 * - A steered text (first line `[somora] steered:`) is matched by `when: { steer }` entries only; one that fits takes over.
 */
import type { ChatMessage } from "../../ports/engine.port.ts";
import { SomoraError } from "../../protocol/errors.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { fill, fillDeep, lookUp } from "./look-up.ts";
import type { Script, ScriptEntry, ScriptStep } from "./script.schema.ts";

export interface RoundPlan {
  think: string;
  say: string;
  calls: { id: string; name: string; arguments: string }[];
  usage: NonNullable<ScriptStep["usage"]> | null;
  /** Words per second; 0 is at once. */
  pace: number;
  cut: "text" | "arguments" | "finish" | null;
  fail: NonNullable<ScriptStep["fail"]> | null;
  /** `for: null` is for ever. */
  stall: { for: number | null; at: "start" | "middle" } | null;
}

const OURS = "[somora]";
const STEERED = "[somora] steered:";

interface Standing {
  entry: ScriptEntry;
  position: number;
  found: JsonObject;
}

/** Throws SomoraError REHEARSAL_NO_ANSWER when no entry fits, or the entry has no round left. */
export function playRound(script: Script, messages: readonly ChatMessage[], name = "the script"): RoundPlan {
  const { entry, position, found } = standing(script, messages, name);
  const round = entry.rounds[position];
  if (!round) {
    throw new SomoraError(
      "REHEARSAL_NO_ANSWER",
      `Round ${position + 1} was asked for; the entry in force in ${name} has ${entry.rounds.length}.`,
      {
        hint: "Give the entry one more round, or let its last round call no tool.",
      },
    );
  }
  const step = stepOf(round, found);
  const before = messages.reduce((sum, message) => sum + (message.role === "assistant" ? message.calls.length : 0), 0);
  return {
    think: fill(step.think ?? "", found),
    say: fill(step.say ?? "", found),
    calls: (step.call ?? []).map((call, index) => ({
      id: `${call.id ?? call.tool}_${before + index + 1}`,
      name: call.tool,
      arguments: call.raw ?? JSON.stringify(fillDeep(call.input ?? {}, found)),
    })),
    usage: step.usage ?? null,
    pace: step.pace ?? script.pace,
    cut: step.cut ?? null,
    fail: step.fail ?? null,
    stall: step.stall ?? null,
  };
}

/** Walks the messages since the person spoke: which entry is in force, how many of its rounds are played, what its calls found. */
function standing(script: Script, messages: readonly ChatMessage[], name: string): Standing {
  const start = messages.findLastIndex((message) => message.role === "user" && !message.text.startsWith(OURS));
  const said = start === -1 ? "" : (messages[start]?.text ?? "");
  const results = new Map<string, string>();
  for (const message of messages) if (message.role === "tool") results.set(message.callId, message.text);
  const found: JsonObject = { said };
  let entry = script.turns.find((candidate) => candidate.when === undefined || candidate.when.text?.test(said) === true);
  let position = 0;
  for (const message of messages.slice(start + 1)) {
    if (message.role === "user" && message.text.startsWith(STEERED)) {
      const text = message.text.slice(STEERED.length).trim();
      const taker = script.turns.find((candidate) => candidate.when?.steer?.test(text) === true);
      if (!taker) continue;
      found["steered"] = text;
      entry = taker;
      position = 0;
    } else if (message.role === "assistant" && entry) {
      keepResults(entry, position, message.calls, results, found);
      position += 1;
    }
  }
  if (!entry) {
    throw new SomoraError("REHEARSAL_NO_ANSWER", `${name} has no entry for ${JSON.stringify(said.slice(0, 80))}.`, {
      hint: "Add an entry whose when.text fits, or one without when at the end: it answers everything.",
    });
  }
  return { entry, position, found };
}

/** The nth call of a played round is the nth call of its step, whatever id it went by in between. */
function keepResults(entry: ScriptEntry, position: number, calls: { id: string }[], results: Map<string, string>, found: JsonObject): void {
  const round = entry.rounds[position];
  if (!round) return;
  for (const [index, call] of (stepOf(round, found).call ?? []).entries()) {
    const made = calls[index];
    const text = made === undefined ? undefined : results.get(made.id);
    if (call.id !== undefined && text !== undefined) found[call.id] = readResult(text);
  }
}

function readResult(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // A tool that answers with plain text: the look-up still finds it.
    return { ok: true, data: text };
  }
}

function stepOf(round: ScriptEntry["rounds"][number], found: JsonObject): ScriptStep {
  if (round.if === undefined) return round;
  const same = JSON.stringify(lookUp(found, round.if.value) ?? null) === JSON.stringify(round.if.is);
  return (same ? round.then : round.else) ?? {};
}
