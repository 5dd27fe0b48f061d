/**
 * The store on a disk that is full, read-only or not ours, and with somebody else on it. Would catch: a commit answered that is not
 * on disk, a failed checkpoint that takes the store with it, bytes called damaged because the disk refused, two writers on one
 * home, a kernel that acts after a newer one took over. HOSTILE_RACES sets how many real servers race.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LogRow } from "../../src/ports/journal.port.ts";
import { createDuckdbJournal } from "../../src/store/index.ts";
import { type ModelServer, startModel } from "../support/model-server.ts";
import { nodeScript, type NodeScript } from "../support/node-script.ts";
import { buildDist, FENCED_SERVER_FILE, makeTestHome, type ServerProcess, startServer, until } from "../support/server-process.ts";
import { NO_DISK, smallDisk, type SmallDisk } from "../support/small-disk.ts";
import { copyOf, FILES, killedStore, NOW, openAll, prefixOf } from "../support/stored-home.ts";

const RACES = Number(process.env["HOSTILE_RACES"] ?? "1");

const rowsOf = (commit: number, bytes: number): LogRow[] => [
  {
    shard: "",
    kind: "transcript",
    key: "/s",
    head: JSON.stringify({ seq: commit, at: commit }),
    body: JSON.stringify(noise(commit, bytes)),
  },
];

/** Nothing a database could make small. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = "";
  while (text.length < length) {
    state = (state * 1103515245 + 12345) % 2147483648;
    text += state.toString(36);
  }
  return text;
}

describe("a disk", () => {
  let disk: SmallDisk | null = null;
  afterEach(() => {
    disk?.remove();
    disk = null;
  });

  it("that gets full in a checkpoint fails it, commits go on as far as there is room, and all that was answered is there", async (ctx) => {
    disk = smallDisk(48);
    if (disk === null) return ctx.skip(NO_DISK);
    const folder = join(disk.folder, "store");
    const problems: unknown[] = [];
    const journal = createDuckdbJournal({ folder, now: () => NOW, onProblem: (error) => problems.push(error) });
    const { epoch } = await journal.open();
    let commit = 0;
    for (; commit < 40;) await journal.append({ epoch, commit: ++commit, rows: rowsOf(commit, 100_000) });
    disk.fill();
    await expect(journal.checkpoint()).rejects.toThrow();
    // The next one is either refused or, where the log has room in its last block, taken; never half.
    let refused: unknown = null;
    while (refused === null && commit < 80) {
      refused = await journal.append({ epoch, commit: commit + 1, rows: rowsOf(commit + 1, 100_000) }).then(
        () => null,
        (error: unknown) => error,
      );
      if (refused === null) commit += 1;
    }
    expect(refused).toBeInstanceOf(Error);
    expect((await journal.reopen()).lastCommit).toBe(commit);
    disk.empty();
    for (; commit < 90;) expect(await journal.append({ epoch, commit: commit + 1, rows: rowsOf(++commit, 1_000) })).toBe("done");
    await journal.checkpoint();
    await journal.close();
    const { rows, news } = await openAll(folder);
    expect(rows.map((row) => row.commit)).toEqual(Array.from({ length: 90 }, (_, index) => index + 1));
    expect(news).toEqual([]);
  });

  it("that is full at the start refuses in one sentence, copies nothing, and opens when there is room", async (ctx) => {
    disk = smallDisk(24);
    if (disk === null) return ctx.skip(NO_DISK);
    const store = await killedStore(join(disk.folder, "one"), 20, 40);
    const folder = await copyOf(store, join(disk.folder, "store"));
    disk.fill();
    await expect(openAll(folder)).rejects.toMatchObject({
      code: "STORE_UNREADABLE",
      hint: expect.stringContaining("free space") as string,
    });
    expect((await readdir(folder)).filter((name) => /^(aside|copy)-/.test(name))).toEqual([]);
    disk.empty();
    expect(prefixOf((await openAll(folder)).rows, store.epoch)).toBe(40);
  });

  it("without room for copies leaves a damaged log as it is and says that a repair needs room", async (ctx) => {
    disk = smallDisk(24);
    if (disk === null) return ctx.skip(NO_DISK);
    const store = await killedStore(join(disk.folder, "one"), 20, 40);
    const folder = await copyOf(store, join(disk.folder, "store"));
    await truncate(join(folder, FILES.wal), Math.floor(store.walBytes / 2));
    disk.fill();
    const before = await readFile(join(folder, FILES.wal));
    await expect(openAll(folder)).rejects.toMatchObject({
      code: "STORE_UNREADABLE",
      message: expect.stringMatching(/needs a repair: .+ It was not touched: copies need/) as string,
    });
    expect((await readFile(join(folder, FILES.wal))).equals(before)).toBe(true);
    disk.empty();
    expect((await openAll(folder)).news.join()).toContain("of epoch 1 are gone");
  });

  it("that is read-only refuses in one sentence, and the store opens when it is writable again", async (ctx) => {
    disk = smallDisk(24);
    if (disk === null) return ctx.skip(NO_DISK);
    const store = await killedStore(join(disk.folder, "one"), 20, 40);
    const folder = await copyOf(store, join(disk.folder, "store"));
    if (!disk.readOnly(true)) return ctx.skip("a disk cannot be remounted read-only here");
    await expect(openAll(folder)).rejects.toMatchObject({
      code: "STORE_UNREADABLE",
      message: expect.stringContaining("Read-only file system") as string,
      hint: expect.stringContaining("was not touched") as string,
    });
    await expect(openAll(join(disk.folder, "none"))).rejects.toMatchObject({ code: "STORE_UNREADABLE" });
    expect(disk.readOnly(false)).toBe(true);
    expect(prefixOf((await openAll(folder)).rows, store.epoch)).toBe(40);
  });
});

describe("a store whose files this user may not read", () => {
  it.each([["database"], ["wal"], ["folder"]] as const)("(the %s) is refused in one sentence and not called damaged", async (what) => {
    const scratch = await mkdtemp(join(tmpdir(), "somora-rights-"));
    await chmod(scratch, 0o755);
    const store = await killedStore(join(scratch, "one"), 5, 10);
    const folder = await copyOf(store, join(scratch, "store"));
    const guarded = what === "folder" ? folder : join(folder, FILES[what]);
    await chmod(folder, 0o777);
    await chmod(guarded, 0o000);
    const root = process.getuid?.() === 0;
    try {
      // Root may read everything: be nobody for a moment.
      if (root) process.seteuid?.(65_534);
      await expect(openAll(folder)).rejects.toMatchObject({
        code: "STORE_UNREADABLE",
        hint: expect.stringContaining("not touched") as string,
      });
    } finally {
      if (root) process.seteuid?.(0);
      await chmod(guarded, 0o700);
    }
    expect((await readdir(folder)).filter((name) => name.startsWith("aside-"))).toEqual([]);
    expect(prefixOf((await openAll(folder)).rows, store.epoch)).toBe(10);
    await rm(scratch, { recursive: true });
  });
});

describe("two that want one home", () => {
  let script: NodeScript;
  let home: string;
  beforeAll(async () => {
    script = await nodeScript(new URL("../support/racing.child.ts", import.meta.url));
    home = await mkdtemp(join(tmpdir(), "somora-race-"));
  });
  afterAll(async () => {
    await script.remove();
    await rm(home, { recursive: true, force: true });
  });

  class Racer {
    readonly process: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, [script.path, home], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    readonly #lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();

    async line(): Promise<string> {
      const next = await this.#lines.next();
      return next.done === true ? "ended" : next.value;
    }
    ask(word: "go" | "leave"): Promise<string> {
      this.process.stdin.write(`${word}\n`);
      return this.line();
    }
    async kill(): Promise<void> {
      const exited = once(this.process, "exit");
      this.process.kill("SIGKILL");
      await exited;
    }
  }

  it("race 20 times: each time exactly one opens the store, also after the holder was killed, and no epoch is used twice", async () => {
    const racers = [new Racer(), new Racer()];
    for (const racer of racers) expect(await racer.line()).toBe("ready");
    const wins = [0, 0];
    for (let race = 1; race <= 20; race++) {
      const answers = await Promise.all(racers.map((racer) => racer.ask("go")));
      const winner = answers.findIndex((answer) => answer.startsWith("serves"));
      expect([...answers].sort()).toEqual(["HOME_LOCKED", `serves ${race}`]);
      wins[winner] = (wins[winner] ?? 0) + 1;
      const holder = racers[winner] as Racer;
      if (race % 5 === 0) {
        await holder.kill();
        const next = new Racer();
        racers[winner] = next;
        expect(await next.line()).toBe("ready");
      } else expect(await holder.ask("leave")).toBe("left");
    }
    expect(wins[0] as number).toBeLessThanOrEqual(20);
    for (const racer of racers) await racer.kill();
    const { rows, news } = await openAll(join(home, "store"));
    expect(rows.map((row) => row.epoch)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(news).toEqual([]);
  });
});

const SLOW = `
rehearsal: 1
about: One slow answer, many short ones.
pace: 20
turns:
  - when: { text: "slow" }
    rounds: [{ say: ${JSON.stringify("Slowly it goes on and on. ".repeat(400))} }]
  - rounds: [{ say: "Heard it.", pace: 0 }]
`;

describe("servers on one home", () => {
  let model: ModelServer;
  const alive: ServerProcess[] = [];
  beforeAll(async () => {
    await buildDist();
    model = await startModel(SLOW);
  });
  afterEach(async () => {
    for (const server of alive.splice(0)) await server.kill();
  });
  afterAll(() => model.close());

  it(
    "that start at the same time: exactly one serves, the other ends with 1 and names it",
    async () => {
      const home = await makeTestHome(model.baseUrl);
      for (let race = 1; race <= RACES; race++) {
        const starts = await Promise.allSettled([startServer(home), startServer(home)]);
        const served = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
        const refused = starts.flatMap((start) => (start.status === "rejected" ? [String(start.reason)] : []));
        alive.push(...served);
        expect([served.length, refused.length]).toEqual([1, 1]);
        expect(refused[0]).toContain("it ended with 1");
        expect(refused[0]).toContain("HOME_LOCKED");
        expect(refused[0]).toContain(String(served[0]?.pid));
        for (const server of alive.splice(0)) await server.kill();
      }
      await home.remove();
    },
    60_000 + RACES * 20_000,
  );

  it("of which a newer one took the store: the older one answers nothing more, lets its model go and ends with 70", async () => {
    const home = await makeTestHome(model.baseUrl);
    const server = await startServer(home, { script: FENCED_SERVER_FILE });
    alive.push(server);
    const send = (text: string) => server.api("POST", "/chat/send", { agent: "probe", session: "main", text, clientKey: text });
    const slow = await send("slow");
    expect(slow.status).toBe(202);
    await until("it streams", () => model.openSockets() === 1);
    const taken = once(server.child, "message");
    server.child.send("take the store");
    const [{ epoch }] = (await taken) as [{ epoch: number }];
    expect(epoch).toBe(2);
    const late = await send("too late").then(
      (answer) => `answered ${answer.status}`,
      () => "no answer",
    );
    const { code, stderr } = await server.exited;
    expect(late).toBe("no answer");
    expect(code).toBe(70);
    expect(stderr).toContain("a newer run of the server owns this home");
    await until("the model server is let go", () => model.openSockets() === 0);
    expect(JSON.stringify(model.requests())).not.toContain("too late");
    // Nothing of the late batch is on disk; what was accepted before goes on with the next server.
    const next = await startServer(home);
    alive.push(next);
    const { rows } = (
      await next.api<{ rows: { kind: string; data: { text?: string } }[] }>("GET", "/chat/history?agent=probe&session=main")
    ).body;
    expect(rows.filter(({ kind }) => kind === "user_message").map(({ data }) => data.text)).toEqual(["slow"]);
    await home.remove();
  });
});
