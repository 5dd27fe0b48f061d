/**
 * The journal on DuckDB and its files. Defects it would catch: an acknowledged commit lost by a kill, half a commit read,
 * a damaged file opened with something missing, overwritten or tried for ever, a large text lost or left lying.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDuckdbJournal } from "../../../src/store/index.ts";
import { nodeScript } from "../../support/node-script.ts";
import type { NodeScript } from "../../support/node-script.ts";
import { actor, ledger, payload, transcript } from "./journal.suite.ts";

const NOW = Date.UTC(2026, 11, 1, 10, 0, 0);
const START = { epoch: 0, commit: 0, n: 0 };
/** Rows per commit of the writing child. */
const ROWS = 40;

let home: string;
let folder: string;
const file = () => join(folder, "somora.duckdb");
const wal = () => `${file()}.wal`;
const journalHere = () => createDuckdbJournal({ folder, now: () => NOW });

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "somora-store-"));
  folder = join(home, "store");
});
afterEach(() => rm(home, { recursive: true }));

let writer: NodeScript;
beforeAll(async () => {
  writer = await nodeScript(new URL("writer.child.ts", import.meta.url));
});
afterAll(() => writer.remove());

/** Starts a process that writes commits; kills it after `count` of them were acknowledged. Answers with what it said. */
async function writeAndKill(count: number, only?: number, mode = ""): Promise<{ epoch: number; acknowledged: number }> {
  const child: ChildProcess = spawn(process.execPath, [writer.path, folder, String(only ?? 1_000_000), mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const said = { epoch: 0, acknowledged: 0 };
  if (child.stdout === null) throw new Error("no stdout");
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("epoch ")) said.epoch = Number(line.slice(6));
    else said.acknowledged = Number(line);
    if (said.acknowledged >= count && !child.killed) child.kill("SIGKILL");
  }
  await exited;
  return said;
}

async function commitsOnDisk(): Promise<{ epoch: number; sizes: Map<number, number> }> {
  const journal = journalHere();
  const { epoch } = await journal.open();
  const sizes = new Map<number, number>();
  for (const row of await journal.tail(START, 1_000_000)) sizes.set(row.commit, (sizes.get(row.commit) ?? 0) + 1);
  await journal.close();
  return { epoch, sizes };
}

describe("a process killed while it writes", () => {
  it.each([1, 7, 60])("has lost nothing it acknowledged and left no half commit, killed after %i commits", async (count) => {
    const said = await writeAndKill(count);
    const { epoch, sizes } = await commitsOnDisk();
    expect(epoch).toBe(said.epoch + 1);
    expect([...sizes.values()].every((size) => size === ROWS)).toBe(true);
    const commits = [...sizes.keys()];
    expect(commits).toEqual(Array.from({ length: commits.length }, (_, index) => index + 1));
    expect(commits.length - said.acknowledged).toBeGreaterThanOrEqual(0);
  });
  it.each([1, 4, 9, 20])("in a checkpoint has lost nothing either, after %i commits", async (count) => {
    const said = await writeAndKill(count, undefined, "checkpoint");
    const { sizes } = await commitsOnDisk();
    expect([...sizes.values()].every((size) => size === ROWS)).toBe(true);
    expect(sizes.size).toBeGreaterThanOrEqual(said.acknowledged);
  });
  it("before its first commit has used up its epoch", async () => {
    const first = await writeAndKill(0);
    const second = await writeAndKill(0);
    expect([first.epoch, second.epoch]).toEqual([1, 2]);
    expect((await commitsOnDisk()).epoch).toBe(3);
  });
});

describe("a store whose WAL is damaged", () => {
  it("opens with the whole commits of what is left when the end is torn", async () => {
    await writeAndKill(30, 30);
    const size = (await stat(wal())).size;
    const original = folder;
    for (const [index, share] of [0.2, 0.5, 0.8, 0.99].entries()) {
      folder = join(home, `cut-${index}`);
      await cp(original, folder, { recursive: true });
      await truncate(wal(), Math.floor(size * share));
      const { epoch, sizes } = await commitsOnDisk();
      expect([...sizes.values()].every((each) => each === ROWS)).toBe(true);
      expect(sizes.size).toBeLessThan(30);
      expect(epoch).toBeGreaterThan(0);
    }
  });
});

describe("a file that is no store", () => {
  it("of garbage is refused, stays as it is, and is kept aside", async () => {
    await journalHereOnce();
    await writeFile(file(), "no database ".repeat(2_000));
    const refused = journalHere().open();
    await expect(refused).rejects.toThrow(/^The store .+ does not open \(.+\); its bytes are kept in .+aside-2026-12-01T10-00-00\.$/);
    await expect(refused).rejects.toMatchObject({ code: "STORE_UNREADABLE", hint: expect.stringContaining("backup") as string });
    expect(await readFile(join(folder, "aside-2026-12-01T10-00-00", "somora.duckdb"), "utf8")).toBe(await readFile(file(), "utf8"));
  });
  it("with other bytes later is kept aside under another name", async () => {
    await journalHereOnce();
    for (const bytes of ["one", "two"]) {
      await writeFile(file(), bytes);
      await expect(journalHere().open()).rejects.toMatchObject({ code: "STORE_UNREADABLE" });
    }
    expect((await readdir(folder)).filter((name) => name.startsWith("aside-")).sort()).toEqual([
      "aside-2026-12-01T10-00-00",
      "aside-2026-12-01T10-00-00-2",
    ]);
  });
  it("but a DuckDB file of somebody else is refused, too", async () => {
    await journalHereOnce();
    await rm(file());
    const other = await DuckDBInstance.fromCache(file());
    const connection = await other.connect();
    await connection.run("create table log(something integer)");
    connection.closeSync();
    other.closeSync();
    await expect(journalHere().open()).rejects.toMatchObject({ code: "STORE_UNREADABLE" });
  });
  it("but empty, as a kill at the very first moment leaves it, is made anew", async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(file(), "");
    const journal = journalHere();
    expect(await journal.open()).toEqual({ epoch: 1 });
    await journal.close();
  });
});

describe("a disk that takes no more", () => {
  it("fails the commit and lets the store be reopened; the same batch goes in once when there is room again", async (ctx) => {
    if (process.platform !== "linux") ctx.skip("prlimit, which lifts the limit of a running process, is on Linux only");
    // A limit on the size of files stands for a full disk: writes past it fail.
    const child = spawn("bash", ["-c", `ulimit -S -f 600; exec "$0" "$@"`, process.execPath, writer.path, folder, "90"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    const failed: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith("failed")) {
        failed.push(line.split(" ", 2).join(" "));
        if (failed.length === 3) await once(spawn("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]), "exit");
        child.stdin.write("go on\n");
      }
      if (line === "90") child.kill("SIGKILL");
    }
    await exited;
    expect(failed).toHaveLength(3);
    expect(new Set(failed).size).toBe(1);
    expect([...(await commitsOnDisk()).sizes]).toEqual(Array.from({ length: 90 }, (_, index) => [index + 1, ROWS]));
  });
});

describe("a store open in another process", () => {
  it("is refused with that process's id and not copied", async () => {
    const child = spawn(process.execPath, [writer.path, folder, "1"], { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    if (child.stdout === null) throw new Error("no stdout");
    await once(child.stdout, "data");
    await expect(journalHere().open()).rejects.toMatchObject({ code: "HOME_LOCKED", details: { pid: child.pid } });
    expect((await readdir(folder)).filter((name) => name.startsWith("aside-"))).toEqual([]);
    child.kill("SIGKILL");
    await exited;
  });
});

describe("an open store", () => {
  it("has views for readers: transcript, ledger and story", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    const rows = [
      transcript("/agents/a/sessions/main", 7, { text: "hello" }),
      ledger({ address: "/agents/a", agent: "a", model: "m", day: "2026-12-01", input: 5, costUsd: null }),
      actor("/agents/a", 9),
    ];
    await journal.append({ epoch, commit: 1, rows });
    const instance = await DuckDBInstance.fromCache(file(), { threads: "2", memory_limit: "1GB", checkpoint_threshold: "1TB" });
    const connection = await instance.connect();
    const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRows();
    expect(await ask("select session, seq, kind, data from transcript")).toEqual([
      ["/agents/a/sessions/main", 7n, "notice", `{"text":"hello"}`],
    ]);
    expect(await ask("select agent, model, day, input, cost_usd, estimated from ledger")).toEqual([
      ["a", "m", "2026-12-01", 5n, null, false],
    ]);
    expect(await ask("select address, at_ms, birth, status, commit from story")).toEqual([["/agents/a", 9n, "1.1.1", "live", 1n]]);
    connection.closeSync();
    instance.closeSync();
    await journal.close();
  });
  it("reaches no other file and lets no setting be changed", async () => {
    const journal = journalHere();
    await journal.open();
    await writeFile(join(home, "secret.txt"), "secret");
    const instance = await DuckDBInstance.fromCache(file(), { threads: "2", memory_limit: "1GB", checkpoint_threshold: "1TB" });
    const connection = await instance.connect();
    await expect(connection.run(`select * from read_text('${join(home, "secret.txt")}')`)).rejects.toThrow(/disabled/);
    await expect(connection.run("set enable_external_access=true")).rejects.toThrow(/locked|cannot/i);
    connection.closeSync();
    instance.closeSync();
    await journal.close();
  });
  it("checkpoints by itself when 8 MB of WAL are reached", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    let largest = 0;
    for (let commit = 1; commit <= 60; commit++) {
      await journal.append({ epoch, commit, rows: Array.from({ length: 200 }, (_, n) => actor(`/a/${n}`, commit, "x".repeat(1_200))) });
      largest = Math.max(largest, await sizeOf(wal()));
    }
    expect(largest).toBeGreaterThan(2_000_000);
    expect(largest).toBeLessThan(12_000_000);
    await journal.close();
    expect(await sizeOf(wal())).toBe(0);
  });
});

describe("a text over 256 KB", () => {
  const long = "long ".repeat(80_000);

  it("is one file by its hash, however often it is written, and the row does not hold it", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    await journal.append({ epoch, commit: 1, rows: [payload("1.1.1:0", long), payload("1.1.1:1", long), payload("1.1.1:2", "short")] });
    expect(await readdir(join(folder, "blobs"))).toHaveLength(1);
    await journal.close();
    expect((await stat(file())).size).toBeLessThan(800_000);
  });
  it("whose file was changed is not handed out", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    await journal.append({ epoch, commit: 1, rows: [payload("1.1.1:0", long)] });
    const [name] = await readdir(join(folder, "blobs"));
    await writeFile(join(folder, "blobs", name ?? ""), "changed");
    await expect(journal.reader.payloads(["1.1.1:0"])).rejects.toThrow("was changed");
    await journal.close();
  });
  it("that no row names any more is swept when pruning, unless it is young", async () => {
    const journal = journalHere();
    const { epoch } = await journal.open();
    await journal.append({
      epoch,
      commit: 1,
      rows: [payload("1.1.1:0", long), payload("1.1.1:1", `${long}named`), actor("/a", 1, { ref: "1.1.1:1" })],
    });
    await journal.append({ epoch, commit: 2, rows: [actor("/b", 1), actor("/c", 1, `${long}young`)] });
    await journal.append({ epoch, commit: 3, rows: [actor("/c", 2)] });
    const blobs = join(folder, "blobs");
    const old = new Date(Date.now() - 7_200_000);
    for (const name of await readdir(blobs))
      if ((await readFile(join(blobs, name), "utf8")).includes("young") === false) await utimes(join(blobs, name), old, old);
    expect(await journal.prune(2)).toBe(2);
    const left = await Promise.all(
      (await readdir(blobs)).map(async (name) => (await readFile(join(blobs, name), "utf8")).replaceAll("long ", "")),
    );
    expect(left.sort()).toEqual([`"young"`, "named"]);
    await journal.close();
  });
});

/** A store as it is after one short run. */
async function journalHereOnce(): Promise<void> {
  const journal = journalHere();
  await journal.open();
  await journal.close();
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (found) => found.size,
    () => 0,
  );
}
