/** The way in to `/live`: checked like a request, before the upgrade. A refusal is a plain HTTP answer and the socket closes. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { SomoraError } from "../../protocol/errors.ts";
import type { Gate } from "../auth/gate.ts";
import { refusalOf } from "../refusal.ts";
import type { Hub } from "./hub.ts";

const LARGEST_OP = 64 * 1024;
const PROTOCOL = "somora.";

export interface Upgrade {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export function createUpgrade(gate: Gate, hub: Hub, log: (line: string, cause: unknown) => void): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: LARGEST_OP,
    perMessageDeflate: false,
    // A client that names a protocol expects one of its own back.
    handleProtocols: (protocols) => [...protocols].find((name) => name.startsWith(PROTOCOL)) ?? false,
  });
  return {
    handle(request, socket, head) {
      socket.on("error", () => socket.destroy());
      try {
        check(gate, request);
      } catch (error) {
        const { status, body, headers } = refusalOf(error, log);
        const text = JSON.stringify(body);
        const lines = Object.entries({ ...headers, "content-type": "application/json", "content-length": String(Buffer.byteLength(text)), connection: "close" });
        socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`);
        return;
      }
      server.handleUpgrade(request, socket, head, (client) => hub.accept(client));
    },
  };
}

function check(gate: Gate, request: IncomingMessage): void {
  const { headers } = request;
  const named = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const protocol = named.find((name) => name.startsWith(PROTOCOL));
  gate.check(
    {
      method: "GET",
      host: headers.host ?? "",
      origin: headers.origin,
      authorization: headers.authorization,
      cookie: headers.cookie,
      secFetchSite: undefined,
      upgrade: true,
      protocolKey: protocol?.slice(PROTOCOL.length),
    },
    false,
  );
  const path = (request.url ?? "").split("?")[0];
  if (path !== "/live") throw new SomoraError("ROUTE_UNKNOWN", `There is no socket at ${String(path).slice(0, 200)}.`, { hint: "The nearest is /live.", details: { near: "/live" } });
}
