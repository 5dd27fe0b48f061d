/** Reads one answer from the wire into its fold: a stream of events, or a whole one from a server that ignores `stream`. */
import type { AnswerFold } from "./answer-fold.ts";
import { chunkSchema } from "./chunk.schema.ts";
import { createEventStream, type StreamEvent } from "./event-stream.ts";
import type { IdleWatch } from "./idle-watch.ts";
import { eventError, notModelServer, type ErrorSurroundings } from "./provider-error.ts";

/** After the finish reason usage may still come; a server that sends neither it nor an end mark is not waited for longer. */
const LINGER_FOR_USAGE_MS = 2_000;
/** Usage is there too: only the end mark is missing. */
const LINGER_FOR_MARK_MS = 250;

export interface Reading {
  fold: AnswerFold;
  watch: IdleWatch;
  around: () => ErrorSurroundings;
  signal: AbortSignal;
}

/** True when an end mark came, or a whole answer at once. */
export async function readAnswer(response: Response, reading: Reading): Promise<boolean> {
  const { fold, watch, around, signal } = reading;
  const type = response.headers.get("content-type") ?? "";
  if (/\b(application|text)\/(problem\+)?json\b/.test(type)) return await readWhole(response, reading);
  const stream = createEventStream();
  let events = 0;
  let linger = 0;
  const take = (batch: StreamEvent[]): boolean => {
    for (const event of batch) {
      // Nothing is shown after a stop, also when it falls into the middle of what came at once.
      signal.throwIfAborted();
      events += 1;
      if (event.data.trim() === "[DONE]") return true;
      addEvent(event, reading);
    }
    const next = !fold.finished() ? 0 : fold.settled() ? LINGER_FOR_MARK_MS : LINGER_FOR_USAGE_MS;
    if (next !== linger && next > 0) watch.limit(next);
    linger = next;
    return false;
  };
  for await (const piece of piecesOf(response, watch)) if (take(stream.push(piece))) return true;
  // An event that broke off in its middle is a cut, not a server that speaks another language.
  if (take(stream.end().filter(({ data }) => data.trim() === "[DONE]" || jsonOf(data) !== undefined))) return true;
  if (events === 0 && stream.stray() !== "") throw notModelServer(around(), stream.stray());
  return false;
}

/** An error may come with status 200 too. */
async function readWhole(response: Response, reading: Reading): Promise<boolean> {
  const { fold, watch, around } = reading;
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of piecesOf(response, watch)) text += decoder.decode(piece, { stream: true });
  addEvent({ event: "", data: text }, reading);
  if (!fold.begun()) throw notModelServer(around(), text);
  return true;
}

async function* piecesOf({ body }: Response, watch: IdleWatch): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      watch.heard();
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

function addEvent({ event, data }: StreamEvent, { fold, around }: Reading): void {
  // What came in place of JSON is quoted in the error: it is what the reader needs to see.
  const raw = jsonOf(data);
  if (raw === undefined) throw event === "error" ? eventError(data, around()) : notModelServer(around(), data);
  const chunk = chunkSchema.safeParse(raw);
  if (event === "error") throw eventError(chunk.data?.error ?? raw, around());
  if (!chunk.success) throw notModelServer(around(), data);
  if (chunk.data.error) throw eventError(chunk.data.error, around());
  if (chunk.data.object === "error") throw eventError(raw, around());
  if (chunk.data.choices?.some((choice) => choice.finish_reason === "error")) {
    throw eventError("The model server ended the answer with an error.", around());
  }
  fold.add(chunk.data);
}

/** Undefined when the text is not JSON, which never is a value of JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An answer here, not a fault: each caller says what it means.
    return undefined;
  }
}
