import { chmod, mkdtemp, mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SomoraError } from "../protocol/errors.ts";
import { homePaths } from "./home.ts";
import { checkConfigFile } from "./read-config.ts";
import { openSettings, type Settings, type SettingsOptions } from "./settings.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "somora-config-"));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function opened(home: string, more: Partial<SettingsOptions> = {}): Promise<Settings> {
  const settings = await openSettings({ home, env: {}, watch: false, ...more });
  cleanups.push(() => settings.close());
  return settings;
}

/** The next change that somebody tells of. */
function nextChange(settings: Settings): Promise<{ agents: string[]; config: boolean }> {
  return new Promise((resolve) => {
    const off = settings.onChange((what) => {
      off();
      resolve(what);
    });
  });
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("a home that is not there", () => {
  it("is made with private files, comments in config.yaml and three rehearsal agents", async () => {
    const home = join(await folder(), "home");
    const shipped = await folder();
    await writeFile(join(shipped, "guide.yaml"), "rehearsal: 1\n");
    const settings = await opened(home, { shippedRehearsals: shipped });
    expect(settings.firstStart).toBe(true);
    expect(await modeOf(home)).toBe(0o700);
    expect(await modeOf(join(home, "key"))).toBe(0o600);
    expect(await modeOf(join(home, "somora.env"))).toBe(0o600);
    expect(await readFile(join(home, "config.yaml"), "utf8")).toContain("# this machine only");
    expect(settings.agents()).toEqual(["guide", "mishap", "tinker"]);
    expect(settings.agent("tinker")).toMatchObject({
      model: "rehearsal/tinker",
      tools: { allow: ["exec"] },
      problem: null,
      icon: "wrench",
    });
    expect(settings.agent("guide")?.tools.allow).toEqual([]);
    expect(settings.models().map((model) => model.ref)).toEqual(["rehearsal/guide"]);
    expect(settings.resolveModel("rehearsal/guide")).toMatchObject({ rehearsal: true, engine: "rehearsal" });
    expect(settings.key).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(settings.listen()).toEqual({ host: "127.0.0.1", port: 18_737 });
  });

  it("keeps key, agents and edited rehearsals at the second start", async () => {
    const home = await folder();
    const shipped = await folder();
    await writeFile(join(shipped, "guide.yaml"), "rehearsal: 1\n");
    const first = await opened(home, { shippedRehearsals: shipped });
    await writeFile(join(home, "rehearsals/guide.yaml"), "rehearsal: 1 # mine\n");
    await rm(join(home, "agents/mishap"), { recursive: true });
    const second = await opened(home, { shippedRehearsals: shipped });
    expect(second.firstStart).toBe(false);
    expect(second.key).toBe(first.key);
    expect(second.agents()).toEqual(["guide", "tinker"]);
    expect(await readFile(join(home, "rehearsals/guide.yaml"), "utf8")).toContain("mine");
  });

  it("is refused with its path when it cannot be made", async () => {
    const file = join(await folder(), "file");
    await writeFile(file, "");
    await expect(opened(join(file, "home"))).rejects.toMatchObject({
      code: "CONFIG_UNREADABLE",
      message: expect.stringContaining(file) as string,
    });
  });
});

describe("a config.yaml with a fault", () => {
  const typo = [
    "# settings",
    "server:",
    "  host: 127.0.0.1",
    "  port: 0",
    "store:",
    "  keepStoryDays: 3",
    "agentLop:",
    "  maxRounds: 3",
    "",
  ].join("\n");

  it("stops the start and names a typo on line 7 as line 7, with the nearest key", async () => {
    const home = await folder();
    await writeFile(join(home, "config.yaml"), typo);
    const refusal = await opened(home).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SomoraError);
    expect(refusal).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/config\.yaml:7: unknown key `agentLop`.*Did you mean `agentLoop`\?/s) as string,
    });
    expect((refusal as SomoraError).details?.["errors"]).toMatchObject([
      { line: 7, key: "agentLop", near: "agentLoop", value: { maxRounds: 3 } },
    ]);
  });

  it("leaves the last valid version in force when it breaks while the server runs, and goes on when it is mended", async () => {
    const home = await folder();
    const settings = await opened(home);
    await writeFile(join(home, "config.yaml"), "store:\n  keepStoryDays: 30\n");
    await settings.reload();
    expect(settings.store().keepStoryDays).toBe(30);
    await writeFile(join(home, "config.yaml"), "store:\n  keepStoryDays: many\n");
    const broken = await settings.reload();
    expect(broken.valid).toBe(false);
    expect(broken.errors).toMatchObject([
      { file: join(home, "config.yaml"), line: 2, key: "store.keepStoryDays", value: "many", allowed: "a whole number from 1 to 3650" },
    ]);
    expect(settings.store().keepStoryDays).toBe(30);
    await writeFile(join(home, "config.yaml"), "store:\n  keepStoryDays: 31\n");
    expect((await settings.reload()).valid).toBe(true);
    expect(settings.store().keepStoryDays).toBe(31);
  });

  it.each([
    ["server:\n  port: 99999\n", 2, "server.port", "a whole number from 0 to 65535"],
    ["server:\n  resumeAfterRestart: of\n", 2, "server.resumeAfterRestart", "all | off"],
    [
      "providers:\n  p:\n    engine: openai-compatible\n    baseUrl: localhost\n",
      4,
      "providers.p.baseUrl",
      "a web address that begins with http:// or https://",
    ],
    ["providers:\n  p:\n    engine: openai-compatible\n", 2, "providers.p", "`baseUrl` is missing; the engine openai-compatible needs it"],
    [
      "providers:\n  p:\n    engine: rehearsal\n    models:\n      - id: a\n        window: 3\n",
      6,
      "providers.p.models.0.window",
      "id, alias, contextWindow, maxTokens, capabilities, parallelToolCalls, price",
    ],
    ["server:\n  port: 1\n  port: 2\n", 3, "", "valid YAML"],
    ["server:\n\tport: 1\n", 2, "", "valid YAML"],
    ["server: [\n", 2, "", "valid YAML"],
    ["- a\n", 1, "", "a group with the keys server, workspace, providers, agentLoop, budget, agents, store, engineWatchdog"],
    ["server:\n  port: ${NO_SUCH_NAME}\n", 2, "server.port", "a name that has a value"],
  ])("names line, key and what is allowed: %j", async (text, line, key, allowed) => {
    const home = await folder();
    const settings = await opened(home);
    await writeFile(join(home, "config.yaml"), text);
    const { errors } = await settings.reload();
    expect(errors[0]).toMatchObject({ line, key, allowed });
    expect(errors[0]?.message).toContain(`config.yaml:${line}:`);
  });

  it("names the near choice of a mistyped value", async () => {
    const home = await folder();
    const settings = await opened(home);
    await writeFile(join(home, "config.yaml"), "agents:\n  overflow: quue\n");
    expect((await settings.reload()).errors[0]).toMatchObject({ near: "queue" });
  });

  it("refuses an alias that two models have", async () => {
    const home = await folder();
    const settings = await opened(home);
    await writeFile(
      join(home, "config.yaml"),
      "providers:\n  p:\n    engine: rehearsal\n    models:\n      - { id: a, alias: x }\n      - { id: b, alias: x }\n",
    );
    expect((await settings.reload()).errors).toMatchObject([{ line: 6, key: "providers.p.models.1.alias" }]);
  });
});

describe("references", () => {
  it("come from somora.env before the environment, and from the default when neither has the name", async () => {
    const home = await folder();
    await writeFile(join(home, "somora.env"), "# keys\nexport FILE_KEY='from file'\nBOTH=file\n");
    await writeFile(
      join(home, "config.yaml"),
      [
        "server:",
        "  port: ${PORT:-1234}",
        "  host: ${HOST_NAME}",
        "providers:",
        "  p:",
        "    engine: openai-compatible",
        "    baseUrl: http://127.0.0.1:1/v1",
        "    apiKey: ${BOTH}",
        "",
      ].join("\n"),
    );
    const settings = await opened(home, { env: { BOTH: "environment", HOST_NAME: "127.0.0.2" } });
    expect(settings.listen()).toEqual({ host: "127.0.0.2", port: 1234 });
    expect(settings.provider("p")?.apiKey()).toBe("file");
    await writeFile(join(home, "somora.env"), "BOTH=turned\n");
    await settings.reload();
    expect(settings.provider("p")?.apiKey()).toBe("turned");
  });

  it("leave a key null when its name has no value, and the file valid", async () => {
    const home = await folder();
    await writeFile(
      join(home, "config.yaml"),
      "providers:\n  p:\n    engine: openai-compatible\n    baseUrl: http://127.0.0.1:1/v1\n    apiKey: ${NOWHERE}\n",
    );
    const settings = await opened(home);
    expect(settings.provider("p")?.apiKey()).toBeNull();
    expect(settings.status().valid).toBe(true);
  });
});

describe("precedence", () => {
  it("is command line, environment, file, default", async () => {
    const home = await folder();
    await writeFile(join(home, "config.yaml"), "server: { port: 1111 }\n");
    expect((await opened(home)).listen().port).toBe(1111);
    expect((await opened(home, { env: { SOMORA_PORT: "2222" } })).listen().port).toBe(2222);
    expect((await opened(home, { env: { SOMORA_PORT: "2222" }, overrides: { port: 0 } })).listen().port).toBe(0);
  });
});

describe("an agent folder", () => {
  it("is no agent without AGENTS.md and becomes one as soon as it is there", async () => {
    const home = await folder();
    const settings = await opened(home);
    await mkdir(join(home, "agents/newcomer"));
    await settings.reload();
    expect(settings.agent("newcomer")).toBeNull();
    await writeFile(join(home, "agents/newcomer/AGENTS.md"), "Be new.\n");
    const told = nextChange(settings);
    await settings.reload();
    expect(await told).toEqual({ agents: ["newcomer"], config: false });
    expect(settings.agents()).toContain("newcomer");
    expect(settings.agent("newcomer")).toMatchObject({ model: null, kind: "chat", problem: null });
  });

  it("that goes leaves the agent known with a problem, and it goes on when the folder is back", async () => {
    const home = await folder();
    const settings = await opened(home);
    await rename(join(home, "agents/guide"), join(home, "away"));
    await settings.reload();
    expect(settings.agents()).not.toContain("guide");
    expect(settings.agent("guide")?.problem).toMatch(/^folder gone/);
    await rename(join(home, "away"), join(home, "agents/guide"));
    await settings.reload();
    expect(settings.agent("guide")?.problem).toBeNull();
    expect(settings.agents()).toContain("guide");
  });

  it("with an invalid agent.yaml fails closed: what was allowed is gone, what was denied stays denied", async () => {
    const home = await folder();
    const settings = await opened(home);
    const file = join(home, "agents/tinker/agent.yaml");
    await writeFile(file, "model: rehearsal/tinker\ntools:\n  allow: [exec]\n  deny: [file_write]\n");
    await settings.reload();
    await writeFile(file, "model: rehearsal/tinker\ntools:\n  alow: [exec]\n");
    const status = await settings.reload();
    expect(settings.agent("tinker")).toMatchObject({
      tools: { allow: [], deny: ["file_write"] },
      model: "rehearsal/tinker",
      problem: expect.stringContaining("agent.yaml:3") as string,
    });
    expect(status.errors).toMatchObject([{ file, line: 3, key: "tools.alow", near: "allow" }]);
    await writeFile(file, "tools: { allow: [exec] }\n");
    await settings.reload();
    expect(settings.agent("tinker")).toMatchObject({ tools: { allow: ["exec"] }, problem: null });
  });

  it("that was never valid is offered no tool at all", async () => {
    const home = await folder();
    await mkdir(join(home, "agents/odd"), { recursive: true });
    await writeFile(join(home, "agents/odd/AGENTS.md"), "Odd.\n");
    await writeFile(join(home, "agents/odd/agent.yaml"), "tools: everything\n");
    const settings = await opened(home);
    expect(settings.agent("odd")).toMatchObject({
      tools: { allow: [], deny: ["*"] },
      problem: expect.stringContaining("agent.yaml") as string,
    });
  });

  it("with a frontmatter that is no YAML still answers, from the text below it", async () => {
    const home = await folder();
    await mkdir(join(home, "agents/odd"), { recursive: true });
    await writeFile(join(home, "agents/odd/AGENTS.md"), "---\nicon: [\n: :\n---\nYou are odd.\n");
    await writeFile(join(home, "agents/odd/SOUL.md"), "Calm.\n");
    const agent = (await opened(home)).agent("odd");
    expect(agent?.problem).toBeNull();
    expect(await agent?.persona()).toEqual({ soul: "Calm.\n", agents: "You are odd.\n", user: null });
  });
});

describe("a home that is watched", () => {
  it("shows when its files cannot be read at all, and goes on when they can", async () => {
    const home = await folder();
    const settings = await opened(home, { watch: true });
    let told = nextChange(settings);
    await rename(join(home, "agents"), join(home, "agents-away"));
    await writeFile(join(home, "agents"), "in the way");
    await told;
    expect(settings.status()).toMatchObject({ valid: false, errors: [{ message: expect.stringContaining("cannot be read") as string }] });
    expect(settings.agents()).toContain("guide");
    await rm(join(home, "agents"));
    told = nextChange(settings);
    await rename(join(home, "agents-away"), join(home, "agents"));
    await writeFile(join(home, "config.yaml"), "store: { keepStoryDays: 3 }\n");
    await told;
    await expect.poll(() => settings.status().valid).toBe(true);
  });

  it("takes an edit over by itself", async () => {
    const home = await folder();
    const settings = await opened(home, { watch: true });
    const told = nextChange(settings);
    await writeFile(join(home, "config.yaml"), "store: { keepStoryDays: 9 }\n");
    expect((await told).config).toBe(true);
    expect(settings.store().keepStoryDays).toBe(9);
  });

  it("sees agents appear, and an edit of an agent.yaml", async () => {
    const home = await folder();
    const settings = await opened(home, { watch: true });
    let told = nextChange(settings);
    await settings.createAgent({ name: "fresh", description: "New here", model: undefined as never });
    expect((await told).agents).toEqual(["fresh"]);
    told = nextChange(settings);
    await writeFile(join(home, "agents/fresh/agent.yaml"), "kind: builder\n");
    expect((await told).agents).toEqual(["fresh"]);
    expect(settings.agent("fresh")).toMatchObject({ kind: "builder", description: "New here" });
  });

  it("sees by looking again what the system does not tell", async () => {
    const home = await folder();
    const timers: { ms: number; callback: () => void }[] = [];
    const settings = await opened(home, {
      watch: true,
      setTimer: (ms, callback) => {
        timers.push({ ms, callback });
        return () => undefined;
      },
    });
    const look = (): void => timers.find((timer) => timer.ms >= 1_000 && timers.splice(timers.indexOf(timer), 1))?.callback();
    const told = nextChange(settings);
    look();
    await expect.poll(() => timers.some((timer) => timer.ms >= 1_000)).toBe(true);
    await writeFile(join(home, "config.yaml"), "store: { keepStoryDays: 10 }\n");
    timers.splice(0, timers.length, ...timers.filter((timer) => timer.ms >= 1_000));
    look();
    await expect.poll(() => timers.some((timer) => timer.ms < 1_000)).toBe(true);
    for (const timer of timers) if (timer.ms < 1_000) timer.callback();
    expect((await told).config).toBe(true);
  });
});

describe("writing", () => {
  it("adds a provider with all comments of config.yaml kept, its key in somora.env only", async () => {
    const home = await folder();
    const settings = await opened(home);
    const before = await readFile(join(home, "config.yaml"), "utf8");
    await settings.addProvider({
      name: "local",
      baseUrl: "http://127.0.0.1:11434/v1",
      keyEnv: "LOCAL_KEY",
      key: "s3cret value",
      models: ["qwen3", "llama"],
    });
    const after = await readFile(join(home, "config.yaml"), "utf8");
    for (const comment of before.match(/#.*$/gm) ?? []) expect(after).toContain(comment.trim());
    expect(after).not.toContain("s3cret");
    expect(await readFile(join(home, "somora.env"), "utf8")).toContain('LOCAL_KEY="s3cret value"');
    expect(await modeOf(join(home, "somora.env"))).toBe(0o600);
    expect(settings.models().map((model) => model.ref)).toEqual(["local/qwen3", "local/llama"]);
    expect(settings.provider("local")?.apiKey()).toBe("s3cret value");
    await settings.addProvider({ name: "local", baseUrl: "http://127.0.0.1:11434/v1", keyEnv: null, models: ["qwen3", "third"] });
    expect(settings.models().map((model) => model.id)).toEqual(["qwen3", "llama", "third"]);
    expect(settings.provider("local")?.apiKey()).toBe("s3cret value");
  });

  it("refuses a provider that would make config.yaml invalid and leaves the file alone", async () => {
    const home = await folder();
    const settings = await opened(home);
    const before = await readFile(join(home, "config.yaml"), "utf8");
    await expect(settings.addProvider({ name: "local", baseUrl: "not an address", keyEnv: null, models: [] })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
    expect(await readFile(join(home, "config.yaml"), "utf8")).toBe(before);
  });

  it("sets an agent's model and keeps the comments of its agent.yaml", async () => {
    const home = await folder();
    const settings = await opened(home);
    await settings.setAgentModel("tinker", "local/qwen3");
    const text = await readFile(join(home, "agents/tinker/agent.yaml"), "utf8");
    expect(text).toContain("model: local/qwen3");
    expect(text).toContain("# runs commands as you do");
    expect(settings.agent("tinker")).toMatchObject({ model: "local/qwen3", tools: { allow: ["exec"] } });
  });

  it("refuses an agent name that does not fit, and one that is taken", async () => {
    const settings = await opened(await folder());
    await expect(settings.createAgent({ name: "../up" })).rejects.toMatchObject({ code: "AGENT_NAME_INVALID" });
    await expect(settings.createAgent({ name: "guide" })).rejects.toMatchObject({ code: "AGENT_EXISTS" });
    await expect(settings.createAgent({ name: "a", model: "no/such" })).rejects.toMatchObject({ code: "MODEL_UNKNOWN" });
  });

  it("leaves no half-written file behind", async () => {
    const home = await folder();
    const settings = await opened(home);
    await settings.setAgentModel("guide", null);
    expect((await readdir(join(home, "agents/guide"))).sort()).toEqual(["AGENTS.md", "agent.yaml"]);
  });
});

describe("a config.yaml that cannot be read", () => {
  it("is refused at the start", async (ctx) => {
    if (process.getuid?.() === 0) ctx.skip("root reads every file");
    const home = await folder();
    await writeFile(join(home, "config.yaml"), "");
    await chmod(join(home, "config.yaml"), 0o000);
    await expect(opened(home)).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  });

  it("is checked alone as the server of the home would take it", async () => {
    const home = await folder();
    await opened(home);
    await writeFile(join(home, "somora.env"), "MY_PORT=12\n");
    await writeFile(join(home, "config.yaml"), "server:\n  port: ${MY_PORT}\n  host: ${MY_HOST}\n");
    expect(await checkConfigFile(homePaths(home), { MY_HOST: "127.0.0.1" })).toMatchObject({
      ok: true,
      value: { server: { port: 12, host: "127.0.0.1" } },
    });
    expect(await checkConfigFile(homePaths(home), {})).toMatchObject({ ok: false, problems: [{ key: "server.host" }] });
    await expect(checkConfigFile(homePaths(home), {}, join(home, "none.yaml"))).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  });

  it("leaves the last version in force when it goes while the server runs", async () => {
    const home = await folder();
    const settings = await opened(home);
    await rm(join(home, "config.yaml"));
    const status = await settings.reload();
    expect(status.valid).toBe(false);
    expect(status.errors[0]?.message).toContain("cannot be read");
    expect(settings.models()).toEqual([]);
    expect(settings.agents()).toContain("guide");
  });
});
