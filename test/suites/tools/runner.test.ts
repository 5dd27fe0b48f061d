/** Would catch: a call that rejects, a refusal without a way out, a result that floods, a limit that does not hold. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/host/system-clock.ts";
import { createToolHost } from "../../../src/host/tool-host.ts";
import { createToolRoom } from "../../../src/tools/index.ts";
import { dataOf, errorOf, openTestRoom, settingsFor, type TestRoom } from "../../support/tool-room.ts";

let test: TestRoom;
beforeAll(async () => {
  test = await openTestRoom({ ada: { allow: ["exec"] }, bob: { deny: ["toolset:file"] }, eve: { toolCallTimeoutMs: 100 } });
});
afterAll(() => test.end());

describe("a call that is refused", () => {
  it("names close tools that the agent may use", async () => {
    expect(errorOf(await test.call("file_raed", {}))).toMatchObject({
      code: "TOOL_UNKNOWN",
      close: expect.arrayContaining(["file_read"]) as string[],
    });
    expect(errorOf(await test.call("exce", {}, { agent: "bob" }))["close"] ?? []).not.toContain("exec");
  });
  it("says how a hidden tool is turned on", async () => {
    const error = errorOf(await test.call("exec", { command: "true" }, { agent: "bob" }));
    expect([error.code, error.hint]).toEqual(["TOOL_DENIED", expect.stringContaining("allow: [exec]")]);
  });
  it("names an agent that is not there", async () => {
    expect(errorOf(await test.call("time_now", {}, { agent: "nobody" })).code).toBe("AGENT_UNKNOWN");
  });
  it("names the field, what was seen and a near field", async () => {
    const error = errorOf(await test.call("file_read", { path: "x", offset: -1 }));
    expect([error.code, error["fields"]]).toEqual(["TOOL_INPUT_INVALID", ["offset"]]);
    expect(error.message).toContain("seen -1");
    expect(errorOf(await test.call("exec", { comand: "true" })).message).toContain("did you mean command?");
  });
  it("says what is missing where no documentation is there", async () => {
    const bare = await openTestRoom();
    const host = createToolHost({ home: bare.home, clock: systemClock, environment: {} });
    const room = createToolRoom({ settings: settingsFor(bare), clock: systemClock, host, docsFolder: join(bare.docs, "not-there") });
    expect(room.offered("ada").map((tool) => tool.name)).not.toContain("somora_docs_list");
    const result = await room.run(bare.request("somora_docs_list", {}), { signal: new AbortController().signal, progress: () => {} });
    expect(errorOf(result).code).toBe("TOOL_UNAVAILABLE");
    await bare.end();
  });
});

describe("arguments", () => {
  it("are taken from JSON text where an object is wanted", async () => {
    expect(dataOf(await test.call("exec", { command: "echo $A", env: '{"A":"b"}' }))["stdout"]).toBe("b\n");
    expect(dataOf(await test.call("time_now", '{"timezone":"UTC"}'))["timezone"]).toBe("UTC");
  });
  it("that are wrong inside rescued text are named by their inner path", async () => {
    expect(errorOf(await test.call("exec", { command: "true", env: '{"A":1}' }))["fields"]).toEqual(["env.A"]);
  });
});

describe("a listing", () => {
  it("offers what the rules leave, and everything to `all`", () => {
    expect(test.room.all().map((tool) => tool.name)).toEqual([
      "time_now",
      "file_read",
      "file_write",
      "file_patch",
      "file_search",
      "file_list",
      "somora_docs_list",
      "somora_docs_read",
      "exec",
    ]);
    expect(test.room.offered("bob").map((tool) => tool.name)).toEqual(["time_now", "somora_docs_list", "somora_docs_read"]);
    expect(test.room.offered("ada").map((tool) => tool.name)).toContain("exec");
    expect(test.room.offered("nobody")).toEqual([]);
  });
  it("has a description for every tool and every field, and no field it does not name", () => {
    for (const tool of test.room.all()) {
      expect(tool.description.length, tool.name).toBeGreaterThan(40);
      const schema = tool.inputSchema as {
        type: string;
        additionalProperties: boolean;
        properties: Record<string, { description?: string }>;
      };
      expect([schema.type, schema.additionalProperties]).toEqual(["object", false]);
      for (const [field, property] of Object.entries(schema.properties))
        expect(property.description ?? "", `${tool.name}.${field}`).not.toBe("");
    }
  });
  it("says which calls may be repeated", () => {
    expect(
      test.room
        .all()
        .filter((tool) => !test.room.isRepeatable(tool.name))
        .map((tool) => tool.name),
    ).toEqual(["file_write", "file_patch", "exec"]);
    expect(test.room.isRepeatable("nothing")).toBe(false);
  });
  it("knows the limit a call asks for", () => {
    expect([
      test.room.limitOf("exec", { command: "true" }),
      test.room.limitOf("exec", { command: "true", timeout_ms: 500 }),
      test.room.limitOf("time_now", {}),
    ]).toEqual([60_000, 500, 30_000]);
  });
});

describe("a result over its cap", () => {
  it("is shortened, says so, and lies whole in a file that file_read may read", async () => {
    await test.call("file_write", {
      path: "many.txt",
      content: Array.from({ length: 600 }, (_, index) => `needle ${index} ${'"\\'.repeat(230)}`).join("\n"),
    });
    const cut = dataOf(await test.call("file_read", { path: "many.txt" }));
    expect(cut["truncated"]).toBe(true);
    expect(cut["original_size_chars"]).toBeGreaterThan(250_000);
    expect(JSON.stringify(cut).length).toBeLessThan(900_000);
    const file = cut["full_output_file"] as string;
    expect((await readFile(file, "utf8")).length).toBe(cut["original_size_chars"]);
    expect(file).toMatch(/agents\/ada\/tool-output\/file_read-\d{8}T\d{6}Z-[0-9a-f]{4}\.json$/u);
    expect(dataOf(await test.call("file_read", { path: file, limit: 1 }))["bytes"]).toBeGreaterThan(250_000);
    expect(await readdir(join(test.home, "agents", "ada", "tool-output"))).not.toEqual([]);
  });
});

describe("a call that is stopped", () => {
  it("before it began is refused as stopped", async () => {
    const result = await test.call("time_now", {}, { signal: AbortSignal.abort() });
    expect([errorOf(result).code, result.aborted]).toEqual(["TOOL_CANCELLED", true]);
  });
  it("does not write when the stop comes first", async () => {
    const result = await test.call("file_write", { path: "never.txt", content: "x" }, { signal: AbortSignal.abort() });
    expect(result.aborted).toBe(true);
    expect(errorOf(await test.call("file_read", { path: "never.txt" })).code).toBe("FILE_NOT_FOUND");
  });
});

describe("time_now", () => {
  it("gives local time, offset and the same moment in milliseconds", async () => {
    const data = dataOf(await test.call("time_now", { timezone: "Asia/Kolkata" }));
    expect(data["utcOffset"]).toBe("+05:30");
    expect(Date.parse(data["iso"] as string)).toBe(Math.floor((data["epochMs"] as number) / 1_000) * 1_000);
    expect(Object.keys(data)).toEqual(["iso", "date", "time", "weekday", "timezone", "utcOffset", "epochMs"]);
    expect(dataOf(await test.call("time_now", { timezone: "UTC" }))["iso"]).toMatch(/Z$/u);
  });
  it("names a time zone it does not know", async () => {
    expect(errorOf(await test.call("time_now", { timezone: "Mars/Base" }))).toMatchObject({
      code: "TOOL_INPUT_INVALID",
      message: expect.stringContaining("Mars/Base") as string,
    });
  });
});

describe("the documentation", () => {
  it("lists its pages and reads one with or without .md", async () => {
    expect(dataOf(await test.call("somora_docs_list", {}))).toMatchObject({
      count: 1,
      pages: [{ name: "first-hour", title: "The first hour" }],
    });
    expect(dataOf(await test.call("somora_docs_read", { name: "first-hour.md" }))["content"]).toContain("Start it.");
  });
  it("refuses what is no page, with close names, wherever it leads", async () => {
    expect(errorOf(await test.call("somora_docs_read", { name: "frist-hour" }))).toMatchObject({
      code: "DOC_UNKNOWN",
      hint: expect.stringContaining("first-hour") as string,
    });
    expect(errorOf(await test.call("somora_docs_read", { name: "../home/key" })).code).toBe("DOC_UNKNOWN");
  });
});
