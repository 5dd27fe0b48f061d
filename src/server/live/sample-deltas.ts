/**
 * Merges text and thinking deltas per block: the first goes at once, then at most one each window. Order is kept: before any
 * other frame what waits is let out. A character is never split: half a surrogate pair waits for its other half.
 */
import { asyncScheduler, Observable, type MonoTypeOperatorFunction, type SchedulerLike, type Subscription } from "rxjs";

export interface LiveEvent {
  type: string;
  data: unknown;
  at: number;
}

interface Delta {
  turnId: string;
  blockId: string;
  offset: number;
  text: string;
}

interface Block {
  type: string;
  turnId: string;
  blockId: string;
  offset: number;
  waiting: string;
  at: number;
  window: Subscription | null;
}

/**
 * 200 ms: at 60 tokens a second (some 240 characters) a frame carries about 48 characters over some 165 bytes of its own, so
 * the wire stays below five times the text; the eye sees five steps a second, which the page smooths.
 */
const DELTA_WINDOW_MS = 200;

export function sampleDeltas(
  windowMs: number = DELTA_WINDOW_MS,
  scheduler: SchedulerLike = asyncScheduler,
): MonoTypeOperatorFunction<LiveEvent> {
  return (source) =>
    new Observable<LiveEvent>((out) => {
      const blocks = new Map<string, Block>();

      /** `whole`: also half a pair, since nothing follows. */
      const release = (block: Block, whole: boolean): boolean => {
        const half = !whole && endsInHalf(block.waiting);
        const text = half ? block.waiting.slice(0, -1) : block.waiting;
        if (text === "") return false;
        const { type, turnId, blockId, offset, at } = block;
        block.waiting = half ? block.waiting.slice(-1) : "";
        block.offset += text.length;
        out.next({ type, at, data: { turnId, blockId, offset, text } });
        return true;
      };
      const openWindow = (block: Block): void => {
        block.window = scheduler.schedule(() => {
          block.window = null;
          if (release(block, false)) openWindow(block);
        }, windowMs);
      };
      const end = (key: string, block: Block): void => {
        block.window?.unsubscribe();
        release(block, true);
        blocks.delete(key);
      };
      const take = (type: string, { turnId, blockId, offset, text }: Delta, at: number): void => {
        const key = `${turnId} ${blockId}`;
        let block = blocks.get(key);
        if (block && block.offset + block.waiting.length !== offset) {
          end(key, block);
          block = undefined;
        }
        if (!block) {
          block = { type, turnId, blockId, offset, waiting: "", at, window: null };
          blocks.set(key, block);
        }
        block.waiting += text;
        block.at = at;
        if (block.window === null && release(block, false)) openWindow(block);
      };

      const inner = source.subscribe({
        next(event) {
          if (event.type === "text.delta" || event.type === "thinking.delta") {
            take(event.type, event.data as Delta, event.at);
            return;
          }
          const ending = blockOf(event);
          for (const [key, block] of blocks) {
            if (event.type === "turn.settled" || key === ending) end(key, block);
            else release(block, false);
          }
          out.next(event);
        },
        error: (cause) => out.error(cause),
        complete() {
          for (const [key, block] of blocks) end(key, block);
          out.complete();
        },
      });
      return () => {
        inner.unsubscribe();
        for (const block of blocks.values()) block.window?.unsubscribe();
      };
    });
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** The block that a frame begins anew or ends. */
function blockOf({ type, data }: LiveEvent): string | null {
  if (/^(?:text|thinking)\.(?:start|end|reset)$/.test(type)) {
    const { turnId, blockId } = data as Delta;
    return `${turnId} ${blockId}`;
  }
  if (type === "row.added") {
    const { row } = data as { row: { turnId: string | null; data: { blockId?: string } } };
    return row.data.blockId === undefined ? null : `${row.turnId} ${row.data.blockId}`;
  }
  return null;
}
