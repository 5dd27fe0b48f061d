/** Makes `docs/design/conformance.md` from the list of cases and the last run of the mutations. */
import { groups } from "./cases.ts";
import { mutations } from "./mutations.ts";

export const pagePath = "docs/design/conformance.md";
export const resultsPath = "test/suites/supervision/mutation-results.json";

/** What each mutation did to the suite. */
export type MutationResults = { group: string; fault: string; red: string[]; green: string[] }[];

export function conformancePage(results: MutationResults): string {
  const here = groups.reduce((sum, group) => sum + group.here.length, 0);
  const out = groups.reduce((sum, group) => sum + Object.keys(group.leftOut).length, 0);
  return [
    "# Supervision, measured by others' cases",
    "",
    "<!-- Made by `node scripts/mutate-kernel.mjs` from `test/suites/supervision`. Not written by hand. -->",
    "",
    `The kernel has to hold what supervisors elsewhere hold: ${here} cases of Erlang's, Elixir's and Pekko's own suites, by their ` +
      `names there; ${out} are left out, each with its reason. Names of our own have Elixir's (whose tests have sentences for names), the three ` +
      "`undef_` ones of gen_statem, and two of Pekko's group (work that ignores its end, a death while starting). " +
      "Where the kernel means something else than Erlang, the case says so in its comment; the differences:",
    "",
    "- A restart budget belongs to the child, not to the supervisor. Past it the child is parked, fails for good, or takes its supervisor with it.",
    "- A `keep` child restarts in place: same birth, children, work, timers, watches; nobody hears a `down`. A `fresh` one is Erlang's restart.",
    "- In a group restart (`one_for_all`, `rest_for_one`) `keep` siblings stand still until the group is whole and then hear `resumed`.",
    "- A permanent child that is stopped is suspended and goes on; `remove` is terminate and delete in one.",
    "- A stop tells a whole scope at once, in reverse start order, so that all limits run side by side. One after the other go: a group that " +
      "restarts, the static children of one that ended, and those of a first start that failed.",
    "- Nobody keeps a spec without a child: who is down is gone, and its name is free.",
    "- A first start fails as a whole only where the spec says `wholeStart`; else a failing first step is one more crash of that child.",
    "",
    "## A fault for each group",
    "",
    "Each fault is planted in a copy of the kernel and the suite is run on it. It must turn its own group red and leave at least half of the " +
      "others green.",
    "",
    "| group | fault | red | green |",
    "| --- | --- | --- | --- |",
    ...results.map(({ group, fault, red, green }) => `| ${group} | ${fault} | ${red.join(", ")} | ${green.join(", ")} |`),
    "",
    ...groups.flatMap((group) => [
      `## ${group.id}: ${group.about}`,
      "",
      `${group.from}; \`test/suites/supervision/${group.file}\`. Turned red by: ${mutations.find((each) => each.group === group.id)?.fault ?? "nothing"}.`,
      "",
      "| case | |",
      "| --- | --- |",
      ...group.here.map((name) => `| ${cell(name)} | here |`),
      ...Object.entries(group.leftOut).map(([name, reason]) => `| ${cell(name)} | left out: ${reason} |`),
      "",
    ]),
  ].join("\n");
}

function cell(name: string): string {
  return /^[a-z0-9_]+$/u.test(name) ? `\`${name}\`` : name;
}
