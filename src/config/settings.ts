/**
 * The settings of a running server. Owns what is in force: the last valid config.yaml, the agents with their last valid
 * rules, the secrets. A file that breaks changes nothing but `status()`; whoever listens hears of every change.
 */
import { join } from "node:path";
import { SomoraError } from "../protocol/errors.ts";
import type { ModelInfo } from "../protocol/model.ts";
import type { AgentSettings, BudgetSettings, ProviderSettings, SettingsPort } from "../ports/settings.port.ts";
import type { ConfigStatus } from "../ports/handles.port.ts";
import { AGENT_NAME } from "../protocol/ids.ts";
import { isGone, loadAgents, textOr, type LoadedAgent } from "./agents-folder.ts";
import type { Problem } from "./checked-yaml.ts";
import type { Config } from "./config.schema.ts";
import { withAgentModel, withProvider, type NewProvider } from "./edit-config.ts";
import { makeAgent, makeHome } from "./first-home.ts";
import { splitPersona } from "./frontmatter.ts";
import { folderOf, homePaths, type HomePaths } from "./home.ts";
import { modelsOf, rehearsalNames, REHEARSAL } from "./models-of.ts";
import { checkConfig, readText } from "./read-config.ts";
import { fillReferences, parseSecrets, withSecret, type Lookup } from "./secrets.ts";
import { watchHome, type SetTimer, type Watch } from "./watch-files.ts";
import { writeWhole } from "./write-file.ts";

export interface SettingsOptions {
  home: string;
  env: Record<string, string | undefined>;
  /** From the command line; they win over environment and file. */
  overrides?: { host?: string; port?: number };
  /** Folder of the scripts that come with somora; copied into a home that lacks them. */
  shippedRehearsals?: string | null;
  /** Follow the files. Default true; `reload` works either way. */
  watch?: boolean;
  setTimer?: SetTimer;
  now?: () => number;
}

export interface Settings extends SettingsPort {
  readonly paths: HomePaths;
  /** True when this start made the home. */
  readonly firstStart: boolean;
  /** The access key of the home. */
  readonly key: string;
  listen(): { host: string; port: number };
  /** A value of somora.env, else of the environment. */
  secret(name: string): string | null;
  status(): ConfigStatus;
  /** Reads everything again; resolves when it is in force and everyone has been told. */
  reload(): Promise<ConfigStatus>;
  /** config.yaml with its comments kept, then in force. The key goes into somora.env under `keyEnv`. */
  addProvider(provider: NewProvider & { key?: string }): Promise<void>;
  setAgentModel(agent: string, ref: string | null): Promise<void>;
  createAgent(agent: { name: string; model?: string; kind?: "chat" | "builder"; description?: string }): Promise<void>;
  close(): void;
}

/** Throws CONFIG_INVALID when config.yaml is broken at the start (afterwards the last valid one stays), CONFIG_UNREADABLE when it cannot be read. */
export async function openSettings(options: SettingsOptions): Promise<Settings> {
  const paths = homePaths(options.home);
  const { first } = await makeHome(paths, options.shippedRehearsals ?? null);
  const key = (await readText(paths.key)).trim();
  const settings = new HomeSettings(paths, options, key, first);
  await settings.start();
  return settings;
}

class HomeSettings implements Settings {
  readonly paths: HomePaths;
  readonly key: string;
  readonly firstStart: boolean;
  readonly #options: SettingsOptions;
  readonly #now: () => number;
  readonly #listeners = new Set<(what: { agents: string[]; config: boolean }) => void>();
  #config!: Config;
  #configText = "";
  #configFaults: Problem[] = [];
  /** The last look at the files failed as a whole, such as for rights. */
  #readFault: Problem | null = null;
  #secretsText = "";
  #secrets = new Map<string, string>();
  #agents = new Map<string, LoadedAgent>();
  #models: ModelInfo[] = [];
  #inForceSince = 0;
  #loading: Promise<unknown> = Promise.resolve();
  #watch: Watch | null = null;

  constructor(paths: HomePaths, options: SettingsOptions, key: string, first: boolean) {
    this.paths = paths;
    this.key = key;
    this.firstStart = first;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async start(): Promise<void> {
    await this.#load();
    if (this.#options.watch !== false) {
      this.#watch = watchHome(this.paths, this.#options.setTimer ?? plainTimer, () => void this.#reloadByItself());
      this.#watch.follow(this.#folders());
    }
  }

  close(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#listeners.clear();
  }

  readonly #lookup: Lookup = (name) => this.#secrets.get(name) ?? this.#options.env[name];

  secret(name: string): string | null {
    return this.#lookup(name) ?? null;
  }

  status(): ConfigStatus {
    const errors = [
      ...(this.#readFault ? [this.#readFault] : []),
      ...this.#configFaults,
      ...[...this.#agents.values()].flatMap((agent) => agent.faults),
    ];
    return { valid: errors.length === 0, errors, inForceSince: this.#inForceSince };
  }

  reload(): Promise<ConfigStatus> {
    return this.#inTurn(async () => {
      await this.#load();
      this.#watch?.follow(this.#folders());
      return this.status();
    });
  }

  /** Nobody waits for this one: what goes wrong is shown in `status`. */
  async #reloadByItself(): Promise<void> {
    try {
      await this.reload();
      this.#readFault = null;
    } catch (error) {
      const message = `The files of ${this.paths.home} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      if (this.#readFault?.message === message) return;
      this.#readFault = { file: this.paths.home, line: 1, key: "", value: null, allowed: "files that can be read", near: null, message };
      for (const listener of this.#listeners) listener({ agents: [], config: true });
    }
  }

  listen(): { host: string; port: number } {
    const { overrides = {}, env } = this.#options;
    const named = env["SOMORA_PORT"];
    const port = overrides.port ?? (named === undefined || named === "" ? this.#config.server.port : portOf(named));
    return { host: overrides.host ?? (env["SOMORA_HOST"] || this.#config.server.host), port };
  }

  agents(): string[] {
    return [...this.#agents.values()].filter((agent) => !isGone(agent)).map((agent) => agent.name);
  }

  agent(name: string): AgentSettings | null {
    const agent = this.#agents.get(name);
    if (!agent) return null;
    const { front, rules, folder, problem } = agent;
    const own = Object.fromEntries(Object.entries(rules.agentLoop).filter(([, value]) => value !== undefined));
    return Object.freeze({
      name,
      folder,
      kind: rules.kind,
      description: front.description ?? "",
      icon: front.icon ?? null,
      color: front.color ?? null,
      role: front.role ?? null,
      model: rules.model ?? null,
      thinking: rules.thinking ?? null,
      tools: { deny: [...rules.tools.deny], allow: [...rules.tools.allow] },
      loop: { ...this.#config.agentLoop, ...own },
      budget: rules.budget,
      workspace: folderOf(rules.workspace.path ?? this.#config.workspace.default, this.paths.home),
      problem,
      persona: async () => {
        const [soul, rules, user] = await Promise.all(["SOUL.md", "AGENTS.md", "USER.md"].map((file) => textOr(join(folder, file))));
        return { soul: soul ?? null, agents: splitPersona(rules ?? "").text, user: user ?? null };
      },
    });
  }

  models(): ModelInfo[] {
    return this.#models;
  }

  provider(name: string): ProviderSettings | null {
    const entry = this.#config.providers[name];
    if (!entry && name !== REHEARSAL) return null;
    return Object.freeze({
      name,
      engine: entry?.engine ?? REHEARSAL,
      baseUrl: entry?.baseUrl ?? null,
      apiKey: () => {
        const template = this.#config.providers[name]?.apiKey;
        if (template === undefined) return null;
        const filled = fillReferences(template, this.#lookup);
        return filled.missing.length > 0 || filled.value === "" ? null : filled.value;
      },
      models: this.#models.filter((model) => model.provider === name),
    });
  }

  resolveModel(ref: string): ModelInfo | null {
    return this.#models.find((model) => model.alias === ref) ?? this.#models.find((model) => model.ref === ref) ?? null;
  }

  server(): { drainMs: number; resumeAfterRestart: "all" | "off" } {
    const { drainMs, resumeAfterRestart } = this.#config.server;
    return { drainMs, resumeAfterRestart };
  }

  budget(): BudgetSettings {
    return this.#config.budget;
  }

  slots(): { perAgent: number; total: number } {
    return { perAgent: this.#config.agents.maxSubagents, total: this.#config.agents.maxSubagentsTotal };
  }

  engineWatchdog(): { openaiCompatibleIdleMs: number } {
    return this.#config.engineWatchdog;
  }

  store(): { keepStoryDays: number } {
    return this.#config.store;
  }

  onChange(listener: (what: { agents: string[]; config: boolean }) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  addProvider(provider: NewProvider & { key?: string }): Promise<void> {
    return this.#inTurn(async () => {
      const text = await readText(this.paths.config);
      const changed = withProvider(text, provider);
      const checked = checkConfig(changed, this.paths.config, this.#lookup);
      if (!checked.ok) throw invalid(checked.problems);
      if (provider.key !== undefined && provider.keyEnv !== null) {
        await writeWhole(this.paths.secrets, withSecret((await textOr(this.paths.secrets)) ?? "", provider.keyEnv, provider.key), 0o600);
      }
      await writeWhole(this.paths.config, changed, 0o600);
      await this.#load();
    });
  }

  setAgentModel(agent: string, ref: string | null): Promise<void> {
    return this.#inTurn(async () => {
      const known = this.#agents.get(agent);
      if (!known || isGone(known)) throw unknownAgent(agent, this.agents());
      const file = join(known.folder, "agent.yaml");
      await writeWhole(file, withAgentModel((await textOr(file)) ?? "", ref), 0o600);
      await this.#load();
    });
  }

  createAgent(agent: { name: string; model?: string; kind?: "chat" | "builder"; description?: string }): Promise<void> {
    return this.#inTurn(async () => {
      const { name, model, kind, description } = agent;
      if (!AGENT_NAME.test(name)) {
        throw new SomoraError("AGENT_NAME_INVALID", `An agent cannot be called ${JSON.stringify(name)}.`, {
          hint: "Use letters, digits, `_`, `.` and `-`; the first one is a letter, a digit or `_`.",
        });
      }
      const known = this.#agents.get(name);
      if (known && !isGone(known))
        throw new SomoraError("AGENT_EXISTS", `There is an agent called ${name} already.`, { hint: `Its files are in ${known.folder}.` });
      if (model !== undefined && !this.resolveModel(model)) {
        throw new SomoraError("MODEL_UNKNOWN", `No model is called ${JSON.stringify(model)}.`, {
          hint: `Known: ${this.#models.map((other) => other.alias ?? other.ref).join(", ") || "none"}.`,
        });
      }
      const front = description === undefined ? "" : `---\ndescription: ${JSON.stringify(description)}\n---\n`;
      const rules = `${kind === undefined ? "" : `kind: ${kind}\n`}${model === undefined ? "# model: rehearsal/guide\n" : `model: ${JSON.stringify(model)}\n`}`;
      await makeAgent(this.paths, name, `${front}You are ${name}.${description === undefined ? "" : ` ${description}`}\n`, rules);
      await this.#load();
      this.#watch?.follow(this.#folders());
    });
  }

  #folders(): string[] {
    return [...this.#agents.values()].filter((agent) => !isGone(agent)).map((agent) => agent.folder);
  }

  /** One change of the files at a time; a failed one does not hold up the next. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const next = this.#loading.then(work, work);
    this.#loading = next.catch(() => undefined);
    return next;
  }

  async #load(): Promise<void> {
    const secretsText = (await textOr(this.paths.secrets)) ?? "";
    const secretsChanged = secretsText !== this.#secretsText;
    if (secretsChanged) {
      this.#secretsText = secretsText;
      this.#secrets = parseSecrets(secretsText);
    }
    const configChanged = await this.#loadConfig(secretsChanged);
    // Without a last valid version there is nothing to go on with.
    if (this.#inForceSince === 0) throw invalid(this.#configFaults);
    const before = this.#agents;
    this.#agents = await loadAgents(this.paths.agents, before, this.#lookup);
    const changed = [...this.#agents.values()].filter((agent) => before.get(agent.name)?.print !== agent.print).map((agent) => agent.name);
    const models = modelsOf(this.#config, await rehearsalNames(this.paths.rehearsals));
    const modelsChanged = JSON.stringify(models) !== JSON.stringify(this.#models);
    this.#models = models;
    if (changed.length === 0 && !configChanged && !modelsChanged) return;
    for (const listener of this.#listeners) listener({ agents: changed, config: configChanged || modelsChanged });
  }

  /** True when what is in force or what is wrong with the file changed. */
  async #loadConfig(secretsChanged: boolean): Promise<boolean> {
    let text: string;
    try {
      text = await readText(this.paths.config);
    } catch (error) {
      if (this.#inForceSince === 0) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const fault = { file: this.paths.config, line: 1, key: "", value: null, allowed: "a file that can be read", near: null, message };
      const news = this.#configFaults[0]?.message !== message;
      this.#configFaults = [fault];
      this.#configText = "";
      return news;
    }
    if (text === this.#configText && !secretsChanged && this.#inForceSince !== 0) return false;
    this.#configText = text;
    const checked = checkConfig(text, this.paths.config, this.#lookup);
    if (!checked.ok) {
      this.#configFaults = checked.problems;
      return true;
    }
    this.#configFaults = [];
    this.#config = checked.value;
    this.#inForceSince = this.#now();
    return true;
  }
}

function plainTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/** A configuration that does not fit, with every fault in it. */
export function invalid(problems: readonly Problem[]): SomoraError {
  return new SomoraError("CONFIG_INVALID", problems.map((problem) => problem.message).join("\n"), {
    hint: "Correct the lines named; `somora config check` says whether all is well.",
    details: { errors: problems.map((problem) => ({ ...problem })) },
  });
}

function unknownAgent(name: string, known: string[]): SomoraError {
  return new SomoraError("AGENT_UNKNOWN", `No agent is called ${JSON.stringify(name)}.`, {
    hint: `Known: ${known.join(", ") || "none"}.`,
    details: { known },
  });
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new SomoraError("CONFIG_INVALID", `SOMORA_PORT is ${JSON.stringify(text)}; allowed: a whole number from 0 to 65535.`, {
    hint: "0 takes any free port.",
  });
}
