/** Would catch: "ended" said of a process that lives, a kill that waits for the wrong thing. */
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Clock } from "../ports/clock.port.ts";
import { endProcesses } from "./end-processes.ts";
import type { ProcessTable } from "./process-table.ts";
import { systemClock } from "./system-clock.ts";

/** The real clock, running 20 times as fast. */
const fast: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 20,
  setTimer: (ms, callback) => systemClock.setTimer(ms / 20, callback),
};

describe("ending processes", () => {
  it("names one that does not die as lost, after a grace and 5 s, and never as ended", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const signals: string[] = [];
    const find = (table: ProcessTable) => [...table.values()].filter((entry) => entry.pid === child.pid);
    const began = fast.monotonic();
    const result = await endProcesses(fast, { find, graceMs: 2_000, signal: (_, signal) => signals.push(signal) });
    const took = fast.monotonic() - began;
    child.kill("SIGKILL");
    expect(result).toEqual({ ended: [], lost: [{ pid: child.pid, command: "sleep 60" }] });
    expect([signals[0], signals.at(-1)]).toEqual(["SIGTERM", "SIGKILL"]);
    expect(signals.filter((signal) => signal === "SIGTERM")).toHaveLength(1);
    expect(took).toBeGreaterThanOrEqual(7_000);
  });
  it("ends at once when nothing is there", async () => {
    expect(await endProcesses(fast, { find: () => [], graceMs: 2_000, signal: () => {} })).toEqual({ ended: [], lost: [] });
  });
  it("kills what is forked while it ends", async () => {
    const child = spawn("sh", ["-c", "trap 'sleep 350 & sleep 351 & exit' TERM; echo ready; sleep 352 & wait"], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, MARK: "end-processes-test" },
    });
    const find = (table: ProcessTable) => [...table.values()].filter((entry) => entry.env("MARK") === "end-processes-test");
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const result = await endProcesses(systemClock, { find, graceMs: 1_000 });
    expect(result.lost).toEqual([]);
    expect(result.ended.map((entry) => entry.command)).toEqual(expect.arrayContaining(["sleep 350", "sleep 351"]));
  });
});
