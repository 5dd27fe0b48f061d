/** Opens the door: an application and a hub on a port. Building them is `createApp` and `createHub`. */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { SomoraError } from "../protocol/errors.ts";
import type { App } from "./app.ts";
import { createUpgrade } from "./live/upgrade.ts";
import type { Hub } from "./live/hub.ts";

export interface Door {
  host: string;
  port: number;
  /** `http://127.0.0.1:18737` */
  url: string;
  /** Takes no new connections, tells sockets that the server goes, lets running answers end for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  app: App;
  hub: Hub;
  host: string;
  /** 0: any free one. */
  port: number;
  log?: (line: string, cause: unknown) => void;
}

/** Throws PORT_TAKEN when it is, with what else to do. */
export async function listen(options: ListenOptions): Promise<Door> {
  const { app, hub, host, port } = options;
  const log = options.log ?? (() => undefined);
  const answer = getRequestListener((request) => app.fetch(request), { overrideGlobalObjects: false });
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log("an answer could not be sent", error);
      response.destroy();
    });
  });
  const upgrade = createUpgrade(app.gate, app.pairing, hub, log);
  server.on("upgrade", (request, socket, head) => upgrade.handle(request, socket, head));
  server.on("clientError", (_, socket: Socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    else socket.destroy();
  });
  await bind(server, host, port, log);
  const bound = (server.address() as AddressInfo).port;
  return {
    host,
    port: bound,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close: (graceMs) => close(server, hub, graceMs),
  };
}

function bind(server: Server, host: string, port: number, log: (line: string, cause: unknown) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") {
        reject(
          new SomoraError("PORT_TAKEN", `Port ${port} on ${host} is taken by another program.`, {
            hint: "Give another one with --port or SOMORA_PORT (0 takes any free one), or set `server.port` in config.yaml.",
            details: { host, port },
            cause: error,
          }),
        );
      } else if (error.code === "EADDRNOTAVAIL" || error.code === "EACCES" || error.code === "ENOTFOUND") {
        reject(
          new SomoraError("CONFIG_INVALID", `The server cannot listen on ${host} port ${port}: ${error.message}.`, {
            hint: "Set `server.host` to an address of this machine and `server.port` to 1024 or more.",
            cause: error,
          }),
        );
      } else reject(error);
    });
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      server.on("error", (error) => log("the listening socket failed", error));
      resolve();
    });
  });
}

async function close(server: Server, hub: Hub, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  hub.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    hub.terminate();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}
