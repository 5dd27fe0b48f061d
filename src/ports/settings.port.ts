/** Settings as other rooms see them: finished, frozen, only their own part. The schema and the files are `src/config`. */
import type { ModelInfo } from "../protocol/model.ts";

export interface AgentLoopSettings {
  maxRounds: number;
  maxToolCallsPerTurn: number;
  toolCallTimeoutMs: number;
  longTaskDefaultTimeoutMs: number;
  longTaskMaxTimeoutMs: number;
}

/** US dollars; null: no limit. What costs an unknown amount is not counted. */
export interface BudgetSettings {
  perTurnUsd: number | null;
  perDayUsd: number | null;
}

export interface ProviderSettings {
  name: string;
  engine: "openai-compatible" | "rehearsal";
  baseUrl: string | null;
  /** A secret that rotates is a function: called for each request. */
  apiKey(): string | null;
  models: ModelInfo[];
}

export interface AgentSettings {
  name: string;
  /** Folder of the agent: `<home>/agents/<name>`. */
  folder: string;
  kind: "chat" | "builder";
  description: string;
  icon: string | null;
  color: string | null;
  role: string | null;
  /** As written in agent.yaml; null when none. */
  model: string | null;
  thinking: "off" | "low" | "medium" | "high" | null;
  tools: { deny: string[]; allow: string[] };
  loop: AgentLoopSettings;
  /** The agent's own; the server's binds as well. */
  budget: BudgetSettings;
  workspace: string;
  /** Why it cannot answer: agent.yaml invalid (its tool rules stay closed), folder gone. */
  problem: string | null;
  /** SOUL.md, AGENTS.md without frontmatter, USER.md, read anew each turn. */
  persona(): Promise<{ soul: string | null; agents: string; user: string | null }>;
}

export interface SettingsPort {
  agents(): string[];
  agent(name: string): AgentSettings | null;
  models(): ModelInfo[];
  provider(name: string): ProviderSettings | null;
  /** Alias or `provider/id`; null when unknown. */
  resolveModel(ref: string): ModelInfo | null;
  server(): { drainMs: number; resumeAfterRestart: "all" | "off" };
  /** For each turn, and for all agents together in a day. */
  budget(): BudgetSettings;
  engineWatchdog(): { openaiCompatibleIdleMs: number };
  /** Sub-agents at work at once: of one agent, and on the whole server. */
  slots(): { perAgent: number; total: number };
  store(): { keepStoryDays: number };
  onChange(listener: (what: { agents: string[]; config: boolean }) => void): () => void;
}
