/** One actor's story in words: where an event came from, and all of it as plain text to hand on. */
import type { StoryStep } from "../protocol/actor-view.ts";
import { tenthTime } from "./words.ts";

/** `door` and `kernel` are the runtime's own words for what came from outside and from itself. */
export function causeWords(from: string, address: string): string {
  if (from === "door") return "a request";
  if (from === "kernel") return "the runtime";
  if (from === address) return "itself";
  if (from.startsWith(`${address}/`)) return from.slice(address.length + 1);
  return from;
}

export function storyText(address: string, steps: readonly StoryStep[]): string {
  const lines = steps.map(
    (step) =>
      `${dayOf(step.at)} ${tenthTime(step.at)}  ${step.type} from ${causeWords(step.from, address)} -> ${step.state}` +
      `${step.effects.length === 0 ? "" : `; asks for ${step.effects.join(", ")}`}  (event ${step.eventId}, commit ${step.epoch}.${step.commit})`,
  );
  return `Story of ${address}, ${steps.length} ${steps.length === 1 ? "step" : "steps"}\n${lines.join("\n")}\n`;
}

/** In local time, as the clock beside it. */
function dayOf(at: number): string {
  const date = new Date(at);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}
