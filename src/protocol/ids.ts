/** Branded ids. All of them are plain strings on the wire; the brand only keeps them apart in code. */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Where an actor lives: `/agents/guide/sessions/main`. Segments never hold a `/`. The root is `/`. */
export type Address = Branded<"Address">;
/** `epoch.commit.k`: the k-th spawn of that commit. A `fresh` restart is a new birth, a `keep` restart is not. */
export type Birth = Branded<"Birth">;
/** `epoch.commit.k`: the k-th event that commit brought into being. */
export type EventId = Branded<"EventId">;
/** Names one pending answer. A door's token begins with `door:`, an actor's with its effect key. */
export type Token = Branded<"Token">;
/** `address#birth.n`: one outer effect, the same after a restart. Job folders and process markers carry it. */
export type EffectKey = Branded<"EffectKey">;
/** `turn_` and the event id that accepted the message. */
export type TurnId = Branded<"TurnId">;

export const ROOT = "/" as Address;

/** `child(“/”, "agents")` is `/agents`. The segment must not hold a `/` (the caller encodes it before). */
export function childOf(parent: Address, segment: string): Address {
  return (parent === "/" ? `/${segment}` : `${parent}/${segment}`) as Address;
}

/** The address above, or null for the root. */
export function parentOf(address: Address): Address | null {
  if (address === "/") return null;
  const cut = address.lastIndexOf("/");
  return (cut === 0 ? "/" : address.slice(0, cut)) as Address;
}

/** True when `address` is `scope` or lies below it. */
export function isWithin(address: Address, scope: Address): boolean {
  return scope === "/" || address === scope || address.startsWith(`${scope}/`);
}

export const AGENT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
export const SESSION_SLUG = /^[A-Za-z0-9_-]+$/;

export const agentAddress = (agent: string): Address => `/agents/${agent}` as Address;
export const sessionAddress = (agent: string, session: string): Address => `/agents/${agent}/sessions/${session}` as Address;
export const turnAddress = (agent: string, session: string, turn: string): Address =>
  `/agents/${agent}/sessions/${session}/turns/${turn}` as Address;

/** The agent and session an address lies in, as far as it lies in one. */
export function placeOf(address: Address): { agent?: string; session?: string } {
  const [, room, agent, below, session] = address.split("/");
  if (room !== "agents" || agent === undefined) return {};
  return below === "sessions" && session !== undefined ? { agent, session } : { agent };
}
