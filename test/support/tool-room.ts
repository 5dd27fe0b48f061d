/** A tool room over a throw-away home, with real files and processes. */
import { mkdtempSync, realpathSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolHost } from "../../src/host/tool-host.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import type { AgentSettings, SettingsPort } from "../../src/ports/settings.port.ts";
import type { ToolCallRequest, ToolCallResult, ToolRoom } from "../../src/ports/tools.port.ts";
import type { Json } from "../../src/protocol/json.ts";
import { createToolRoom } from "../../src/tools/index.ts";

export interface TestRoom {
  room: ToolRoom;
  /** `SOMORA_HOME`. */
  home: string;
  /** The home folder of the user, as the policy sees it. */
  userHome: string;
  /** The session's folder. */
  cwd: string;
  docs: string;
  request(tool: string, input: Json, more?: Partial<ToolCallRequest>): ToolCallRequest;
  call(
    tool: string,
    input: Json,
    more?: Partial<ToolCallRequest> & { signal?: AbortSignal; progress?: (text: string) => void },
  ): Promise<ToolCallResult>;
  end(): Promise<void>;
}

export interface TestAgent {
  kind?: "chat" | "builder";
  allow?: string[];
  deny?: string[];
  toolCallTimeoutMs?: number;
}

/** Agents default to one chat agent `ada` that may use `exec`. */
export async function openTestRoom(
  agents: Record<string, TestAgent> = { ada: { allow: ["exec"] } },
  options: { perl?: boolean } = {},
): Promise<TestRoom> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "somora-tools-")));
  const [home, userHome, cwd, docs] = ["home", "user", "work", "docs"].map((name) => join(root, name)) as [string, string, string, string];
  for (const folder of [home, userHome, cwd, docs]) await mkdir(folder);
  for (const name of Object.keys(agents)) {
    await mkdir(join(home, "agents", name, "memory"), { recursive: true });
    await writeFile(join(home, "agents", name, "AGENTS.md"), `# ${name}\n`);
  }
  await writeFile(join(docs, "first-hour.md"), "# The first hour\n\nStart it.\n");
  const host = createToolHost({ home, clock: systemClock, environment: process.env, userHome, ...options });
  const room = createToolRoom({ settings: settingsOf(home, cwd, agents), clock: systemClock, host, docsFolder: docs });
  let calls = 0;
  const request = (tool: string, input: Json, more: Partial<ToolCallRequest> = {}): ToolCallRequest => {
    calls += 1;
    return {
      tool,
      input,
      agent: Object.keys(agents)[0] ?? "ada",
      session: "main",
      turnId: null,
      callId: `call_${calls}`,
      cwd,
      effectKey: `/agents/ada/test#1.1.${calls}.1 ${root}`,
      ...more,
    };
  };
  return {
    room,
    home,
    userHome,
    cwd,
    docs,
    request,
    call: (tool, input, { signal = new AbortController().signal, progress = () => {}, ...more } = {}) =>
      room.run(request(tool, input, more), { signal, progress }),
    end: () => rm(root, { recursive: true, force: true }),
  };
}

export function settingsFor(test: { home: string; cwd: string }): SettingsPort {
  return settingsOf(test.home, test.cwd, { ada: { allow: ["exec"] } });
}

function settingsOf(home: string, cwd: string, agents: Record<string, TestAgent>): SettingsPort {
  const agent = (name: string): AgentSettings | null => {
    const given = agents[name];
    if (given === undefined) return null;
    return {
      name,
      folder: join(home, "agents", name),
      kind: given.kind ?? "chat",
      description: "",
      icon: null,
      color: null,
      role: null,
      model: null,
      thinking: null,
      tools: { deny: given.deny ?? [], allow: given.allow ?? [] },
      loop: {
        maxRounds: 40,
        maxToolCallsPerTurn: 120,
        toolCallTimeoutMs: given.toolCallTimeoutMs ?? 30_000,
        longTaskDefaultTimeoutMs: 300_000,
        longTaskMaxTimeoutMs: 1_800_000,
      },
      budget: { perTurnUsd: null, perDayUsd: null },
      workspace: cwd,
      problem: null,
      persona: () => Promise.resolve({ soul: null, agents: "", user: null }),
    };
  };
  return {
    agents: () => Object.keys(agents),
    agent,
    models: () => [],
    provider: () => null,
    resolveModel: () => null,
    server: () => ({ drainMs: 10_000, resumeAfterRestart: "all" }),
    budget: () => ({ perTurnUsd: null, perDayUsd: null }),
    slots: () => ({ perAgent: 4, total: 16 }),
    engineWatchdog: () => ({ openaiCompatibleIdleMs: 60_000 }),
    store: () => ({ keepStoryDays: 7 }),
    onChange: () => () => {},
  };
}

/** The data of a call that went well; throws with its error else. */
export function dataOf(result: ToolCallResult): Record<string, Json> {
  const { output } = result;
  if (!output.ok) throw new Error(`expected ok, got ${JSON.stringify(output.error)}`);
  if (output.data === null || typeof output.data !== "object" || Array.isArray(output.data)) throw new Error("expected an object");
  return output.data;
}

export function errorOf(result: ToolCallResult): { code: string; message: string; hint?: string | undefined; [field: string]: unknown } {
  const { output } = result;
  if (output.ok) throw new Error(`expected an error, got ${JSON.stringify(output.data).slice(0, 300)}`);
  return output.error;
}
