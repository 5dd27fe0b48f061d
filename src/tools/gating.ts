/** Which tools an agent is offered, from `tools.deny` and `tools.allow` of its agent.yaml (contract §6). */

export interface GatedTool {
  name: string;
  toolset: string;
}
export interface GatingRules {
  kind: "chat" | "builder";
  deny: readonly string[];
  allow: readonly string[];
}

/** What a builder gets without any rule. */
export const BUILDER_TOOLS: ReadonlySet<string> = new Set([
  "file_read",
  "file_write",
  "file_patch",
  "file_search",
  "file_list",
  "analyze_file",
  "exec",
  "process",
  "todo_write",
  "ask_user",
  "plan_write",
  "spawn_subagent",
  "subagent_result",
  "subagent_cancel",
  "agent_ask",
  "agent_ask_result",
  "skill",
  "skill_list",
  "web_fetch",
  "web_search",
  "project_get",
  "project_list",
  "project_create",
  "project_focus",
  "memory_search",
  "memory_get",
  "time_now",
]);
const BUILDER_ONLY: ReadonlySet<string> = new Set(["todo_write", "ask_user", "plan_write"]);

/** Until the guard exists a shell has to be asked for by its name or its toolset; a pattern like `*` does not give one. */
const BY_NAME_ONLY: ReadonlySet<string> = new Set(["exec"]);

/** In this order: exact deny, allow, group deny, the kind's default. */
export function isOffered(tool: GatedTool, rules: GatingRules): boolean {
  if (rules.deny.some((pattern) => !isGroup(pattern) && pattern === tool.name)) return false;
  if (rules.allow.some((pattern) => matches(pattern, tool) && mayAllow(pattern, tool, rules.kind))) return true;
  if (rules.deny.some((pattern) => isGroup(pattern) && matches(pattern, tool))) return false;
  if (BY_NAME_ONLY.has(tool.toolset)) return false;
  return rules.kind === "builder" ? BUILDER_TOOLS.has(tool.name) : !isBuilderOnly(tool);
}

function mayAllow(pattern: string, tool: GatedTool, kind: "chat" | "builder"): boolean {
  if (pattern === tool.name) return true;
  if (kind === "chat" && isBuilderOnly(tool)) return false;
  return !BY_NAME_ONLY.has(tool.toolset) || pattern === `toolset:${tool.toolset}`;
}

function isBuilderOnly(tool: GatedTool): boolean {
  return tool.toolset === "builder" || BUILDER_ONLY.has(tool.name);
}

function isGroup(pattern: string): boolean {
  return pattern.startsWith("toolset:") || pattern.endsWith("*");
}

/** `name`, `toolset:<tag>` or `prefix*`. */
function matches(pattern: string, tool: GatedTool): boolean {
  if (pattern.startsWith("toolset:")) return pattern === `toolset:${tool.toolset}`;
  return pattern.endsWith("*") ? tool.name.startsWith(pattern.slice(0, -1)) : pattern === tool.name;
}
