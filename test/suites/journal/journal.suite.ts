/**
 * What every journal promises (`src/ports/journal.port.ts`). Defects it would catch: a commit written twice, a late commit
 * of an earlier run taken, rows of half a batch, an old row shown as the newest, a dropped entry that comes back, text that
 * comes back changed, pruning that takes what is still needed.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Batch, Journal, LogRow, StoredRow } from "../../../src/ports/journal.port.ts";

export interface JournalHarness {
  /** A journal over the same disk each time. */
  create(): Journal;
  cleanup(): Promise<void>;
}

export const actor = (address: string, at: number, body: unknown = { state: "idle" }): LogRow => ({
  shard: "/agents/guide",
  kind: "actor",
  key: address,
  head: JSON.stringify({ address, birth: "1.1.1", at, status: "live" }),
  body: JSON.stringify(body),
});

export const part = (address: string, entry: string, at: number, value: unknown): LogRow => ({
  shard: "/agents/guide",
  kind: "part",
  key: `${address} queue ${entry}`,
  head: JSON.stringify({ address, birth: "1.1.1", collection: "queue", entry, gone: value === null, at }),
  body: value === null ? null : JSON.stringify(value),
});

export const payload = (id: string, text: string): LogRow => ({ shard: "/agents/guide", kind: "payload", key: id, head: "{}", body: text });

export const transcript = (session: string, seq: number, data: unknown): LogRow => ({
  shard: "/agents/guide",
  kind: "transcript",
  key: session,
  head: JSON.stringify({ seq, at: seq, kind: "notice", turnId: null }),
  body: JSON.stringify(data),
});

interface Booked {
  address: string;
  agent: string;
  model: string;
  day: string;
  input: number;
  costUsd: number | null;
  estimated?: boolean;
  at?: number;
}
export const ledger = ({ address, agent, model, day, input, costUsd, estimated, at = 1 }: Booked): LogRow => ({
  shard: "/agents/guide",
  kind: "ledger",
  key: `${address}#1.1.1.1`,
  head: JSON.stringify({
    at,
    address,
    agent,
    model,
    provider: "p",
    day,
    costUsd,
    usage: { input, output: 1, cacheRead: 2, cacheWrite: 3, reasoning: 4, ...(estimated === undefined ? {} : { estimated }) },
  }),
  body: null,
});

const START = { epoch: 0, commit: 0, n: 0 };
const placesOf = (rows: readonly StoredRow[]) => rows.map(({ epoch, commit, n }) => [epoch, commit, n]);
const bodiesOf = (rows: readonly StoredRow[]) => rows.map(({ body }) => (body === null ? null : (JSON.parse(body) as unknown)));

export function journalSuite(name: string, makeHarness: () => Promise<JournalHarness>): void {
  let harness: JournalHarness;
  let journal: Journal;
  let epoch: number;
  const opened: Journal[] = [];

  /** Opens another journal over the same disk; the earlier one is not closed. */
  async function openAnother(): Promise<{ journal: Journal; epoch: number }> {
    const another = harness.create();
    opened.push(another);
    return { journal: another, epoch: (await another.open()).epoch };
  }
  const commit = (number: number, ...rows: LogRow[]): Promise<"done" | "fenced"> => journal.append({ epoch, commit: number, rows });

  beforeEach(async () => {
    harness = await makeHarness();
    ({ journal, epoch } = await openAnother());
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await harness.cleanup();
  });

  describe(`${name}: a commit`, () => {
    it("is there in full, in order, after a restart", async () => {
      expect(await commit(1, actor("/", 1), actor("/agents", 1))).toBe("done");
      expect(await commit(2, actor("/agents/guide", 2))).toBe("done");
      await journal.close();
      const again = await openAnother();
      const rows = await again.journal.tail(START, 100);
      expect(placesOf(rows)).toEqual([
        [epoch, 1, 0],
        [epoch, 1, 1],
        [epoch, 2, 0],
      ]);
      expect(rows[2]).toEqual({ ...actor("/agents/guide", 2), epoch, commit: 2, n: 0 });
    });
    it("given twice is one", async () => {
      await commit(1, actor("/", 1));
      expect(await commit(1, actor("/", 1))).toBe("done");
      expect(await commit(2, actor("/", 2))).toBe("done");
      expect(await commit(1, actor("/", 1))).toBe("done");
      expect(placesOf(await journal.tail(START, 100))).toEqual([
        [epoch, 1, 0],
        [epoch, 2, 0],
      ]);
    });
    it("that leaves a gap is refused and writes nothing", async () => {
      await commit(1, actor("/", 1));
      await expect(commit(3, actor("/", 3))).rejects.toThrow("out of order");
      await expect(journal.append({ epoch: epoch + 1, commit: 2, rows: [] })).rejects.toThrow("epoch");
      expect(await journal.tail(START, 100)).toHaveLength(1);
      expect(await commit(2, actor("/", 2))).toBe("done");
    });
    it("without rows counts as one", async () => {
      expect(await commit(1)).toBe("done");
      expect(await commit(2, actor("/", 2))).toBe("done");
      expect((await journal.reopen()).lastCommit).toBe(2);
    });
    it("is known after a reopening, and the next one follows it", async () => {
      await commit(1, actor("/", 1));
      expect(await journal.reopen()).toEqual({ lastCommit: 1 });
      expect(await commit(1, actor("/", 1))).toBe("done");
      expect(await commit(2, actor("/", 2))).toBe("done");
      expect(placesOf(await journal.tail(START, 100))).toEqual([
        [epoch, 1, 0],
        [epoch, 2, 0],
      ]);
    });
    it("of 20,000 rows is one", async () => {
      const rows = Array.from({ length: 20_000 }, (_, n) => actor(`/many/${n}`, 1));
      expect(await commit(1, ...rows)).toBe("done");
      const newest = await journal.newest();
      expect(newest).toHaveLength(20_000);
      expect(newest.at(-1)?.key).toBe("/many/19999");
    });
  });

  describe(`${name}: an opening`, () => {
    it("has an epoch above all earlier ones, also of runs that wrote nothing", async () => {
      await journal.close();
      const second = await openAnother();
      await second.journal.close();
      const third = await openAnother();
      expect(second.epoch).toBeGreaterThan(epoch);
      expect(third.epoch).toBeGreaterThan(second.epoch);
    });
    it("fences the late commit of an earlier one", async () => {
      await commit(1, actor("/", 1));
      const next = await openAnother();
      expect(await commit(2, actor("/late", 2))).toBe("fenced");
      const late: Batch = { epoch, commit: 2, rows: [actor("/late", 2)] };
      expect(await next.journal.append(late)).toBe("fenced");
      expect(await next.journal.append({ epoch: next.epoch, commit: 1, rows: [actor("/", 3)] })).toBe("done");
      expect(placesOf(await next.journal.tail(START, 100))).toEqual([
        [epoch, 1, 0],
        [next.epoch, 1, 0],
      ]);
    });
    it("begins its commits at 1", async () => {
      await commit(1, actor("/", 1));
      await journal.close();
      const next = await openAnother();
      await expect(next.journal.append({ epoch: next.epoch, commit: 2, rows: [actor("/", 2)] })).rejects.toThrow("out of order");
    });
  });

  describe(`${name}: the newest rows`, () => {
    it("are one per key, by epoch, then commit, then place in the commit", async () => {
      await commit(1, actor("/a", 1, "a1"), actor("/b", 1, "b1"), actor("/a", 1, "a2"));
      await commit(2, actor("/b", 2, "b2"));
      await commit(3, actor("/c", 3, "c1"));
      await journal.close();
      const next = await openAnother();
      await next.journal.append({ epoch: next.epoch, commit: 1, rows: [actor("/c", 4, "c2")] });
      expect(bodiesOf(await next.journal.newest())).toEqual(["a2", "b2", "c2"]);
    });
    it("hold no part that is gone, and hold one that came back", async () => {
      await commit(1, part("/s", "one", 1, { n: 1 }), part("/s", "two", 1, { n: 2 }), part("/s", "three", 1, { n: 3 }));
      await commit(2, part("/s", "one", 2, null), part("/s", "three", 2, null));
      await commit(3, part("/s", "three", 3, { n: 33 }));
      const live = (await journal.newest()).filter((row) => row.body !== null);
      expect(live.map((row) => row.key)).toEqual(["/s queue two", "/s queue three"]);
      expect(bodiesOf(live)).toEqual([{ n: 2 }, { n: 33 }]);
    });
    it("hold actors and parts only, and tell an actor from a part of the same key", async () => {
      const twin: LogRow = { ...actor("/s queue one", 1, "actor") };
      await commit(
        1,
        twin,
        part("/s", "one", 1, "part"),
        payload("1.1.1:0", "text"),
        transcript("/s", 1, {}),
        ledger({ address: "/s", agent: "a", model: "m", day: "d", input: 1, costUsd: null }),
      );
      expect((await journal.newest()).map((row) => row.kind)).toEqual(["actor", "part"]);
    });
  });

  describe(`${name}: text`, () => {
    it("comes back as it went in: unicode, NUL, quotes, line ends, the empty text, what looks like a mark of ours", async () => {
      const texts = [
        "日本語 🦆 e\u0301",
        "a\u0000b\u0000",
        `"'\\;--`,
        "\r\n\t\u2028",
        "",
        "\u0001blob:none",
        "\uFFFE\u{10FFFF}",
        "1.5",
        "null",
      ];
      await commit(1, ...texts.map((text, n) => payload(`1.1.1:${n}`, text)), actor("/agents/日本/\u0000", 1));
      const found = await journal.reader.payloads(texts.map((_, n) => `1.1.1:${n}`));
      expect(texts.map((_, n) => found.get(`1.1.1:${n}`))).toEqual(texts);
      expect((await journal.newest())[0]?.key).toBe("/agents/日本/\u0000");
    });
    it("with a lone surrogate comes back with U+FFFD in its place", async () => {
      await commit(1, payload("1.1.1:0", "a\ud800b"));
      expect((await journal.reader.payloads(["1.1.1:0"])).get("1.1.1:0")).toBe("a\uFFFDb");
    });
    it("of 3 MB comes back whole, in every kind of row, after a restart", async () => {
      const long = "ü🦆".repeat(500_000);
      await commit(1, payload("1.1.1:0", long), actor("/a", 1, long), transcript("/s", 1, long));
      await journal.close();
      const { journal: next } = await openAnother();
      expect((await next.reader.payloads(["1.1.1:0"])).get("1.1.1:0") === long).toBe(true);
      expect(bodiesOf(await next.newest())[0] === long).toBe(true);
      expect(bodiesOf(await next.reader.transcript("/s", { limit: 1 }))[0] === long).toBe(true);
      expect((await next.tail(START, 10)).map((row) => row.body?.length)).toEqual([long.length, long.length + 2, long.length + 2]);
    });
  });

  describe(`${name}: a reader`, () => {
    it("pages through a transcript by number, whatever commit a row came with", async () => {
      await commit(1, transcript("/s", 1, "one"), transcript("/other", 1, "no"), transcript("/s", 2, "two"));
      await commit(2, transcript("/s", 3, "three"), transcript("/s", 10, "ten"));
      const page = async (options: { before?: number; limit: number }) => bodiesOf(await journal.reader.transcript("/s", options));
      expect(await page({ limit: 2 })).toEqual(["three", "ten"]);
      expect(await page({ before: 3, limit: 2 })).toEqual(["one", "two"]);
      expect(await page({ before: 1, limit: 2 })).toEqual([]);
      expect(await page({ limit: 0 })).toEqual([]);
    });
    it("leaves out payloads that are not there", async () => {
      await commit(1, payload("1.1.1:0", "here"));
      expect([...(await journal.reader.payloads(["1.1.1:0", "9.9.9:9"]))]).toEqual([["1.1.1:0", "here"]]);
      expect(await journal.reader.payloads([])).toEqual(new Map());
    });
    it("tells the last rows of one actor, oldest first", async () => {
      await commit(1, actor("/a", 1, 1), actor("/a/b", 1, "other"));
      await commit(2, actor("/a", 2, 2));
      await commit(3, actor("/a", 3, 3));
      expect(bodiesOf(await journal.reader.story("/a", 2))).toEqual([2, 3]);
      expect(bodiesOf(await journal.reader.story("/a", 9))).toEqual([1, 2, 3]);
    });
    it("tells the newest row of each actor as of a moment, oldest first, the ended ones too", async () => {
      const at = (address: string, moment: number, body: number, status = "live"): LogRow => ({
        ...actor(address, body, body),
        head: JSON.stringify({ address, at: moment, status }),
      });
      await commit(1, at("/a", 100, 1), at("/b", 100, 2));
      await commit(2, at("/a", 200, 3));
      await commit(3, at("/b", 300, 4, "down"), at("/c", 300, 5));
      const then = async (moment: number) => bodiesOf(await journal.reader.actorsAt(moment));
      expect(await then(99)).toEqual([]);
      expect(await then(100)).toEqual([1, 2]);
      expect(await then(299)).toEqual([2, 3]);
      expect(await then(300)).toEqual([3, 4, 5]);
    });
    it("counts commits, questions and failed turns in buckets of time", async () => {
      const step = (moment: number, more: object = {}): LogRow => ({ ...actor("/a", 1), head: JSON.stringify({ at: moment, ...more }) });
      const ended = (seq: number, moment: number, outcome: string): LogRow => ({
        ...transcript("/s", seq, { outcome }),
        head: JSON.stringify({ seq, at: moment, kind: "turn_end" }),
      });
      await commit(1, step(1_000), ended(1, 1_000, "failed"));
      await commit(2, step(1_999, { kind: "question", state: "open", birth: "1.2.1" }));
      await commit(3, step(3_500), ended(2, 3_500, "completed"));
      const buckets = await journal.reader.activity({ from: 1_000, to: 3_600, bucketMs: 1_000 });
      expect(buckets.map(({ restarts: _, ...bucket }) => bucket)).toEqual([
        { at: 1_000, commits: 2, questions: 1, failures: 1 },
        { at: 3_000, commits: 1, questions: 0, failures: 0 },
      ]);
      expect(await journal.reader.activity({ from: 2_000, to: 3_000, bucketMs: 1_000 })).toEqual([]);
    });
    it("counts rows by kind", async () => {
      await commit(1, actor("/a", 1), actor("/a", 2), part("/a", "x", 1, null), payload("1.1.1:0", ""), transcript("/s", 1, {}));
      expect(await journal.reader.counts()).toEqual({ actor: 2, part: 1, payload: 1, transcript: 1, ledger: 0 });
    });
    it("sees whole commits only while the writer goes on, and holds it up for nothing", async () => {
      const seen: number[] = [];
      let writing = true;
      const reads = (async () => {
        while (writing) seen.push((await journal.reader.counts()).actor);
      })();
      for (let number = 1; number <= 30; number++) await commit(number, ...Array.from({ length: 50 }, (_, n) => actor(`/a/${n}`, number)));
      writing = false;
      await reads;
      expect(seen.filter((count) => count % 50 !== 0)).toEqual([]);
      expect((await journal.reader.counts()).actor).toBe(1_500);
    });
    it("refuses when the journal is closed", async () => {
      await journal.close();
      await expect(journal.reader.counts()).rejects.toMatchObject({ code: "STORE_STALLED" });
    });
  });

  describe(`${name}: the ledger`, () => {
    beforeEach(async () => {
      await commit(
        1,
        ledger({ address: "/agents/a/sessions/main", agent: "a", model: "m1", day: "2026-01-01", input: 10, costUsd: 0.5, at: 100 }),
        ledger({ address: "/agents/a/tasks/t", agent: "a", model: "m2", day: "2026-01-02", input: 20, costUsd: null, at: 200 }),
        ledger({
          address: "/agents/ab/sessions/main",
          agent: "ab",
          model: "m1",
          day: "2026-01-02",
          input: 40,
          costUsd: 0.25,
          estimated: true,
          at: 300,
        }),
      );
    });
    const inputs = (sums: { agent: string | null; model: string | null; day: string | null; input: number }[]) =>
      sums.map(({ agent, model, day, input }) => [agent, model, day, input]);

    it("sums everything, keeps what is not priced apart and says what is estimated", async () => {
      expect(await journal.reader.ledger({ by: [] })).toEqual([
        {
          agent: null,
          model: null,
          day: null,
          input: 70,
          output: 3,
          cacheRead: 6,
          cacheWrite: 9,
          reasoning: 12,
          costUsd: 0.75,
          unknown: 1,
          estimated: true,
        },
      ]);
    });
    it("groups by what is asked, in order", async () => {
      expect(inputs(await journal.reader.ledger({ by: ["agent"] }))).toEqual([
        ["a", null, null, 30],
        ["ab", null, null, 40],
      ]);
      expect(inputs(await journal.reader.ledger({ by: ["day", "model"] }))).toEqual([
        [null, "m1", "2026-01-01", 10],
        [null, "m1", "2026-01-02", 40],
        [null, "m2", "2026-01-02", 20],
      ]);
    });
    it("takes descendants of an address, but not who only begins alike", async () => {
      expect(inputs(await journal.reader.ledger({ by: ["agent"], under: "/agents/a" }))).toEqual([["a", null, null, 30]]);
      expect(inputs(await journal.reader.ledger({ by: ["agent"], under: "/agents/a/tasks/t" }))).toEqual([["a", null, null, 20]]);
      expect(inputs(await journal.reader.ledger({ by: [], under: "/" }))).toEqual([[null, null, null, 70]]);
    });
    it("takes rows from a time on, has no row where nothing is, and null where nothing is priced", async () => {
      expect(inputs(await journal.reader.ledger({ by: [], since: 200 }))).toEqual([[null, null, null, 60]]);
      expect(await journal.reader.ledger({ by: [], since: 301 })).toEqual([]);
      expect((await journal.reader.ledger({ by: [], under: "/agents/a/tasks/t" }))[0]).toMatchObject({
        costUsd: null,
        unknown: 1,
        estimated: false,
      });
    });
  });

  describe(`${name}: the tail`, () => {
    it("goes on behind a place, in order, over epochs, up to its limit", async () => {
      await commit(1, actor("/a", 1), actor("/b", 1));
      await commit(2, actor("/a", 2));
      await journal.close();
      const next = await openAnother();
      await next.journal.append({ epoch: next.epoch, commit: 1, rows: [actor("/a", 3)] });
      expect(placesOf(await next.journal.tail({ epoch, commit: 1, n: 0 }, 2))).toEqual([
        [epoch, 1, 1],
        [epoch, 2, 0],
      ]);
      expect(placesOf(await next.journal.tail({ epoch, commit: 2, n: 0 }, 9))).toEqual([[next.epoch, 1, 0]]);
      expect(await next.journal.tail({ epoch: next.epoch, commit: 1, n: 0 }, 9)).toEqual([]);
    });
  });

  describe(`${name}: pruning`, () => {
    it("deletes superseded rows before a time and keeps newest rows, transcript and ledger", async () => {
      await commit(1, actor("/a", 10, "old"), actor("/still", 10, "never changed"), part("/a", "x", 10, 1), part("/a", "y", 10, 1));
      await commit(2, actor("/a", 20, "younger"), part("/a", "x", 20, 2), part("/a", "y", 20, null), transcript("/s", 1, "kept"));
      await commit(3, actor("/a", 30, "newest"), ledger({ address: "/s", agent: "a", model: "m", day: "d", input: 1, costUsd: null }));
      const before = (await journal.newest()).filter((row) => row.body !== null);
      expect(await journal.prune(20)).toBe(3);
      expect(bodiesOf(await journal.reader.story("/a", 9))).toEqual(["younger", "newest"]);
      expect((await journal.newest()).filter((row) => row.body !== null)).toEqual(before);
      expect(await journal.reader.counts()).toEqual({ actor: 3, part: 2, payload: 0, transcript: 1, ledger: 1 });
      expect(await journal.prune(20)).toBe(0);
    });
    it("deletes payloads no row names and keeps those that actors, parts, transcript or ledger name", async () => {
      const ids = ["1.1.1:0", "1.1.2:0", "1.1.3:0", "1.1.4:0", "1.1.5:0", "1.1.5:01"];
      await commit(1, ...ids.map((id) => payload(id, `text ${id}`)), actor("/a", 10, { ref: ids[0] }));
      await commit(
        2,
        actor("/b", 10, { padding: "x".repeat(400_000), ref: ids[1] }),
        part("/b", "x", 10, { ref: ids[2] }),
        transcript("/s", 1, { ref: ids[3] }),
      );
      await commit(3, actor("/a", 20, { none: true }), payload("1.3.1:0", "of a commit younger than the border"));
      expect(await journal.prune(15)).toBe(4);
      expect([...(await journal.reader.payloads([...ids, "1.3.1:0"])).keys()].sort()).toEqual(["1.1.2:0", "1.1.3:0", "1.1.4:0", "1.3.1:0"]);
    });
    it("goes on beside commits and takes nothing of theirs", async () => {
      for (let number = 1; number <= 20; number++)
        await commit(number, ...Array.from({ length: 300 }, (_, n) => actor(`/a/${n}`, number, number)));
      const pruned = journal.prune(20);
      for (let number = 21; number <= 30; number++)
        await commit(number, ...Array.from({ length: 300 }, (_, n) => actor(`/a/${n}`, number, number)));
      expect(await pruned).toBeGreaterThanOrEqual(19 * 300);
      const newest = await journal.newest();
      expect(newest).toHaveLength(300);
      expect(newest.every((row) => row.body === "30")).toBe(true);
      expect(await journal.reopen()).toEqual({ lastCommit: 30 });
    });
  });
}
