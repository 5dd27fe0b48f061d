/**
 * A store whose files were damaged while nobody looked. Would catch: commits missing without a word, a loss named wrongly, half
 * a commit taken for a whole one, a damaged file opened again and again, bytes changed before they were copied, a number of
 * an epoch used twice, rows of another store taken over. HOSTILE_PLACES sets how many places are tried.
 */
import { copyFile, mkdtemp, readFile, readdir, rm, stat, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readStanding } from "../../src/store/index.ts";
import { copyOf, FILES, flipBit, inPairs, killedStore, type KilledStore, NOW, openAll, prefixOf } from "../support/stored-home.ts";

const PLACES = Number(process.env["HOSTILE_PLACES"] ?? "25");
const LIMIT_MS = 60_000 + PLACES * 3_000;
const ASIDE = "aside-2026-12-01T10-00-00";
const CHECKPOINTED = 60;
const COMMITS = 120;

let scratch: string;
let store: KilledStore;
let other: KilledStore;
let made = 0;
let opened = 0;
const sums = new Map<string, Record<string, number>>();

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "somora-damage-"));
  store = await killedStore(join(scratch, "store"), CHECKPOINTED, COMMITS);
  other = await killedStore(join(scratch, "other"), 5, 30);
});
afterAll(async () => {
  for (const [what, counts] of sums)
    console.log(
      `${what}: ${Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(", ")}`,
    );
  await rm(scratch, { recursive: true, force: true });
});

/** Spread over the file, never twice the same share. */
const places = (size: number): number[] =>
  Array.from({ length: PLACES }, (_, index) => Math.floor(((index + ((index * 37) % 11) / 11) / PLACES) * size));
const count = (what: string, name: string, by = 1): void => {
  const counts = sums.get(what) ?? {};
  sums.set(what, { ...counts, [name]: (counts[name] ?? 0) + by });
};
const fresh = (): Promise<string> => copyOf(store, join(scratch, `try-${made++}`));
const sameFile = async (a: string, b: string): Promise<boolean> => (await readFile(a)).equals(await readFile(b));

/** Opens a damaged store and checks all that must hold when it opens. Answers with how many commits are left. */
async function opensSayingWhatIsGone(folder: string, what: string): Promise<number> {
  const damaged = new Map<string, Buffer>();
  for (const name of [FILES.database, FILES.wal]) damaged.set(name, await readFile(join(folder, name)).catch(() => Buffer.alloc(0)));
  const { epoch, rows, news } = await openAll(folder);
  const left = prefixOf(rows, store.epoch);
  if (typeof left === "string") throw new Error(left);
  const { lastRepair, lost, asides } = await readStanding(folder);
  if (left < COMMITS) {
    expect(lost).toEqual([{ epoch: store.epoch, from: left + 1, to: COMMITS }]);
    const words = left + 1 === COMMITS ? `commit ${COMMITS} of epoch 1 is gone` : `commits ${left + 1} to ${COMMITS} of epoch 1 are gone`;
    expect(lastRepair?.said).toContain(words);
    expect(news).toEqual([`error: ${lastRepair?.said}`]);
    expect(asides).toEqual([join(folder, ASIDE)]);
    expect(lastRepair?.said).toContain(join(folder, ASIDE));
  } else {
    expect(lost).toEqual([]);
  }
  for (const folderAside of asides)
    for (const name of await readdir(folderAside))
      if (name === FILES.database || name === FILES.wal)
        expect((await readFile(join(folderAside, name))).equals(damaged.get(name) as Buffer)).toBe(true);
  expect(epoch).toBe(store.epoch + 1);
  // Never again: the next opening has nothing to mend, and its own number. Every eighth is enough.
  if ((opened += 1) % 8 === 1) {
    const again = await openAll(folder);
    expect([again.epoch, again.news, again.rows.length]).toEqual([store.epoch + 2, [], rows.length]);
  }
  count(what, "opened");
  count(what, "commits lost, all named", COMMITS - left);
  return left;
}

describe("a log (WAL)", () => {
  it(
    `that ends early, at each of ${PLACES} places, opens with the whole commits before it and the rest is named`,
    async () => {
      const left = await inPairs(places(store.walBytes), async (place) => {
        const folder = await fresh();
        await truncate(join(folder, FILES.wal), place);
        return opensSayingWhatIsGone(folder, "log cut");
      });
      expect(left).toEqual([...left].sort((a, b) => a - b));
      expect(left[0]).toBe(CHECKPOINTED);
      expect(left.at(-1)).toBeGreaterThan(CHECKPOINTED + 50);
    },
    LIMIT_MS,
  );

  it(
    `with one wrong bit, at each of ${PLACES} places, is copied aside, cut and opened, and what is gone is named`,
    async () => {
      const left = await inPairs(places(store.walBytes), async (place, index) => {
        const folder = await fresh();
        await flipBit(join(folder, FILES.wal), place, index % 8);
        return opensSayingWhatIsGone(folder, "log with a wrong bit");
      });
      expect(left.at(-1)).toBeGreaterThan(CHECKPOINTED + 50);
    },
    LIMIT_MS,
  );

  it.each([0, 5])("with a wrong bit in byte %i of its header loses nothing", async (place) => {
    const folder = await fresh();
    await flipBit(join(folder, FILES.wal), place, 2);
    expect(await opensSayingWhatIsGone(folder, "header of the log")).toBe(COMMITS);
    expect((await readStanding(folder)).lastRepair?.said).toContain("the header was written anew");
  });

  it("with a wrong bit in the length of an entry, which the database takes for its end without a word, names what is gone", async () => {
    const folder = await fresh();
    await flipBit(join(folder, FILES.wal), 8 + 7, 2);
    expect(await opensSayingWhatIsGone(folder, "length of an entry")).toBe(CHECKPOINTED);
  });

  it.each([1, 4_000])("whose last %i bytes are zeros opens, and what is gone is named", async (zeros) => {
    const folder = await fresh();
    const bytes = await readFile(join(folder, FILES.wal));
    await writeFile(join(folder, FILES.wal), bytes.fill(0, bytes.length - zeros));
    expect(await opensSayingWhatIsGone(folder, "zeroed tail")).toBeLessThan(COMMITS);
  });

  it.each([1, 5_000])("with %i zeros behind its end loses nothing", async (zeros) => {
    const folder = await fresh();
    const bytes = await readFile(join(folder, FILES.wal));
    await writeFile(join(folder, FILES.wal), Buffer.concat([bytes, Buffer.alloc(zeros)]));
    expect(await opensSayingWhatIsGone(folder, "zeros behind the end")).toBe(COMMITS);
  });

  it("that is missing, or empty, or text, is named as such with what is gone", async () => {
    const damages: [string, (wal: string) => Promise<void>][] = [
      ["is missing or empty", unlink],
      ["is missing or empty", (wal) => writeFile(wal, "")],
      ["ends before what was acknowledged", (wal) => writeFile(wal, "no log at all ".repeat(100))],
    ];
    for (const [words, damage] of damages) {
      const folder = await fresh();
      await damage(join(folder, FILES.wal));
      expect(await opensSayingWhatIsGone(folder, "log missing or no log")).toBe(CHECKPOINTED);
      expect((await readStanding(folder)).lastRepair?.said).toContain(words);
    }
  });

  it("of another store is left out, also when it was checkpointed in its run", async () => {
    const folder = await fresh();
    await copyFile(join(other.folder, FILES.wal), join(folder, FILES.wal));
    expect(await opensSayingWhatIsGone(folder, "log of another store")).toBe(CHECKPOINTED);
    expect((await readStanding(folder)).lastRepair?.said).toContain("its log (WAL) is not its own");
  });

  it("damaged where the last acknowledged commit is not known says from where on nothing is known", async () => {
    const folder = await fresh();
    await unlink(join(folder, FILES.mark));
    await flipBit(join(folder, FILES.wal), Math.floor(store.walBytes / 2), 1);
    const { epoch, rows, news } = await openAll(folder);
    const left = prefixOf(rows, store.epoch) as number;
    expect(news.join()).toContain(`from commit ${left + 1} of epoch 1 on nothing is known`);
    // The log that is lost may have opened an epoch.
    expect(epoch).toBe(store.epoch + 2);
  });

  it("with the torn beginning of a commit nobody was answered is no loss and copies nothing", async () => {
    const folder = await fresh();
    await truncate(join(folder, FILES.wal), store.walBytes - 10);
    await writeFile(join(folder, FILES.mark), `epoch 1 commit ${COMMITS - 1}`.padEnd(47) + "\n");
    const { rows, news } = await openAll(folder);
    expect(prefixOf(rows, store.epoch)).toBe(COMMITS - 1);
    expect(news).toEqual([expect.stringMatching(/^info: the last \d+ bytes of the log \(WAL\) are a commit that never ended$/)]);
    expect((await readStanding(folder)).asides).toEqual([]);
  });

  it("whose repair was cut short by a kill is named at the next start, with the first copies", async () => {
    const folder = await fresh();
    await flipBit(join(folder, FILES.wal), Math.floor(store.walBytes / 2), 1);
    const whole = await copyOf({ ...store, folder }, join(scratch, `try-${made++}`));
    await openAll(folder);
    // As the kill leaves it: copies made and noted, the log cut, nothing said.
    await copyFile(join(folder, FILES.report), join(scratch, "done.json"));
    const report = JSON.parse(await readFile(join(folder, FILES.report), "utf8")) as { repairs: { state: string; lost: unknown[] }[] };
    report.repairs = report.repairs.map((repair) => ({ ...repair, state: "begun", lost: [], kept: null }));
    await writeFile(join(whole, FILES.report), JSON.stringify(report));
    await truncate(join(whole, FILES.wal), Math.floor(store.walBytes / 3));
    const { rows, news } = await openAll(whole);
    const left = prefixOf(rows, store.epoch) as number;
    expect(news).toHaveLength(1);
    expect(news[0]).toContain(`commits ${left + 1} to ${COMMITS} of epoch 1 are gone`);
    expect(news[0]).toContain("cut short");
  });
});

describe("a database file", () => {
  it(
    `with one wrong bit, at each of ${PLACES} places, is refused with its bytes kept aside once and the way out, or holds all`,
    async () => {
      await inPairs(places(store.databaseBytes), async (place, index) => {
        const folder = await fresh();
        await flipBit(join(folder, FILES.database), place, index % 8);
        const before = await readFile(join(folder, FILES.database));
        const outcome = await openAll(folder).then(
          ({ rows }) => ({ rows, error: null }),
          (error: unknown) => ({ rows: null, error: error as { code: string; hint: string; details: { aside: string } } }),
        );
        if (outcome.rows !== null) {
          expect(prefixOf(outcome.rows, store.epoch)).toBe(COMMITS);
          count("database with a wrong bit", "opened whole");
          return;
        }
        expect(outcome.error).toMatchObject({
          code: "STORE_UNREADABLE",
          message: expect.stringContaining(join(folder, ASIDE)) as string,
          hint: expect.stringContaining("Restore a backup") as string,
        });
        // Nothing of it was changed, and the next try copies nothing more.
        if (index % 8 === 0) await expect(openAll(folder)).rejects.toMatchObject({ details: { aside: join(folder, ASIDE) } });
        expect((await readFile(join(folder, FILES.database))).equals(before)).toBe(true);
        expect((await readFile(join(folder, ASIDE, FILES.database))).equals(before)).toBe(true);
        expect((await readdir(folder)).filter((name) => name.startsWith("aside-"))).toEqual([ASIDE]);
        count("database with a wrong bit", "refused");
      });
      expect(sums.get("database with a wrong bit")?.["refused"]).toBeGreaterThan(PLACES / 2);
    },
    LIMIT_MS,
  );

  it.each([
    ["cut in half", (file: string, size: number) => truncate(file, size / 2)],
    ["empty while its log is there", (file: string) => truncate(file, 0)],
    ["missing while its log is there", (file: string) => unlink(file)],
    ["text", (file: string) => writeFile(file, "no database ".repeat(2_000))],
    ["zeros", (file: string, size: number) => writeFile(file, Buffer.alloc(size))],
  ])("that is %s is refused, and its log is not touched", async (_, damage) => {
    const folder = await fresh();
    await damage(join(folder, FILES.database), store.databaseBytes);
    await expect(openAll(folder)).rejects.toMatchObject({ code: "STORE_UNREADABLE", details: { aside: join(folder, ASIDE) } });
    expect(await sameFile(join(folder, FILES.wal), join(store.folder, FILES.wal))).toBe(true);
    expect(await sameFile(join(folder, ASIDE, FILES.wal), join(store.folder, FILES.wal))).toBe(true);
    count("database no database", "refused");
  });

  it("that is missing together with its log is not taken for a home that never was", async () => {
    const folder = await fresh();
    await unlink(join(folder, FILES.database));
    await unlink(join(folder, FILES.wal));
    await expect(openAll(folder)).rejects.toThrow("the file is missing or empty, while it was opened 1 times");
    // The way out that the hint names: an empty folder begins anew.
    await rm(folder, { recursive: true });
    expect((await openAll(folder)).epoch).toBe(1);
  });

  it("of an older copy than its last commit says so and takes no number twice", async () => {
    const folder = await fresh();
    await openAll(folder);
    await openAll(folder);
    for (const name of [FILES.database, FILES.wal]) await copyFile(join(store.folder, name), join(folder, name));
    const { epoch, news } = await openAll(folder);
    expect(epoch).toBe(4);
    expect(news.join()).toContain(`from commit ${COMMITS + 1} of epoch 1 on nothing is known`);
  });
});

describe("commits inside the database", () => {
  async function change(folder: string, sql: string): Promise<void> {
    const instance = await DuckDBInstance.create(join(folder, FILES.database));
    const connection = await instance.connect();
    await connection.run(sql);
    connection.closeSync();
    instance.closeSync();
  }

  it.each([
    ["half there", "delete from log where commit = 90 and n = 1", "of its"],
    ["missing in the middle", "delete from log where commit = 90", "commit 90 before it is missing"],
  ])("%s are taken out with all that came after, and named", async (_, sql, words) => {
    const folder = await fresh();
    await change(folder, sql);
    const { rows, news } = await openAll(folder);
    expect(prefixOf(rows, store.epoch)).toBe(89);
    expect(news.join()).toContain(words);
    expect(news.join()).toContain(`commits 90 to ${COMMITS} of epoch 1 are gone`);
    expect((await stat(join(folder, ASIDE, FILES.database))).size).toBeGreaterThan(0);
    expect((await openAll(folder)).news).toEqual([]);
  });

  it("whose rows stand twice are refused, since no log can be blamed", async () => {
    const folder = await fresh();
    await change(folder, "insert into log select * from log where commit = 90");
    await expect(openAll(folder)).rejects.toThrow("commit 90 of epoch 1 stands there twice");
  });

  it("that were pruned or erased are no gaps", async () => {
    const folder = await fresh();
    const { createDuckdbJournal } = await import("../../src/store/index.ts");
    const journal = createDuckdbJournal({ folder, now: () => NOW });
    const { epoch } = await journal.open();
    for (let commit = 1; commit <= 20; commit++)
      await journal.append({
        epoch,
        commit,
        rows: [{ shard: "", kind: "actor", key: "/a", head: JSON.stringify({ at: commit }), body: "{}" }],
      });
    expect(await journal.prune(15)).toBeGreaterThan(13);
    await journal.erase("/agents/guide/sessions/main");
    await journal.append({ epoch, commit: 23, rows: [] }).catch(() => {});
    await copyOf({ ...store, folder }, `${folder}-killed`);
    await journal.close();
    const { news } = await openAll(`${folder}-killed`);
    expect(news).toEqual([]);
  });
});
