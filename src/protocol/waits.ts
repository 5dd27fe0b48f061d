/** The wait graph as data: edges between lines of work, how a wait ends, and what watchers see of both (design §5). */
import type { Address, Token } from "./ids.ts";

/** One step of a chain: the line `from` waits for the line `to` because `by` waits for `on`. */
export interface ChainStep {
  from: Address;
  by: Address;
  on: Address;
  to: Address;
  why: string;
  /** Wall clock; of the edge that was refused: now. */
  since: number;
}

/**
 * Why an `ask` or `wait` came to nothing. `circle`: it could never end, `chain` begins and ends with the asker's line. `gone`: nobody
 * is there. `fenced`: the asker is being stopped. `answer`: the one asked said no, `error` holds its words.
 */
export interface Refusal {
  why: "circle" | "gone" | "fenced" | "answer";
  message: string;
  chain: ChainStep[];
  error?: { code: string; message: string; hint?: string };
}

/**
 * `gone`: the one asked ended. `crash`: it crashed on the question, or began anew. `stopped`: it or the asker is being stopped.
 * `parked`: it acts only when a person resumes it. `deaf`: its state does not take this question.
 */
export interface UnansweredReason {
  kind: "gone" | "crash" | "stopped" | "parked" | "deaf";
  message: string;
}

/** One wait, for `GET /waits`. `blocks`: it is an edge of the graph; else an answer comes when it comes. */
export interface WaitView {
  token: Token;
  name: string;
  from: Address;
  line: Address;
  to: Address;
  on: Address | null;
  onLine: Address | null;
  why: string;
  since: number;
  blocks: boolean;
  /** One sentence when nothing can move that could end it (K14). */
  stuck: string | null;
}

/** One pool, for `GET /slots`. `used + free = cap`. */
export interface PoolView {
  address: Address;
  cap: number;
  used: number;
  free: number;
  holders: { address: Address; since: number }[];
  waiting: { address: Address; since: number; position: number }[];
}
