/**
 * A store that another build opens. Would catch: a newer build that writes before the files were copied, copies that fill the
 * disk, a home of a newer build taken for an own one, rows lost when the layout changes.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readStanding } from "../../../src/store/index.ts";
import { copyOf, FILES, killedStore, type KilledStore, NOW, openAll, prefixOf } from "../../support/stored-home.ts";

let scratch: string;
let folder: string;
let store: KilledStore;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "somora-update-"));
  store = await killedStore(join(scratch, "killed"), 10, 20);
  folder = await copyOf(store, join(scratch, "store"));
});
afterEach(() => rm(scratch, { recursive: true }));

const build = (version: string, stamp: string | null = null) => ({ build: { version, stamp } });
const copies = async () => (await readdir(folder)).filter((name) => name.startsWith("copy-")).sort();

describe("a store opened by another build", () => {
  it("is copied aside as it was, before anything is written, and the copy is named", async () => {
    await openAll(folder, build("0.1.0"));
    const [before, mark] = [await readFile(join(folder, FILES.database)), await readFile(join(folder, FILES.mark))];
    const { news, rows } = await openAll(folder, build("0.2.0"));
    const copy = join(folder, "copy-2026-12-01T10-00-00-2");
    expect(news).toEqual([`info: this build writes to the store for the first time; as somora 0.1.0 left it, it is copied to ${copy}`]);
    expect((await readFile(join(copy, FILES.database))).equals(before)).toBe(true);
    expect((await readFile(join(copy, FILES.mark))).equals(mark)).toBe(true);
    expect(prefixOf(rows, store.epoch)).toBe(20);
    expect(await readStanding(folder)).toMatchObject({ build: { version: "0.2.0" }, copies: [expect.any(String) as string, copy] });
  });
  it("is copied with its log when the run before it was killed", async () => {
    const { news } = await openAll(folder, build("0.1.0"));
    expect(news).toHaveLength(1);
    const copy = join(folder, (await copies())[0] ?? "");
    expect((await readFile(join(copy, FILES.wal))).equals(await readFile(join(store.folder, FILES.wal)))).toBe(true);
    // The copy is a store by itself.
    expect(prefixOf((await openAll(copy)).rows, store.epoch)).toBe(20);
  });
  it("is not copied again by the same build, but by another one of the same version", async () => {
    await openAll(folder, build("0.1.0", "one"));
    expect((await openAll(folder, build("0.1.0", "one"))).news).toEqual([]);
    expect((await openAll(folder, build("0.1.0", "two"))).news[0]).toContain("as somora 0.1.0 (one) left it");
    expect(await copies()).toHaveLength(2);
  });
  it("keeps its newest three copies and says which it removes", async () => {
    const said: string[] = [];
    for (const [hour, version] of ["1", "2", "3", "4", "5"].entries())
      said.push(...(await openAll(folder, { ...build(version), now: () => NOW + hour * 3_600_000 })).news);
    expect(await copies()).toEqual(["12", "13", "14"].map((hour) => `copy-2026-12-01T${hour}-00-00`));
    expect(said.filter((line) => line.includes("was removed; the newest 3 stay"))).toHaveLength(2);
  });
  it("begins from a copy again when its database is damaged, by the command the refusal gives", async () => {
    await openAll(folder, build("0.1.0"));
    await openAll(folder, build("0.2.0"));
    await writeFile(join(folder, FILES.database), "no database");
    const refused = (await openAll(folder, build("0.2.0")).catch((error: unknown) => error)) as { hint: string };
    const command = /: (mv .+)\. What came after/.exec(refused.hint)?.[1] ?? "";
    expect(spawnSync("sh", ["-c", command]).status).toBe(0);
    const { rows, news } = await openAll(folder, build("0.2.0"));
    expect(prefixOf(rows, store.epoch)).toBe(20);
    expect(news).toEqual([expect.stringContaining("as somora 0.1.0 left it") as string]);
  });
  it("that is fresh has nothing to copy", async () => {
    folder = join(scratch, "fresh");
    expect((await openAll(folder, build("1"))).news).toEqual([]);
    expect(await copies()).toEqual([]);
  });
});

describe("a store of a newer format", () => {
  const changeReport = async (change: (report: { format: number }) => object) => {
    const path = join(folder, FILES.report);
    await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, "utf8")) as { format: number })));
  };

  it("is refused with one error that names both formats, and is not touched", async () => {
    await openAll(folder, build("9.0.0"));
    await changeReport((report) => ({ ...report, format: 7 }));
    const before = await readFile(join(folder, FILES.database));
    await expect(openAll(folder, build("0.1.0"))).rejects.toMatchObject({
      code: "STORE_NEWER",
      message: expect.stringContaining("has the format 7, written by somora 9.0.0; this build knows formats up to 2") as string,
      hint: expect.stringContaining("copy-") as string,
    });
    expect((await readFile(join(folder, FILES.database))).equals(before)).toBe(true);
    expect((await readdir(folder)).filter((name) => name.startsWith("aside-"))).toEqual([]);
  });
  it("is refused by what stands in it, when the report beside it is gone", async () => {
    await change(`update log set head = '{"format":7}' where kind = 'opening'`);
    await rm(join(folder, FILES.report));
    await expect(openAll(folder, build("0.1.0"))).rejects.toMatchObject({ code: "STORE_NEWER" });
  });
});

describe("a store of format 1", () => {
  it("is copied, gets the new columns and keeps its rows; commits are checked from then on", async () => {
    await change(
      "drop view transcript; drop view ledger; drop view story; alter table log drop size; alter table log drop previous; update log set head = '{}' where kind = 'opening'",
    );
    await rm(join(folder, FILES.report));
    await rm(join(folder, FILES.mark));
    const first = await openAll(folder);
    expect(first.news).toEqual([expect.stringContaining("as an earlier build left it") as string]);
    expect(prefixOf(first.rows, store.epoch)).toBe(20);
    expect(first.epoch).toBe(2);
    const second = await openAll(folder);
    expect([second.epoch, second.news]).toEqual([3, []]);
  });
});

async function change(sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(join(folder, FILES.database));
  const connection = await instance.connect();
  for (const statement of sql.split(";")) await connection.run(statement);
  await connection.run("checkpoint");
  connection.closeSync();
  instance.closeSync();
}
