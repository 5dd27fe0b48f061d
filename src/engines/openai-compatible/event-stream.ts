/**
 * Bytes of a text/event-stream to events. Our own decoder, because the client library's does not tell its end mark from a
 * broken stream (and a broken one from an abort), reads on after the mark until the server closes, drops a last event without
 * a blank line, and joins a large event's pieces in quadratic time.
 *
 * One stateful text decoder per stream: a character or a CR LF may be split between pieces anywhere.
 */
export interface StreamEvent {
  event: string;
  data: string;
}

export interface EventStream {
  push(piece: Uint8Array): StreamEvent[];
  /** The stream has ended: what stands without a blank line behind it still counts. */
  end(): StreamEvent[];
  /** Text of lines that are no event stream, at most a few hundred characters: what answered in its place. */
  stray(): string;
}

/** An event above this is no answer of a model; the memory stays bounded. */
export const LARGEST_EVENT = 64 * 1024 * 1024;
const STRAY_KEPT = 300;
const FIELDS = new Set(["data", "event", "id", "retry", "error"]);

export class EventTooLarge extends Error {}

export function createEventStream(): EventStream {
  const decoder = new TextDecoder("utf-8");
  /** Pieces of the line that is not ended yet; joined once, at its end. */
  let line: string[] = [];
  let lineSize = 0;
  /** The last piece ended in CR: an LF right behind it belongs to the same line end. */
  let afterReturn = false;
  let event = "";
  let data: string[] = [];
  let stray = "";

  function push(text: string, into: StreamEvent[]): void {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code !== 10 && code !== 13) {
        afterReturn = false;
        // Jump to the next line end: a long line costs one search, not a loop over its characters.
        const next = nextLineEnd(text, at);
        at = next - 1;
        continue;
      }
      if (code === 10 && afterReturn) {
        afterReturn = false;
        from = at + 1;
        continue;
      }
      afterReturn = code === 13;
      line.push(text.slice(from, at));
      from = at + 1;
      endLine(into);
    }
    if (from >= text.length) return;
    line.push(text.slice(from));
    lineSize += text.length - from;
    if (lineSize > LARGEST_EVENT) throw new EventTooLarge(`an event of more than ${LARGEST_EVENT} characters`);
  }

  function endLine(into: StreamEvent[]): void {
    const whole = line.length === 1 ? (line[0] ?? "") : line.join("");
    line = [];
    lineSize = 0;
    if (whole === "") return dispatch(into);
    const colon = whole.indexOf(":");
    if (colon === 0) return; // a comment, often a keep-alive
    const field = colon === -1 ? whole : whole.slice(0, colon);
    if (!FIELDS.has(field)) {
      if (stray.length < STRAY_KEPT) stray += `${whole}\n`.slice(0, STRAY_KEPT - stray.length);
      return;
    }
    const value = colon === -1 ? "" : whole.slice(whole[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "error") {
      // Older llama.cpp servers send `error: {...}` as a field of its own.
      event = "error";
      data.push(value);
    }
  }

  function dispatch(into: StreamEvent[]): void {
    if (data.length > 0) into.push({ event, data: data.length === 1 ? (data[0] ?? "") : data.join("\n") });
    event = "";
    data = [];
  }

  return {
    push(piece) {
      const events: StreamEvent[] = [];
      push(decoder.decode(piece, { stream: true }), events);
      return events;
    },
    end() {
      const events: StreamEvent[] = [];
      push(decoder.decode(), events);
      // A field's name that broke off is neither an event nor a stray line.
      const last = line.join("");
      if (last !== "" && ![...FIELDS].some((field) => field.startsWith(last))) endLine(events);
      dispatch(events);
      return events;
    },
    stray: () => stray,
  };
}

function nextLineEnd(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  const end = feed === -1 ? text.length : feed;
  const returned = text.slice(from, end).indexOf("\r");
  return returned === -1 ? end : from + returned;
}
