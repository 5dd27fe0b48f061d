/**
 * Which Host headers name this server. A rebound name is what a foreign page can bring, an address is not; so besides
 * `localhost` and the configured host only addresses pass: loopback ones, all others when the server listens beyond loopback.
 * The port is not compared: tunnels change it, and the Origin check compares host and port with this header.
 */
import { isIP } from "node:net";
import { hostname } from "node:os";

export function hostChecker(listenHost: string): (host: string) => boolean {
  const beyond = !isLoopback(listenHost) && listenHost !== "localhost";
  const names = new Set([
    "localhost",
    listenHost.toLowerCase(),
    ...(beyond ? [hostname().toLowerCase(), `${hostname().toLowerCase()}.local`] : []),
  ]);
  return (host) => {
    const name = hostNameOf(host);
    if (name === null) return false;
    return names.has(name) || isLoopback(name) || (beyond && isIP(name) !== 0);
  };
}

/** Without port and brackets, in small letters; null when it is none. */
export function hostNameOf(host: string): string | null {
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/.exec(host);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? null : name.toLowerCase();
}

function isLoopback(address: string): boolean {
  return (isIP(address) === 4 && address.startsWith("127.")) || address === "::1";
}
