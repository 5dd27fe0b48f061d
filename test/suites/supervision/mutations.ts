/**
 * One fault per group, planted in the source of the kernel: `scripts/mutate-kernel.mjs` puts each into a copy and runs this suite
 * on it. It has to turn its own group red and to leave at least half of the others green, or the group proves nothing of its own.
 */
export interface Mutation {
  /** Its group in `cases.ts`. */
  group: string;
  /** What the kernel does wrong with it. */
  fault: string;
  file: string;
  /** Stands exactly once in the file. */
  text: string;
  replacement: string;
}

const kernel = "src/actors/kernel";

export const mutations: readonly Mutation[] = [
  {
    group: "A",
    fault: "a supervisor does not fail with a child of its first start",
    file: `${kernel}/supervising.ts`,
    text: "    actor.starting = true;",
    replacement: "    actor.starting = false;",
  },
  {
    group: "B",
    fault: "fields no spec has are let pass",
    file: `${kernel}/specs.ts`,
    text: "if (!KNOWN.has(field)) return",
    replacement: "if (KNOWN.size === 0) return",
  },
  {
    group: "C",
    fault: "a brutal shutdown waits a second",
    file: `${kernel}/ending.ts`,
    text: 'shutdown === "brutal" ? 0 : shutdown',
    replacement: 'shutdown === "brutal" ? 1000 : shutdown',
  },
  {
    group: "D",
    fault: "one name twice in a step is not noticed",
    file: `${kernel}/applying.ts`,
    text: "core.actors.has(address) || born.has(address)",
    replacement: "core.actors.has(address)",
  },
  {
    group: "E",
    fault: "a permanent child that ends normally is not restarted",
    file: `${kernel}/supervising.ts`,
    text: 'if (spec.restart !== "permanent" || spec.identity !== "fresh" ||',
    replacement: 'if (spec.periodMs > 0 || spec.restart !== "permanent" || spec.identity !== "fresh" ||',
  },
  {
    group: "F",
    fault: "a permanent child that was stopped is not told so when it goes on",
    file: `${kernel}/ending.ts`,
    text: 'actor.snapshot !== null && fence.reason.by !== "crash"',
    replacement: 'actor.snapshot !== null && fence.reason.by === "crash"',
  },
  {
    group: "G",
    fault: "a keep child is not told that it crashed",
    file: `${kernel}/restarts.ts`,
    text: '{ type: "resumed", cause: "crash", dropped }',
    replacement: '{ type: "resumed", cause: "restart", dropped }',
  },
  {
    group: "H",
    fault: "rest_for_one restarts those before the failed one, too",
    file: `${kernel}/supervising.ts`,
    text: 'parent.spec.strategy === "one_for_all" ? 0 : all.indexOf(failed)',
    replacement: 'parent.spec.strategy === "one_for_all" ? 0 : all.indexOf(failed) * 0',
  },
  {
    group: "I",
    fault: "all_significant ends with the first, as any_significant does",
    file: `${kernel}/supervising.ts`,
    text: 'if (mode === "all_significant")',
    replacement: 'if (mode !== "any_significant" && mode !== "all_significant")',
  },
  {
    group: "J",
    fault: "a scope is told to stop in start order",
    file: `${kernel}/ending.ts`,
    text: "[...(actor.children?.values() ?? [])].reverse())\n      collect(",
    replacement: "[...(actor.children?.values() ?? [])])\n      collect(",
  },
  {
    group: "K",
    fault: "rows of an older chart are read as they are",
    file: `${kernel}/chart.ts`,
    text: "current = this.definition.migrate(stored, version);",
    replacement: "current = stored;",
  },
  {
    group: "gen_statem",
    fault: "a timer comes a millisecond late",
    file: `${kernel}/timers.ts`,
    text: "due: effect.at ?? now + (effect.after ?? 0),",
    replacement: "due: effect.at ?? now + 1 + (effect.after ?? 0),",
  },
  {
    group: "Elixir",
    fault: "one child more than allowed is started",
    file: `${kernel}/supervising.ts`,
    text: "(parent.children?.size ?? 0) < parent.spec.maxChildren",
    replacement: "(parent.children?.size ?? 0) <= parent.spec.maxChildren",
  },
  {
    group: "Pekko",
    fault: "a back-off does not grow",
    file: `${kernel}/restarts.ts`,
    text: "backoffMs.first * 2 ** Math.max(0, actor.crashes.length - 1)",
    replacement: "backoffMs.first * 1 ** Math.max(0, actor.crashes.length - 1)",
  },
];
