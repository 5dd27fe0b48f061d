import { describe, expect, it } from "vitest";
import type { SomoraError } from "../../protocol/errors.ts";
import { createGate, type Gate, type GateRequest } from "./gate.ts";
import { createPairing, memoryGeneration, type Pairing } from "./pairing.ts";
import { createTries } from "./tries.ts";

const KEY = "the-key-of-this-home";

function door(listenHost = "127.0.0.1"): {
  gate: Gate;
  pairing: Pairing;
  pass: (time: number) => void;
  says: (request: Partial<GateRequest>, open?: boolean) => string;
} {
  let clock = 1_000_000;
  const pairing = createPairing({ key: KEY, now: () => clock, generation: memoryGeneration() });
  const gate = createGate({ key: KEY, listenHost, homeId: "abc", pairing, tries: createTries(() => clock) });
  return {
    gate,
    pairing,
    pass: (time) => (clock += time),
    says(request, open = false) {
      try {
        gate.check(
          {
            method: "GET",
            host: "127.0.0.1:18737",
            origin: undefined,
            authorization: undefined,
            cookie: undefined,
            secFetchSite: undefined,
            upgrade: false,
            ...request,
          },
          open,
        );
        return "in";
      } catch (error) {
        return (error as SomoraError).code;
      }
    },
  };
}
const bearer = { authorization: `Bearer ${KEY}` };
const own = { origin: "http://127.0.0.1:18737" };

describe("the gate with a key", () => {
  it.each([
    ["the key and no Origin", { ...bearer }, "in"],
    ["the key and our own Origin", { ...bearer, ...own }, "in"],
    ["the key as a subprotocol", { protocolKey: KEY, upgrade: true }, "in"],
    ["the key in small letters of the scheme", { authorization: `bearer ${KEY}` }, "in"],
    ["no key", {}, "KEY_MISSING"],
    ["another key", { authorization: "Bearer nope" }, "KEY_WRONG"],
    ["another scheme", { authorization: `Basic ${KEY}` }, "KEY_WRONG"],
    ["a wrong subprotocol key", { protocolKey: "nope", upgrade: true }, "KEY_WRONG"],
    ["the key and a foreign Origin", { ...bearer, origin: "http://evil.example" }, "ORIGIN_FOREIGN"],
    ["the key and Origin null", { ...bearer, origin: "null" }, "ORIGIN_FOREIGN"],
    ["the key and another port's Origin", { ...bearer, origin: "http://127.0.0.1:3000" }, "ORIGIN_FOREIGN"],
    ["the key and a rebound Host", { ...bearer, host: "evil.example:18737" }, "HOST_UNKNOWN"],
    ["the key and a Host that begins like ours", { ...bearer, host: "127.0.0.1.evil.example" }, "HOST_UNKNOWN"],
    ["the key and a Host with a user part", { ...bearer, host: "127.0.0.1@evil.example" }, "HOST_UNKNOWN"],
    ["the key and no Host", { ...bearer, host: "" }, "HOST_UNKNOWN"],
    ["the key and localhost", { ...bearer, host: "localhost:18737" }, "in"],
    ["the key and loopback of version 6", { ...bearer, host: "[::1]:18737" }, "in"],
    ["the key and an address of the local network", { ...bearer, host: "192.168.1.4:18737" }, "HOST_UNKNOWN"],
  ] as const)("%s: %#", (_, request, answer) => {
    expect(door().says(request)).toBe(answer);
  });

  it("asks Host before Origin before the key", () => {
    const { says } = door();
    expect(says({ host: "evil.example", origin: "http://evil.example", authorization: "Bearer nope" })).toBe("HOST_UNKNOWN");
    expect(says({ origin: "http://evil.example", authorization: "Bearer nope" })).toBe("ORIGIN_FOREIGN");
  });

  it("lets addresses in, but no foreign name, when it listens beyond loopback", () => {
    const { says } = door("0.0.0.0");
    expect(says({ ...bearer, host: "192.168.1.4:18737" })).toBe("in");
    expect(says({ ...bearer, host: "evil.example" })).toBe("HOST_UNKNOWN");
  });

  it("answers 429 from the eleventh wrong key of a minute on, and lets the right one in all the same", () => {
    const { says, pass } = door();
    for (let tries = 0; tries < 10; tries += 1) expect(says({ authorization: `Bearer ${tries}` })).toBe("KEY_WRONG");
    expect(says({ authorization: "Bearer x" })).toBe("TOO_MANY_TRIES");
    expect(says(bearer)).toBe("in");
    pass(60_000);
    expect(says({ authorization: "Bearer x" })).toBe("KEY_WRONG");
  });

  it("checks host and origin of what is open, too", () => {
    const { says } = door();
    expect(says({}, true)).toBe("in");
    expect(says({ host: "evil.example" }, true)).toBe("HOST_UNKNOWN");
    expect(says({ method: "POST", origin: "http://evil.example" }, true)).toBe("ORIGIN_FOREIGN");
  });
});

describe("the gate with a cookie", () => {
  const cases: [string, Partial<GateRequest>, string][] = [
    ["GET without an Origin", {}, "in"],
    ["GET from the same origin", { secFetchSite: "same-origin" }, "in"],
    ["GET typed by a person", { secFetchSite: "none" }, "in"],
    ["GET from a sibling site", { secFetchSite: "same-site" }, "ORIGIN_FOREIGN"],
    ["GET from a foreign page", { secFetchSite: "cross-site" }, "ORIGIN_FOREIGN"],
    ["HEAD without an Origin", { method: "HEAD" }, "in"],
    ["POST with our own Origin", { method: "POST", ...own }, "in"],
    ["POST without an Origin", { method: "POST" }, "ORIGIN_FOREIGN"],
    ["POST without an Origin that says same-origin", { method: "POST", secFetchSite: "same-origin" }, "ORIGIN_FOREIGN"],
    ["DELETE without an Origin", { method: "DELETE" }, "ORIGIN_FOREIGN"],
    ["POST with another port's Origin", { method: "POST", origin: "http://127.0.0.1:9999" }, "ORIGIN_FOREIGN"],
    ["an upgrade with our own Origin", { upgrade: true, ...own }, "in"],
    ["an upgrade without an Origin", { upgrade: true }, "ORIGIN_FOREIGN"],
  ];
  it.each(cases)("%s: %#", (_, request, answer) => {
    const { says, pairing, gate } = door();
    expect(says({ cookie: `other=1; ${gate.cookieName}=${pairing.newCookie()}`, ...request })).toBe(answer);
  });

  it("refuses a forged one, another home's, and all of them after they were ended", async () => {
    const { says, pairing, gate } = door();
    const cookie = pairing.newCookie();
    expect(says({ cookie: `${gate.cookieName}=${cookie.slice(0, -1)}` })).toBe("KEY_WRONG");
    expect(says({ cookie: `somora_other=${cookie}` })).toBe("KEY_MISSING");
    await pairing.endAll();
    expect(says({ cookie: `${gate.cookieName}=${cookie}` })).toBe("KEY_WRONG");
  });
});

describe("a pairing code", () => {
  it("works once, and not after five minutes", () => {
    const { pairing, pass } = door();
    const { code } = pairing.newCode();
    expect(pairing.redeem("other")).toBe(false);
    expect(pairing.redeem(code)).toBe(true);
    expect(pairing.redeem(code)).toBe(false);
    const late = pairing.newCode();
    pass(5 * 60_000);
    expect(pairing.redeem(late.code)).toBe(false);
  });
});
