/**
 * Who may. Host, then Origin, then the key, for every request and every upgrade, before route and body (contract §4, §8).
 * The gate only decides; HTTP and the socket ask the same one.
 */
import { SomoraError } from "../../protocol/errors.ts";
import { hostChecker, hostNameOf } from "./hosts.ts";
import { sameText, type Pairing } from "./pairing.ts";
import type { Tries } from "./tries.ts";

export interface GateRequest {
  method: string;
  host: string;
  origin: string | undefined;
  authorization: string | undefined;
  cookie: string | undefined;
  secFetchSite: string | undefined;
  upgrade: boolean;
  /** A key that came as a WebSocket subprotocol. */
  protocolKey?: string | undefined;
}

export interface Gate {
  readonly cookieName: string;
  /** Throws SomoraError when it may not in; else says what let it in. `open`: needs no key, but host and origin must fit all the same. */
  check(request: GateRequest, open: boolean): "open" | "key" | "cookie";
  keyFits(key: string): boolean;
}

interface GateOptions {
  key: string;
  /** As configured; decides which Host headers pass. */
  listenHost: string;
  /** Tells the homes on one machine apart: browsers share cookies between ports. */
  homeId: string;
  pairing: Pairing;
  tries: Tries;
}

export function createGate(options: GateOptions): Gate {
  const { key, pairing, tries } = options;
  const hostFits = hostChecker(options.listenHost);
  const cookieName = `somora_${options.homeId}`;

  const checkHost = ({ host }: GateRequest): void => {
    if (hostFits(host)) return;
    throw new SomoraError("HOST_UNKNOWN", `The Host header ${JSON.stringify(host.slice(0, 200))} names no address of this server.`, {
      hint: "Open it by 127.0.0.1 or localhost, or name the host in `server.host`.",
    });
  };
  const checkOrigin = ({ origin, host }: GateRequest): void => {
    if (origin === undefined || isOwn(origin, host)) return;
    throw new SomoraError("ORIGIN_FOREIGN", `A page of ${JSON.stringify(origin.slice(0, 200))} may not use this server.`, {
      hint: `Only pages of http://${host} may; programs send no Origin.`,
    });
  };
  const wrongKey = (): SomoraError => {
    const wait = tries.waitMs();
    if (wait > 0) return tooMany(wait);
    tries.wrong();
    return new SomoraError("KEY_WRONG", "The key is not the one of this home.", {
      hint: "The key is in the file `key` under SOMORA_HOME.",
    });
  };

  return {
    cookieName,
    keyFits: (given) => sameText(given, key),
    check(request, open) {
      checkHost(request);
      checkOrigin(request);
      if (open) return "open";
      const { authorization, method, origin, secFetchSite, upgrade } = request;
      const bearer = authorization === undefined ? request.protocolKey : (/^Bearer +(.+)$/i.exec(authorization)?.[1]?.trim() ?? "");
      if (bearer !== undefined) {
        if (sameText(bearer, key)) return "key";
        throw wrongKey();
      }
      const cookie = cookieValue(request.cookie, cookieName);
      if (cookie === null) {
        throw new SomoraError("KEY_MISSING", "This needs the key of the home or a paired browser.", {
          hint: "Send `Authorization: Bearer <key>`, or open the address that `somora server open` prints.",
        });
      }
      if (!pairing.cookieFits(cookie)) {
        throw new SomoraError("KEY_WRONG", "This browser's pairing has ended.", {
          hint: "Open the address that `somora server open` prints.",
        });
      }
      const reads = (method === "GET" || method === "HEAD") && !upgrade;
      if (origin !== undefined) return "cookie";
      if (reads && (secFetchSite === undefined || secFetchSite === "same-origin" || secFetchSite === "none")) return "cookie";
      throw new SomoraError("ORIGIN_FOREIGN", "A request with a cookie must come from this server's own page.", {
        hint: "Programs use the key in place of a cookie.",
      });
    },
  };
}

export function tooMany(waitMs: number): SomoraError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new SomoraError("TOO_MANY_TRIES", `Ten wrong keys or codes within a minute; the next is heard in ${seconds} s.`, {
    hint: "The right key is in the file `key` under SOMORA_HOME.",
    details: { retryAfterMs: waitMs },
  });
}

function isOwn(origin: string, host: string): boolean {
  if (hostNameOf(host) === null) return false;
  const own = host.toLowerCase();
  return origin.toLowerCase() === `http://${own}` || origin.toLowerCase() === `https://${own}`;
}

function cookieValue(header: string | undefined, name: string): string | null {
  for (const part of (header ?? "").split(";")) {
    const cut = part.indexOf("=");
    if (cut > 0 && part.slice(0, cut).trim() === name) return part.slice(cut + 1).trim();
  }
  return null;
}
