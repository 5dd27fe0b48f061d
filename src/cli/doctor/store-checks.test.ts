import { describe, expect, it } from "vitest";
import type { StoreStandingSeen } from "./check.ts";
import { storeChecks } from "./store-checks.ts";

const PLAIN: StoreStandingSeen = {
  databaseBytes: 3_145_728,
  walBytes: 524_288,
  format: 2,
  knownFormat: 2,
  build: { version: "0.1.0", stamp: "abcdef0123456789" },
  lastCommit: { epoch: 4, commit: 17 },
  lastRepair: null,
  repairs: 0,
  lost: [],
  asides: [],
  copies: [],
  unopened: [],
};
const REPAIRED: Partial<StoreStandingSeen> = {
  lastRepair: { at: Date.UTC(2026, 11, 1), said: "the store was repaired. Its bytes as they were are in /s/aside-1.", unfinished: false },
  repairs: 2,
  lost: [
    { epoch: 4, from: 18, to: 20 },
    { epoch: 3, from: 7, to: null },
  ],
};
const look = async (more: Partial<StoreStandingSeen>) =>
  Object.fromEntries((await Promise.all(storeChecks(async () => ({ ...PLAIN, ...more })))).map((finding) => [finding.name, finding]));

describe("the doctor on a store", () => {
  it("names sizes, the last commit and who wrote it", async () => {
    expect(await look({})).toMatchObject({
      size: { ok: true, seen: "database 3.0 MB, log (WAL) 0.5 MB, last commit 4.17, written by 0.1.0 (abcdef01)" },
      repair: { ok: true, seen: "never needed" },
      gaps: { ok: true, seen: "no commit is known to be missing" },
      copies: { ok: true, seen: "none" },
    });
  });
  it("is not content with a repair until the kept bytes are removed", async () => {
    const seen = await look({ ...REPAIRED, asides: ["/s/aside-1"] });
    expect(seen["repair"]).toMatchObject({ ok: false, mend: "When you have seen this, remove the kept bytes: rm -r /s/aside-1" });
    expect(seen["repair"]?.seen).toBe(
      "2026-12-01T00:00:00Z the store was repaired. Its bytes as they were are in /s/aside-1. It was repair 2.",
    );
    expect(seen["gaps"]).toMatchObject({ seen: "4.18 to 4.20; 3.7 to unknown" });
    expect((await look(REPAIRED))["repair"]).toMatchObject({ ok: true });
  });
  it("names copies of before an update and of damaged files", async () => {
    expect((await look({ copies: ["/s/copy-1"], asides: ["/s/aside-1"] }))["copies"]?.seen).toBe(
      "before an update: /s/copy-1; as it was when it was damaged: /s/aside-1",
    );
  });
  it("is not content with a repair that was cut short, a store that never opened again, and a newer format", async () => {
    expect((await look({ lastRepair: { at: 0, said: "begun", unfinished: true }, repairs: 1 }))["repair"]).toMatchObject({ ok: false });
    expect((await look({ ...REPAIRED, asides: ["/s/aside-2"], unopened: ["/s/aside-2"] }))["repair"]).toMatchObject({
      ok: false,
      seen: "the store did not open; its bytes are kept in /s/aside-2",
    });
    expect((await look({ format: 9 }))["size"]).toMatchObject({ ok: false, seen: expect.stringContaining("format 9") as string });
  });
  it("says when the folder cannot be read", async () => {
    const findings = await Promise.all(storeChecks(() => Promise.reject(new Error("EACCES: store"))));
    expect(findings.every(({ ok, seen }) => !ok && seen === "EACCES: store")).toBe(true);
  });
});
