/** A server whose every byte and moment a test decides. It keeps the requests it got and counts its open sockets. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface RawRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: { [key: string]: unknown };
}
export type RawAnswer = (response: ServerResponse, request: RawRequest) => void | Promise<void>;

export async function rawServer(answer: RawAnswer) {
  const sockets = new Set<Socket>();
  const requests: RawRequest[] = [];
  let current = answer;
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on("data", (piece: Buffer) => pieces.push(piece));
    incoming.on("end", () => {
      const request = {
        path: incoming.url ?? "",
        headers: incoming.headers,
        body: JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}") as RawRequest["body"],
      };
      requests.push(request);
      void Promise.resolve(current(response, request));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    openSockets: () => sockets.size,
    answerWith(next: RawAnswer) {
      current = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
export type RawServer = Awaited<ReturnType<typeof rawServer>>;

/** Writes and waits until the bytes are with the system, so that what follows comes as a piece of its own. */
export function flush(response: ServerResponse, bytes: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => response.write(bytes, () => setImmediate(resolve)));
}

export function stream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

/** An answer made of these chunks, with an end mark. */
export function events(...chunks: unknown[]): string {
  return [...chunks, "[DONE]"].map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`).join("");
}

/** A chunk with this delta and finish reason. */
export function delta(delta: unknown, finish: string | null = null): unknown {
  return { object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] };
}
