/** Refuses child specs that make no sense, each fault by its own name: faults of the build, found before the store is opened. */
import type { ChildSpec } from "../../protocol/effects.ts";
import { SpecRefused } from "./refusals.ts";

const RESTARTS = ["permanent", "transient", "temporary"];
const IDENTITIES = ["keep", "fresh"];
const PASTS = ["park", "fail", "climb"];
const STRATEGIES = ["one_for_one", "one_for_all", "rest_for_one"];
const AUTO = ["never", "any_significant", "all_significant"];
const KNOWN = new Set(
  "restart shutdown identity past intensity periodMs line shard backoffMs significant strategy autoShutdown maxChildren wholeStart".split(
    " ",
  ),
);

export function checkSpecs(specs: Readonly<Record<string, ChildSpec>>): void {
  for (const [name, spec] of Object.entries(specs)) {
    const fault = faultOf(spec);
    if (fault !== null) throw new SpecRefused(name, fault);
  }
}

const isCount = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least;
const oneOf = (field: string, value: unknown, allowed: readonly string[]): string | null =>
  allowed.includes(value as string) ? null : `${field} is ${JSON.stringify(value)}; it is one of ${allowed.join(", ")}`;

/** What is wrong with it, or null. */
export function faultOf(spec: ChildSpec): string | null {
  if (typeof spec !== "object" || spec === null) return `it is ${JSON.stringify(spec)}, not a spec`;
  for (const field of Object.keys(spec)) if (!KNOWN.has(field)) return `it has a field "${field}", which no spec has`;
  const { restart, shutdown, identity, past, intensity, periodMs, backoffMs, significant, strategy, autoShutdown, maxChildren } = spec;
  const named =
    oneOf("restart", restart, RESTARTS) ??
    oneOf("identity", identity, IDENTITIES) ??
    oneOf("past", past, PASTS) ??
    oneOf("strategy", strategy ?? "one_for_one", STRATEGIES) ??
    oneOf("autoShutdown", autoShutdown ?? "never", AUTO);
  if (named !== null) return named;
  if (!(shutdown === "brutal" || shutdown === "infinity" || isCount(shutdown, 0)))
    return `shutdown is ${JSON.stringify(shutdown)}; it is a number of milliseconds, brutal or infinity`;
  if (!isCount(intensity, 0)) return `intensity is ${JSON.stringify(intensity)}; it is a count from 0 on`;
  if (!isCount(periodMs, 1)) return `periodMs is ${JSON.stringify(periodMs)}; it is a number of milliseconds from 1 on`;
  if (backoffMs !== undefined && !(isCount(backoffMs.first, 1) && isCount(backoffMs.most, backoffMs.first)))
    return `backoffMs is ${JSON.stringify(backoffMs)}; first is from 1 ms on, most is not below it`;
  if (maxChildren !== undefined && !isCount(maxChildren, 0)) return `maxChildren is ${JSON.stringify(maxChildren)}; it is a count`;
  if (past === "climb" && identity === "keep") return `past is "climb" with identity "keep"; only what starts anew can climb`;
  if (significant === true && restart === "permanent") return `significant is true with restart "permanent"; such a one never ends`;
  return null;
}
