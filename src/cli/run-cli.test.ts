import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { SomoraError } from "../protocol/errors.ts";
import { cliWorld, type CliWorld, type Running } from "../../test/support/cli-world.ts";
import { actorView, agentLine, turnResult } from "../../test/support/fake-house.ts";
import { COMMANDS } from "./commands/table.ts";
import type { CliDependencies } from "./dependencies.ts";

const worlds: CliWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function made(change?: (dependencies: CliDependencies) => Partial<CliDependencies>): Promise<CliWorld> {
  const world = await cliWorld(change);
  worlds.push(world);
  return world;
}
const ended = async (running: Running): Promise<{ exit: number; out: string; err: string }> => ({
  exit: await running.exit,
  out: running.out(),
  err: running.err(),
});

describe("the command table", () => {
  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    "%s has help with its arguments and options",
    async (name, command) => {
      const world = await made();
      const { exit, out } = await ended(world.run([...name.split(" "), "--help"]));
      expect(exit).toBe(0);
      expect(out).toContain(command.summary);
      for (const option of Object.keys(command.options ?? {})) expect(out).toContain(`--${option}`);
    },
  );

  it("lists all commands for a bare call and for --help", async () => {
    const world = await made();
    const { exit, out } = await ended(world.run([]));
    expect(exit).toBe(0);
    for (const { name } of COMMANDS) expect(out).toContain(`somora ${name}`);
    expect((await ended(world.run(["--version"]))).out).toBe("0.1.0\n");
  });

  it.each([
    [["aks", "guide"], "Did you mean `somora ask`?"],
    [["sesion", "list"], "Did you mean `somora session list`?"],
    [["session"], "session list"],
    [["ask", "guide", "hi", "--sesion", "x"], "Did you mean --session?"],
    [["ask", "guide", "two", "words"], "needs quotes"],
    [["stop"], "needs <target>"],
    [["ask", "guide", "x", "--timeout", "soon"], "100 ms and more"],
    [["history", "guide", "--limit", "0"], "from 1 to 1000"],
    [["session", "delete", "a/b/c"], "agent/session"],
    [["ask", "--session"], "--session"],
  ])("refuses %j with a way out", async (argv, words) => {
    const world = await made();
    const { exit, err, out } = await ended(world.run(argv));
    expect(exit).toBe(1);
    expect(out).toBe("");
    expect(err).toContain(words);
    expect(err).not.toContain("    at ");
  });

  it("says how to start a server when none runs", async () => {
    const world = await made(() => ({ findServer: async () => null }));
    const { exit, err } = await ended(world.run(["agent", "list"]));
    expect(exit).toBe(1);
    expect(err).toContain("npm start");
  });

  it("gives the server's refusal with its code and hint", async () => {
    const world = await made();
    const { exit, err } = await ended(world.run(["ask", "nobody", "hi", "--cwd", "."]));
    expect(exit).toBe(1);
    expect(err).toContain("AGENT_UNKNOWN");
  });
});

describe("ask", () => {
  it("prints the answer and exits 0; the first question gives the session its folder and says so", async () => {
    const world = await made();
    const { exit, out, err } = await ended(world.run(["ask", "guide", "hello"]));
    expect({ exit, out }).toEqual({ exit: 0, out: "Hello.\n" });
    expect(err).toContain(world.home);
    expect(world.house.calls.find((call) => call.name === "chat.send")?.argument).toMatchObject({
      agent: "guide",
      session: "main",
      text: "hello",
      cwd: world.home,
    });
  });

  it("leaves a session's own folder alone", async () => {
    const world = await made();
    const line = agentLine("guide");
    world.house.setAgent({ ...line, sessions: line.sessions.map((session) => ({ ...session, cwd: "/own" })) });
    await world.run(["ask", "guide", "hello"]).exit;
    expect(world.house.calls.find((call) => call.name === "chat.send")?.argument).not.toHaveProperty("cwd");
  });

  it.each([
    [{ state: "failed", outcome: "failed", error: { code: "PROVIDER_FAILED", message: "It broke." } }, 1, "It broke."],
    [{ state: "cancelled", outcome: "cancelled" }, 1, "cancelled"],
    [{ state: "removed", outcome: "removed" }, 1, "removed"],
    [{ outcome: "partial", outcomeReason: "cut" }, 1, "partial: cut"],
    [{ outcome: "partial", outcomeReason: "round_cap" }, 0, "partial: round_cap"],
    [{ outcome: "degraded" }, 0, "degraded"],
  ] as const)("exits by the outcome %j", async (more, exit, words) => {
    const world = await made();
    world.house.answers.set("chat.turn", () => turnResult("turn_1", more));
    const result = await ended(world.run(["ask", "guide", "hello"]));
    expect(result.exit).toBe(exit);
    expect(result.err).toContain(words);
  });

  it("exits 3 when the time is over and names the turn", async () => {
    const world = await made();
    const { outcome: _, ...pending } = turnResult("turn_1", { state: "pending", finalText: "" });
    world.house.answers.set("chat.turn", () => pending);
    const { exit, out, err } = await ended(world.run(["ask", "guide", "hello", "--timeout", "100ms"]));
    expect({ exit, out }).toEqual({ exit: 3, out: "" });
    expect(err).toContain("somora ask --result turn_1");
  });

  it("prints the turn and leaves with --no-wait, and fetches it with --result", async () => {
    const world = await made();
    expect(await ended(world.run(["ask", "guide", "hello", "--no-wait", "--client-key", "k1"]))).toMatchObject({
      exit: 0,
      out: "turn_1\n",
    });
    expect(world.house.calls.at(-1)?.argument).toMatchObject({ clientKey: "k1" });
    expect(await ended(world.run(["ask", "--result", "turn_9"]))).toMatchObject({ exit: 0, out: "Hello.\n" });
    expect(world.house.calls.at(-1)).toMatchObject({ name: "chat.turn", argument: { turnId: "turn_9" } });
  });

  it("prints the whole turn as JSON", async () => {
    const world = await made();
    const { out } = await ended(world.run(["ask", "guide", "hello", "--json"]));
    expect(JSON.parse(out)).toMatchObject({ turnId: "turn_1", outcome: "completed", finalText: "Hello." });
  });

  it("reads the text from stdin, and adds piped stdin to a text", async () => {
    const world = await made();
    const sent = (): unknown =>
      (world.house.calls.findLast((call) => call.name === "chat.send")?.argument as { text: string } | undefined)?.text;
    await world.run(["ask", "guide", "-"], { stdin: "from a pipe\n" }).exit;
    expect(sent()).toBe("from a pipe");
    await world.run(["ask", "guide", "explain"], { stdin: "line 1\n" }).exit;
    expect(sent()).toBe("explain\n\nline 1");
    await world.run(["ask", "guide"], { stdin: "only this" }).exit;
    expect(sent()).toBe("only this");
    const { exit, err } = await ended(world.run(["ask", "guide", "-"], { stdin: "" }));
    expect({ exit, err }).toMatchObject({ exit: 1, err: expect.stringContaining("Nothing came on stdin") as string });
  });

  it("takes control characters out of what an agent wrote", async () => {
    const world = await made();
    world.house.answers.set("chat.turn", () => turnResult("turn_1", { finalText: "a\u001b[2Jb\tc" }));
    expect((await ended(world.run(["ask", "guide", "x"]))).out).toBe("a[2Jb\tc\n");
  });

  describe("on a terminal", () => {
    const origin = { kind: "human" as const };
    async function streaming(): Promise<{ world: CliWorld; running: Running; end: () => void; settle: (value: unknown) => void }> {
      const world = await made();
      let settle: (value: unknown) => void = () => undefined;
      const over = new Promise((resolve) => (settle = resolve));
      world.house.answers.set("chat.turn", () => over);
      const running = world.run(["ask", "guide", "hello"], { outIsTerminal: true });
      await expect.poll(() => world.house.calls.some((call) => call.name === "chat.turn")).toBe(true);
      const emit = world.house.emit.bind(null, "guide", "main");
      emit("turn.started", { turnId: "turn_1", origin, model: "m", attempt: 1 });
      emit("call.started", { turnId: "turn_1", callId: "c", tool: "file_list", input: {} });
      emit("text.start", { turnId: "turn_1", blockId: "t1", attempt: 1 });
      emit("text.delta", { turnId: "turn_1", blockId: "t1", offset: 0, text: "Hel" });
      return {
        world,
        running,
        settle,
        end() {
          emit("text.delta", { turnId: "turn_1", blockId: "t1", offset: 3, text: "lo." });
          emit("text.end", { turnId: "turn_1", blockId: "t1" });
        },
      };
    }

    it("streams the text to stdout before the turn is over, and what else happens to stderr", async () => {
      const { running, end, settle } = await streaming();
      await running.says("Hel");
      end();
      await running.says("lo.");
      settle(turnResult("turn_1"));
      expect(await ended(running)).toMatchObject({ exit: 0, out: "Hello.\n", err: expect.stringContaining("→ file_list") as string });
    });

    it("is left by Ctrl-C, which names the turn", async () => {
      const { running, world } = await streaming();
      await running.says("Hel");
      running.interrupt();
      expect(await ended(running)).toMatchObject({ exit: 3, err: expect.stringContaining("somora ask --result turn_1") as string });
      expect(world.house.calls.some((call) => call.name === "chat.abort")).toBe(false);
    });

    it("stops the turn at the second Ctrl-C", async () => {
      const { running, world } = await streaming();
      await running.says("Hel");
      world.house.answers.set("chat.abort", () => {
        world.house.answers.set("chat.turn", () => turnResult("turn_1", { state: "cancelled", outcome: "cancelled" }));
        return { aborted: true, turnId: "turn_1", children: [] };
      });
      running.interrupt();
      await running.says("left;");
      running.interrupt();
      expect(await ended(running)).toMatchObject({ exit: 1, err: expect.stringContaining("cancelled") as string });
      expect(world.house.calls.find((call) => call.name === "chat.abort")?.argument).toEqual({
        agent: "guide",
        session: "main",
        turnId: "turn_1",
      });
    });
  });
});

describe("stop, resume and actors", () => {
  it("stop a session's turn or an address, and say how much", async () => {
    const world = await made();
    expect((await ended(world.run(["stop", "guide/main"]))).out).toBe("stopped turn_1\n");
    expect((await ended(world.run(["stop", "/agents/guide"]))).out).toBe(
      "stopped 3 actors, 2 processes, took 1 waiting messages back, in 4 ms\n",
    );
    world.house.answers.set("chat.abort", () => ({ aborted: false, stuck: [{ pid: 42, command: "sleep" }] }));
    expect(await ended(world.run(["stop", "guide/main"]))).toMatchObject({ exit: 1, err: expect.stringContaining("42 (sleep)") as string });
    expect((await ended(world.run(["resume", "/"]))).exit).toBe(0);
    expect(world.house.calls.at(-1)).toEqual({ name: "actors.resume", argument: "/" });
  });

  it("draw the tree, and follow it with --watch until Ctrl-C", async () => {
    const world = await made();
    expect((await ended(world.run(["actors"]))).out).toMatch(/^\/ {2}idle.*\n {6,}main {2}idle/);
    const running = world.run(["actors", "--watch", "--json"]);
    await running.says('"actors"');
    world.house.setActor(actorView("/agents/guide/sessions/main", "working"));
    await running.says('"working"');
    running.interrupt();
    expect(await running.exit).toBe(0);
  });
});

describe("why and story", () => {
  it("say in a sentence where an actor stands, whom it waits for to the end of the chain, and what cannot move", async () => {
    const world = await made();
    world.house.setActor({ ...actorView("/agents/guide/sessions/main", "idle"), nextTimer: { id: "nap", at: 1_800_000_000_000 } });
    const wait = { token: "ask:1", name: "q", line: "", onLine: null, since: Date.now() - 72_000, blocks: true, stuck: null };
    const waits: readonly object[] = [
      { ...wait, from: "/agents/guide/sessions/main", to: "/agents/b", on: "/agents/b", why: "an answer" },
      { ...wait, from: "/agents/b", to: "/agents/c", on: "/agents/c", why: "a number", stuck: "/agents/b waits for /agents/c" },
      { ...wait, from: "/agents/x", to: "/agents/y", on: "/agents/y", why: "nothing of ours" },
    ];
    world.house.waits.push(...(waits as typeof world.house.waits));
    const { exit, out } = await ended(world.run(["why", "guide/main"]));
    expect(exit).toBe(0);
    expect(out.split("\n").slice(0, 4)).toEqual([
      expect.stringMatching(/^\/agents\/guide\/sessions\/main: Idle since/),
      "  /agents/guide/sessions/main waits for /agents/b (an answer) for 1 min 12 s.",
      "  /agents/b waits for /agents/c (a number) for 1 min 12 s.",
      "  Stuck: /agents/b waits for /agents/c.",
    ]);
    expect(out).toContain("Next: nap at");
    expect(out).not.toContain("nothing of ours");
  });
  it("print each step with its event, where it came from, the state after and what was wanted", async () => {
    const world = await made();
    world.house.answers.set("actors.story", () => [
      {
        at: 0,
        epoch: 1,
        commit: 2,
        eventId: "1.2.1",
        type: "send",
        from: "door",
        state: "running",
        effects: ["record user_message", "spawn turn"],
      },
    ]);
    const { out } = await ended(world.run(["story", "guide/main", "--limit", "5"]));
    expect(out).toMatch(/send {2}from door {2}running {2}record user_message, spawn turn\n$/);
    expect(world.house.calls.at(-1)).toEqual({ name: "actors.story", argument: { address: "/agents/guide/sessions/main", limit: 5 } });
  });
});

describe("the commands that print lists", () => {
  it.each([
    [["agent", "list"], "agents"],
    [["session", "list"], "sessions"],
    [["session", "list", "guide"], "sessions"],
    [["model", "list"], "models"],
    [["model", "find"], "servers"],
    [["tools", "list"], "tools"],
    [["tools", "list", "--agent", "guide"], "tools"],
    [["actors"], "actors"],
    [["history", "guide"], "rows"],
  ])("%j prints JSON with --json and exits 0 either way", async (argv, field) => {
    const world = await made();
    const { exit, out } = await ended(world.run([...argv, "--json"]));
    expect(exit).toBe(0);
    expect(JSON.parse(out)).toHaveProperty(field);
    expect((await ended(world.run(argv))).exit).toBe(0);
  });
});

describe("the commands that make things", () => {
  it("send what was given and nothing else", async () => {
    const world = await made();
    const last = (): unknown => world.house.calls.at(-1);
    await world.run(["agent", "create", "new", "--kind", "builder", "--description", "x"]).exit;
    expect(last()).toEqual({ name: "team.createAgent", argument: { name: "new", kind: "builder", description: "x" } });
    await world.run(["session", "create", "guide/work", "--cwd", "sub"]).exit;
    expect(last()).toEqual({ name: "team.createSession", argument: { agent: "guide", slug: "work", cwd: join(world.home, "sub") } });
    await world.run(["session", "delete", "guide/work"]).exit;
    expect(last()).toEqual({ name: "team.deleteSession", argument: { agent: "guide", session: "work" } });
    await world.run(["model", "add", "http://127.0.0.1:1/v1", "--key-env", "MY_KEY", "--model", "m", "--agent", "guide"], {
      env: { MY_KEY: "s3cret" },
    }).exit;
    expect(last()).toEqual({
      name: "models.addProvider",
      argument: { baseUrl: "http://127.0.0.1:1/v1", keyEnv: "MY_KEY", key: "s3cret", models: ["m"], agent: "guide" },
    });
    await world.run(["tool", "call", "file_list", "--agent", "guide", "--json", '{"path":"."}']).exit;
    expect(last()).toEqual({ name: "tools.call", argument: { agent: "guide", tool: "file_list", input: { path: "." } } });
  });

  it("say what is wrong with the input of a tool call", async () => {
    const world = await made();
    expect(await ended(world.run(["tool", "call", "x", "--agent", "guide", "--json", "{path"]))).toMatchObject({
      exit: 1,
      err: expect.stringContaining("--json is not JSON") as string,
    });
    expect(await ended(world.run(["tool", "call", "x"]))).toMatchObject({ exit: 1, err: expect.stringContaining("--agent") as string });
  });

  it("report a model that does not answer with exit 1", async () => {
    const world = await made();
    world.house.answers.set("models.test", () => ({
      ok: false,
      ms: 3,
      error: { code: "PROVIDER_UNREACHABLE", message: "No connection.", hint: "Is it on?" },
    }));
    expect(await ended(world.run(["model", "test", "a/b"]))).toMatchObject({
      exit: 1,
      err: "No connection. (PROVIDER_UNREACHABLE)\nIs it on?\n",
    });
  });
});

describe("config check", () => {
  it("exits 0 for a valid file, 1 with file, line and key for an invalid one, 2 for one that cannot be read", async () => {
    const world = await made();
    const file = join(world.home, "config.yaml");
    await writeFile(file, "server: { port: 1 }\n");
    expect((await ended(world.run(["config", "check"]))).exit).toBe(0);
    await writeFile(file, "a\n\n\n\n\nserver:\n  prot: 1\n".slice(2));
    const typo = await ended(world.run(["config", "check", "config.yaml"]));
    expect(typo.exit).toBe(1);
    expect(typo.err).toContain(`${file}:6: unknown key \`server.prot\``);
    expect(typo.err).toContain("Did you mean `port`?");
    await writeFile(file, "server: [\n");
    expect(await ended(world.run(["config", "check"]))).toMatchObject({
      exit: 1,
      err: expect.stringContaining("not valid YAML") as string,
    });
    expect((await ended(world.run(["config", "check", "none.yaml"]))).exit).toBe(2);
    expect((await ended(world.run(["config", "path"]))).out).toBe(`${file}\n`);
  });
});

describe("server status, stop and logs", () => {
  it("say whether one runs, and wait until it is gone", async () => {
    const world = await made();
    expect(await ended(world.run(["server", "status"]))).toMatchObject({ exit: 0, out: expect.stringContaining(world.door.url) as string });
    const none = await made(() => ({ findServer: async () => null }));
    expect((await ended(none.run(["server", "status"]))).exit).toBe(1);
    const signals: (string | number)[] = [];
    const stopping = await made(() => ({ signal: (_, signal) => signals.push(signal) < 4 }));
    expect(await ended(stopping.run(["server", "stop"]))).toMatchObject({ exit: 0, out: expect.stringContaining("stopped") as string });
    expect(signals).toEqual(["SIGTERM", 0, 0, 0]);
  });

  it("follow the log as it grows", async () => {
    const world = await made();
    expect((await ended(world.run(["server", "logs"]))).exit).toBe(1);
    await mkdir(join(world.home, "logs"));
    await writeFile(world.dependencies.logFile, "first\n");
    const running = world.run(["server", "logs", "--follow"]);
    await running.says("first");
    await writeFile(world.dependencies.logFile, "first\nsecond\n");
    await running.says("second");
    running.interrupt();
    expect(await ended(running)).toMatchObject({ exit: 0, out: "first\nsecond\n" });
  });

  it("open prints an address with a code that pairs once", async () => {
    const world = await made();
    const { out } = await ended(world.run(["server", "open"]));
    const code = /#pair=(\S+)/.exec(out)?.[1];
    const pair = async (): Promise<number> =>
      (await fetch(`${world.door.url}/api/pair`, { method: "POST", body: JSON.stringify({ code }) })).status;
    expect([await pair(), await pair()]).toEqual([204, 401]);
  });
});

describe("doctor", () => {
  it("prints what is wrong with how to mend it and exits 1", async () => {
    const world = await made();
    const { exit, out } = await ended(world.run(["doctor"]));
    expect(exit).toBe(1);
    expect(out).toContain("✓ port");
    expect(out).toMatch(/✗ key .*is not there\n +Start the server/);
    expect(JSON.parse((await ended(world.run(["doctor", "--json"]))).out)).toMatchObject({
      findings: [
        { name: "Node", ok: true },
        { name: "home" },
        { name: "key", ok: false },
        { name: "store", ok: true },
        {},
        {},
        {},
        {},
        {},
        {},
      ],
    });
  });
});

describe("an unexpected error", () => {
  it("that travels is one sentence with its code", async () => {
    const world = await made(() => ({
      serve: async () => {
        throw new SomoraError("HOME_LOCKED", "Another server holds this home (pid 7).", { hint: "Open it at x." });
      },
    }));
    expect(await ended(world.run(["server", "start", "--foreground"]))).toMatchObject({
      exit: 1,
      err: "Another server holds this home (pid 7). (HOME_LOCKED)\nOpen it at x.\n",
    });
  });
});

describe("bin/somora.mjs in a checkout that is not built", () => {
  it("exits 1 and names npm start", async () => {
    const folder = await mkdtemp(join(tmpdir(), "somora-bin-"));
    await mkdir(join(folder, "bin"));
    await copyFile(fileURLToPath(new URL("../../bin/somora.mjs", import.meta.url)), join(folder, "bin/somora.mjs"));
    const result = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile(process.execPath, [join(folder, "bin/somora.mjs"), "ask"], (error, _, stderr) => resolve({ code: error?.code, stderr }));
    });
    await rm(folder, { recursive: true });
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("npm start");
  });
});
