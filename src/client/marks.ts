/**
 * The vocabulary of states. Colour (`move`) says whose move it is: a machine's, yours, it broke, or nobody's. The shape says
 * what kind of state, the word says which. Page, tree and terminal draw from this one table.
 */
export type Move = "run" | "you" | "bad" | "none";

interface Entry {
  word: string;
  move: Move;
  /** The inner part of the mark moves. */
  moves?: boolean;
}

export const MARKS = {
  idle: { word: "idle", move: "none" },
  queued: { word: "queued", move: "none" },
  preparing: { word: "preparing", move: "run" },
  thinking: { word: "thinking", move: "run", moves: true },
  writing: { word: "writing", move: "run", moves: true },
  tool: { word: "tool", move: "run", moves: true },
  you: { word: "for you", move: "you" },
  viaYou: { word: "waits for you", move: "you" },
  agent: { word: "waits", move: "none" },
  clock: { word: "waits", move: "none" },
  slot: { word: "waits for slot", move: "none" },
  settling: { word: "settling", move: "run" },
  working: { word: "working", move: "run" },
  done: { word: "done", move: "none" },
  partial: { word: "partial", move: "you" },
  degraded: { word: "degraded", move: "you" },
  failed: { word: "failed", move: "bad" },
  cancelled: { word: "cancelled", move: "none" },
  removed: { word: "taken back", move: "none" },
  interrupted: { word: "interrupted", move: "bad" },
  cut: { word: "cut", move: "bad" },
  parked: { word: "parked", move: "you" },
  held: { word: "held", move: "you" },
  stopping: { word: "stopping", move: "run", moves: true },
  stopfail: { word: "stopping failed", move: "bad" },
  stuck: { word: "stuck", move: "bad" },
} as const satisfies Record<string, Entry>;

export type MarkName = keyof typeof MARKS;

export interface Saying {
  mark: MarkName;
  word: string;
  move: Move;
  moves: boolean;
  /** What, for what or whom, since when, what next. */
  sentence: string;
}

export function saying(mark: MarkName, sentence: string, more: { word?: string; move?: Move } = {}): Saying {
  const entry: Entry = MARKS[mark];
  return { mark, word: more.word ?? entry.word, move: more.move ?? entry.move, moves: entry.moves ?? false, sentence };
}

/** Most urgent first: broken, yours, a machine's, waits, nobody's. A parent shows its most urgent descendant. */
export function urgency(said: Pick<Saying, "mark" | "move">): number {
  if (said.move === "bad") return 4;
  if (said.move === "you") return 3;
  if (said.move === "run") return 2;
  return said.mark === "agent" || said.mark === "slot" || said.mark === "clock" || said.mark === "queued" ? 1 : 0;
}
