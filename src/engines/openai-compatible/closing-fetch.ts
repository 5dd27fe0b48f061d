/**
 * `fetch` for one request on one connection that is closed with it; the `openai` client takes it as its `fetch`.
 *
 * Why not the built-in one: it keeps connections open after an answer, so a stopped turn leaves sockets at the model server,
 * and it ends every request after 300 s without a byte, whatever our idle limit says, which cuts slow local models off.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

const NO_BODY = new Set([101, 204, 205, 304]);

export function closingFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const signal = init.signal ?? null;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const headers = Object.fromEntries(new Headers(init.headers ?? {}).entries());
    const body = typeof init.body === "string" ? Buffer.from(init.body) : null;
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(url, {
      method: init.method ?? "GET",
      // No agent: a connection for this request alone, closed with it.
      agent: false,
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...(body ? { "content-length": String(body.length) } : {}),
      },
    });
    const stop = (): void => void request.destroy(signal ? reasonOf(signal) : undefined);
    signal?.addEventListener("abort", stop, { once: true });
    request.on("close", () => signal?.removeEventListener("abort", stop));
    request.on("error", reject);
    request.on("response", (message) => {
      const status = message.statusCode ?? 0;
      resolve(new Response(NO_BODY.has(status) ? null : bodyOf(message, () => request.destroy()), { status, headers: headersOf(message) }));
    });
    request.end(body ?? undefined);
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException("The request was aborted.", "AbortError");
}

/** Pauses the socket while nobody reads; cancelling closes the connection. */
function bodyOf(message: IncomingMessage, close: () => void): ReadableStream<Uint8Array> {
  let over = false;
  return new ReadableStream<Uint8Array>({
    start(stream) {
      message.on("data", (piece: Buffer) => {
        if (over) return;
        stream.enqueue(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength));
        if ((stream.desiredSize ?? 0) <= 0) message.pause();
      });
      message.on("end", () => {
        if (over) return;
        over = true;
        stream.close();
      });
      message.on("error", (error) => {
        if (over) return;
        over = true;
        stream.error(error);
      });
    },
    pull() {
      message.resume();
    },
    cancel() {
      over = true;
      close();
    },
  });
}

function headersOf(message: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < message.rawHeaders.length; at += 2)
    headers.append(message.rawHeaders[at] ?? "", message.rawHeaders[at + 1] ?? "");
  return headers;
}
