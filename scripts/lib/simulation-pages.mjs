/** The generated stretches of docs/design/simulation.md, each between its two marks. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./files.mjs";

const page = join(root, "docs/design/simulation.md");

export function plantedTable(bugs) {
  const rows = bugs.map(
    ({ name, found }) => `| ${name} | ${found ? found.seed : "not found"} | ${found ? found.verdict.replaceAll("|", "\\|") : ""} |`,
  );
  return ["| planted bug | found by seed, from 1 on | what the oracle said |", "| --- | --- | --- |", ...rows].join("\n");
}

/** Charts × events: in which states each was heard. Cells are `chart state event`. */
export function coverageTable(cells) {
  const by = new Map();
  for (const cell of [...cells].sort()) {
    const [chart, state, event] = cell.split(" ");
    const key = `${chart} ${event}`;
    by.set(key, [...(by.get(key) ?? []), state]);
  }
  const rows = [...by].map(([key, states]) => {
    const [chart, event] = key.split(" ");
    return `| ${chart} | \`${event}\` | ${states.join(", ")} |`;
  });
  return ["| chart | event | heard in states |", "| --- | --- | --- |", ...rows].join("\n");
}

export function writeTable(name, table) {
  const text = readFileSync(page, "utf8");
  const pattern = new RegExp(`(<!-- ${name}: made by a script -->\n)[\\s\\S]*?(<!-- end -->)`);
  if (!pattern.test(text)) throw new Error(`${page} has no place for "${name}"`);
  writeFileSync(
    page,
    text.replace(pattern, (_, begin, end) => `${begin}\n${table}\n\n${end}`),
  );
}
