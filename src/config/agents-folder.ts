/** The agents of a home: a folder with an AGENTS.md is one. Reads them all; keeps the last valid agent.yaml of each. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AGENT_NAME } from "../protocol/ids.ts";
import { agentSchema, type AgentFile, type Frontmatter } from "./agent.schema.ts";
import { checkYaml, type Problem } from "./checked-yaml.ts";
import { splitPersona } from "./frontmatter.ts";
import type { Lookup } from "./secrets.ts";

export interface LoadedAgent {
  name: string;
  folder: string;
  front: Frontmatter;
  rules: AgentFile;
  problem: string | null;
  faults: Problem[];
  /** Changes when anything of it does. */
  print: string;
}

/** `before`: the agents as last loaded; one whose folder went stays known, with its problem. */
export async function loadAgents(
  folder: string,
  before: ReadonlyMap<string, LoadedAgent>,
  lookup: Lookup,
): Promise<Map<string, LoadedAgent>> {
  const found = new Map<string, LoadedAgent>();
  for (const name of (await namesIn(folder)).sort()) {
    const agent = await loadAgent(join(folder, name), name, before.get(name), lookup);
    if (agent) found.set(name, agent);
  }
  for (const [name, agent] of before) {
    if (found.has(name)) continue;
    found.set(name, {
      ...agent,
      faults: [],
      problem: `folder gone: ${join(agent.folder, "AGENTS.md")} is not there; put it back and the agent goes on`,
      print: "gone",
    });
  }
  return found;
}

export const isGone = (agent: LoadedAgent): boolean => agent.print === "gone";

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder, { withFileTypes: true }))
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && AGENT_NAME.test(entry.name))
      .map((entry) => entry.name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function loadAgent(folder: string, name: string, before: LoadedAgent | undefined, lookup: Lookup): Promise<LoadedAgent | null> {
  const persona = await textOr(join(folder, "AGENTS.md"));
  if (persona === null) return null;
  const { front } = splitPersona(persona);
  const file = join(folder, "agent.yaml");
  const text = (await textOr(file)) ?? "";
  const checked = checkYaml(text, agentSchema, { file, lookup });
  const print = JSON.stringify([front, text, checked.ok ? null : checked.problems]);
  if (checked.ok) return { name, folder, front, rules: checked.value, problem: null, faults: [], print };
  // Closed: what the last valid file refused stays refused, what it allowed beyond the kind does not.
  const last = before?.rules;
  const rules: AgentFile = last
    ? { ...last, tools: { deny: last.tools.deny, allow: [] } }
    : { ...agentSchema.parse({}), tools: { deny: ["*"], allow: [] } };
  const first = checked.problems[0]?.message ?? file;
  return { name, folder, front, rules, problem: `agent.yaml is invalid: ${first}`, faults: checked.problems, print };
}

/** Null when it is not there or not a file. */
export async function textOr(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return null;
    throw error;
  }
}
