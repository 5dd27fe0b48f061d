/** The command line against a real HTTP door over a house that is only data. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkConfig, readText } from "../../src/config/index.ts";
import { runCli, type CliDependencies, type CliIo } from "../../src/cli/index.ts";
import { createApp, createHub, listen, type Door } from "../../src/server/index.ts";
import { fakeHouse, type FakeHouse } from "./fake-house.ts";

export interface CliWorld {
  house: FakeHouse;
  door: Door;
  home: string;
  dependencies: CliDependencies;
  run(argv: string[], io?: Partial<CliIo> & { stdin?: string | null }): Running;
  close(): Promise<void>;
}
export interface Running {
  exit: Promise<number>;
  out(): string;
  err(): string;
  /** Ctrl-C. */
  interrupt(): void;
  /** Resolves when stdout or stderr holds the text. */
  says(text: string): Promise<void>;
}

export const KEY = "the-key-of-the-test-home";

export async function cliWorld(change: (dependencies: CliDependencies) => Partial<CliDependencies> = () => ({})): Promise<CliWorld> {
  const house = fakeHouse();
  const home = await mkdtemp(join(tmpdir(), "somora-cli-"));
  const hub = createHub(house.handles);
  const app = createApp(house.handles, { key: KEY, listenHost: "127.0.0.1", homeId: "t", ui: null });
  const door = await listen({ app, hub, host: "127.0.0.1", port: 0 });
  const never = (): never => {
    throw new Error("not part of this test");
  };
  const plain: CliDependencies = {
    version: "0.1.0",
    home,
    key: async () => KEY,
    findServer: async () => ({ url: door.url, pid: process.pid, version: "0.1.0", startedAt: 1_000 }),
    serve: never,
    startDetached: never,
    signal: never,
    openBrowser: async () => false,
    logFile: join(home, "logs/server.log"),
    config: {
      path: join(home, "config.yaml"),
      async check(file) {
        const checked = checkConfig(await readText(file), file, () => undefined);
        return checked.ok ? [] : checked.problems;
      },
      show: async () => ({ server: { port: 1 } }),
    },
    doctor: {
      nodeVersion: process.version,
      listen: async () => ({ host: "127.0.0.1", port: 0 }),
      home,
      storeFile: join(home, "store/somora.duckdb"),
      keyFile: join(home, "key"),
      storeStanding: async () => ({
        databaseBytes: 0,
        walBytes: 0,
        format: null,
        knownFormat: 2,
        build: null,
        lastCommit: null,
        lastRepair: null,
        repairs: 0,
        lost: [],
        asides: [],
        copies: [],
        unopened: [],
      }),
    },
    simulation: never,
    now: () => performance.now(),
    rehearsal: { startServer: never, checkScript: () => undefined, serveModel: never },
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
  const dependencies = { ...plain, ...change(plain) };
  return {
    house,
    door,
    home,
    dependencies,
    run(argv, { stdin = null, ...io } = {}) {
      let out = "";
      let err = "";
      const interrupts = new Set<() => void>();
      const waiting = new Set<() => void>();
      const said = (): void => {
        for (const look of waiting) look();
      };
      const exit = runCli(
        argv,
        {
          out: (text) => ((out += text), said()),
          err: (text) => ((err += text), said()),
          outIsTerminal: false,
          inIsTerminal: stdin === null,
          columns: 80,
          cwd: home,
          env: {},
          readAll: async () => stdin,
          onInterrupt: (listener) => {
            interrupts.add(listener);
            return () => interrupts.delete(listener);
          },
          ...io,
        },
        dependencies,
      );
      return {
        exit,
        out: () => out,
        err: () => err,
        interrupt: () => [...interrupts].forEach((listener) => listener()),
        says: (text) =>
          new Promise((resolve) => {
            const look = (): void => {
              if (!out.includes(text) && !err.includes(text)) return;
              waiting.delete(look);
              resolve();
            };
            waiting.add(look);
            look();
          }),
      };
    },
    async close() {
      await door.close(100);
      await rm(home, { recursive: true, force: true });
    },
  };
}
