/** The in-memory journal: the suite, and the faults that only it can play. */
import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "../../../src/store/index.ts";
import type { MemoryFault, MemoryJournal } from "../../../src/store/index.ts";
import { actor, journalSuite } from "./journal.suite.ts";

journalSuite("memory", async () => {
  let latest: MemoryJournal | undefined;
  return {
    create: () => (latest = createMemoryJournal(latest === undefined ? {} : { from: latest })),
    cleanup: async () => {},
  };
});

describe("memory: a journal with faults", () => {
  async function withFaults(...faults: (MemoryFault | Promise<MemoryFault>)[]) {
    const journal = createMemoryJournal({ onAppend: () => faults.shift() ?? "ok" });
    const { epoch } = await journal.open();
    return { journal, append: (commit: number) => journal.append({ epoch, commit, rows: [actor("/", commit)] }) };
  }

  it("throws the error it is told and has written nothing", async () => {
    const { journal, append } = await withFaults(new Error("disk full"));
    await expect(append(1)).rejects.toThrow("disk full");
    expect(await journal.reopen()).toEqual({ lastCommit: 0 });
    expect(await append(1)).toBe("done");
    expect(journal.rows).toHaveLength(1);
  });
  it("throws, but has written, when the answer is lost", async () => {
    const { journal, append } = await withFaults("lost");
    await expect(append(1)).rejects.toThrow("answer got lost");
    expect(await journal.reopen()).toEqual({ lastCommit: 1 });
    expect(await append(1)).toBe("done");
    expect(journal.rows).toHaveLength(1);
  });
  it("never answers when it hangs, and takes the batch after a reopening", async () => {
    const { journal, append } = await withFaults("hang");
    const hung = append(1).then(() => "answered");
    expect(await Promise.race([hung, journal.reopen()])).toEqual({ lastCommit: 0 });
    expect(await append(1)).toBe("done");
  });
  it("holds a commit until the hook's promise resolves, and fences it when another opened meanwhile", async () => {
    let release: (fault: MemoryFault) => void = () => {};
    const { journal, append } = await withFaults(new Promise<MemoryFault>((resolve) => (release = resolve)));
    const held = append(1);
    await createMemoryJournal({ from: journal }).open();
    release("ok");
    expect(await held).toBe("fenced");
    expect(journal.rows).toHaveLength(0);
  });
  it("starts on a copy of rows with an epoch above theirs", async () => {
    const { journal, append } = await withFaults();
    await append(1);
    const copy = createMemoryJournal({ from: journal.rows });
    const { epoch } = await copy.open();
    expect(epoch).toBe(2);
    await copy.append({ epoch, commit: 1, rows: [actor("/", 5)] });
    expect([journal.rows.length, copy.rows.length]).toEqual([1, 2]);
  });
});
