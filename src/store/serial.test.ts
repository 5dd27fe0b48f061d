/** One thing after the other. Would catch: a failure that stops the queue, or reaches somebody else; a limit that is not kept. */
import { describe, expect, it } from "vitest";
import { Serial, withinLimit } from "./serial.ts";

describe("work in a queue", () => {
  it("runs in order, one at a time, also past a failure that only its own caller sees", async () => {
    const serial = new Serial();
    const seen: string[] = [];
    const step = (name: string, failure?: Error) =>
      serial.run(async () => {
        seen.push(`${name} begins`);
        await Promise.resolve();
        seen.push(`${name} ends`);
        if (failure) throw failure;
        return name;
      });
    const results = await Promise.allSettled([step("a"), step("b", new Error("b failed")), step("c")]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("work with a limit", () => {
  it("that never ends is given up with the failure that was named", async () => {
    await expect(withinLimit(new Promise(() => {}), 5, () => new Error("took too long"))).rejects.toThrow("took too long");
  });
  it("that ends in time gives its own result or failure", async () => {
    const late = () => new Error("took too long");
    expect(await withinLimit(Promise.resolve("done"), 60_000, late)).toBe("done");
    await expect(withinLimit(Promise.reject(new Error("own failure")), 60_000, late)).rejects.toThrow("own failure");
  });
});
