/** Both streams of a command within what a model should get: beginning and end of each, the gap named. */
import type { BoundedText } from "../../ports/host.port.ts";
import { wellFormed } from "../../protocol/well-formed.ts";

const BUDGET = 60_000;
const JSON_BUDGET = 90_000;
const SMALLEST = 2_000;
const HEAD_SHARE = 0.6;

export interface FittedOutput {
  stdout: string;
  stderr: string;
  shortened: { stdout: boolean; stderr: boolean };
}

export function fitOutput(stdout: BoundedText, stderr: BoundedText): FittedOutput {
  for (let budget = BUDGET; ; budget = Math.max(SMALLEST, Math.floor(budget * 0.7))) {
    const stderrWants = Math.min(lengthOf(stderr), Math.floor(budget / 4));
    const stdoutRoom = budget - stderrWants;
    const stderrRoom = budget - Math.min(lengthOf(stdout), stdoutRoom);
    const fitted = { stdout: fit(stdout, stdoutRoom), stderr: fit(stderr, stderrRoom) };
    if (JSON.stringify(fitted).length <= JSON_BUDGET || budget <= SMALLEST) {
      return { ...fitted, shortened: { stdout: isShort(stdout, stdoutRoom), stderr: isShort(stderr, stderrRoom) } };
    }
  }
}

function lengthOf(output: BoundedText): number {
  return output.head.length + output.tail.length;
}
function isShort(output: BoundedText, room: number): boolean {
  return output.omittedBytes > 0 || output.droppedBytes > 0 || lengthOf(output) > room;
}

function fit(output: BoundedText, room: number): string {
  const { head, tail, omittedBytes } = output;
  if (lengthOf(output) <= room && omittedBytes === 0) return head;
  const whole = tail === "" ? head : tail;
  const headRoom = Math.floor(room * HEAD_SHARE);
  const start = head.slice(0, headRoom);
  const end = tail === "" ? whole.slice(Math.max(headRoom, whole.length - (room - headRoom))) : tail.slice(-(room - headRoom));
  const cutBytes =
    omittedBytes +
    Buffer.byteLength(
      tail === "" ? head.slice(headRoom, head.length - end.length) : head.slice(headRoom) + tail.slice(0, tail.length - end.length),
    );
  return wellFormed(`${start}\n[… ${cutBytes} bytes not shown …]\n${end}`);
}
