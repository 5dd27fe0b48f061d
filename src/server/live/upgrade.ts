/** The way in to `/live`: checked like a request, before the upgrade. A refusal is a plain HTTP answer and the socket closes. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { SomoraError } from "../../protocol/errors.ts";
import type { Gate } from "../auth/gate.ts";
import type { Pairing } from "../auth/pairing.ts";
import { refusalOf } from "../refusal.ts";
import type { Hub } from "./hub.ts";

const LARGEST_OP = 64 * 1024;
const PROTOCOL = "somora.";
const POLICY = 1008;

export interface Upgrade {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export function createUpgrade(gate: Gate, pairing: Pairing, hub: Hub, log: (line: string, cause: unknown) => void): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: LARGEST_OP,
    perMessageDeflate: false,
    // A client that names a protocol expects one of its own back.
    handleProtocols: (protocols) => [...protocols].find((name) => name.startsWith(PROTOCOL)) ?? false,
  });
  const paired = new Set<WebSocket>();
  pairing.onEnd(() => {
    for (const client of paired) client.close(POLICY, "the pairing has ended");
  });
  return {
    handle(request, socket, head) {
      socket.on("error", () => socket.destroy());
      let by: ReturnType<Gate["check"]>;
      try {
        by = check(gate, request);
      } catch (error) {
        const { status, body, headers } = refusalOf(error, log);
        const text = JSON.stringify(body);
        const lines = Object.entries({
          ...headers,
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(text)),
          connection: "close",
        });
        socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`);
        return;
      }
      server.handleUpgrade(request, socket, head, (client) => {
        if (by === "cookie") {
          paired.add(client);
          client.once("close", () => paired.delete(client));
        }
        hub.accept(client);
      });
    },
  };
}

function check(gate: Gate, request: IncomingMessage): ReturnType<Gate["check"]> {
  const { headers } = request;
  const named = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const protocol = named.find((name) => name.startsWith(PROTOCOL));
  const by = gate.check(
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
  if (path !== "/live")
    throw new SomoraError("ROUTE_UNKNOWN", `There is no socket at ${String(path).slice(0, 200)}.`, {
      hint: "The nearest is /live.",
      details: { near: "/live" },
    });
  return by;
}
