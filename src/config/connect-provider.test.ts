import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { connectProvider } from "./connect-provider.ts";
import { openSettings, type Settings } from "./settings.ts";

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function settingsIn(): Promise<Settings> {
  const home = await mkdtemp(join(tmpdir(), "somora-connect-"));
  const settings = await openSettings({ home, env: { FROM_ENV: "k" }, watch: false });
  cleanups.push(
    () => rm(home, { recursive: true, force: true }),
    () => settings.close(),
  );
  return settings;
}

async function modelServer(status: number, body: string, seen: IncomingMessage[] = []): Promise<string> {
  const server: Server = createServer((request, response) => {
    seen.push(request);
    response.writeHead(status).end(body);
  });
  cleanups.push(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
const LIST = JSON.stringify({ data: [{ id: "a" }, { id: "b/c" }] });

describe("connecting a model server", () => {
  it("writes all its models, the key beside them, and gives the agent the first one", async () => {
    const settings = await settingsIn();
    const seen: IncomingMessage[] = [];
    const baseUrl = await modelServer(200, LIST, seen);
    expect(await connectProvider(settings, fetch, { baseUrl: `${baseUrl}/`, keyEnv: "MY_KEY", key: "s3cret", agent: "guide" })).toEqual({
      provider: "local",
      refs: ["local/a", "local/b/c"],
      agent: "guide",
    });
    expect(seen[0]?.headers.authorization).toBe("Bearer s3cret");
    expect(settings.agent("guide")?.model).toBe("local/a");
    expect(settings.provider("local")).toMatchObject({ baseUrl });
    expect(await readFile(settings.paths.secrets, "utf8")).toContain("MY_KEY=s3cret");
    expect(await connectProvider(settings, fetch, { baseUrl, models: ["a", "new"] })).toEqual({ provider: "local", refs: ["local/new"] });
    const other = await modelServer(200, LIST);
    expect(await connectProvider(settings, fetch, { baseUrl: other })).toMatchObject({ provider: "local2" });
  });

  it.each([
    [401, "{}", "PROVIDER_REFUSED_KEY"],
    [200, "<html>hello</html>", "PROVIDER_NOT_JSON"],
    [404, "", "PROVIDER_NOT_JSON"],
    [200, '{"data":[]}', "PROVIDER_FAILED"],
  ])("writes nothing when the answer is %i %s", async (status, body, code) => {
    const settings = await settingsIn();
    const before = await readFile(settings.paths.config, "utf8");
    await expect(connectProvider(settings, fetch, { baseUrl: await modelServer(status, body) })).rejects.toMatchObject({ code });
    expect(await readFile(settings.paths.config, "utf8")).toBe(before);
  });

  it.each(["s3cret\nEVIL=1", "s3crét", "two words"])("refuses a key that no header can carry and does not repeat it: %j", async (key) => {
    const settings = await settingsIn();
    const refused = connectProvider(settings, fetch, { baseUrl: await modelServer(200, LIST), keyEnv: "MY_KEY", key });
    await expect(refused).rejects.toMatchObject({ code: "PROVIDER_REFUSED_KEY", message: expect.not.stringContaining(key) as string });
    expect(settings.provider("local")).toBeNull();
  });

  it("takes a key with white space around it as the key", async () => {
    const settings = await settingsIn();
    const seen: IncomingMessage[] = [];
    await connectProvider(settings, fetch, { baseUrl: await modelServer(200, LIST, seen), keyEnv: "MY_KEY", key: " s3cret\n" });
    expect(seen[0]?.headers.authorization).toBe("Bearer s3cret");
    expect(await readFile(settings.paths.secrets, "utf8")).toMatch(/^MY_KEY=s3cret$/m);
  });

  it("says when nobody answers, and when the agent is unknown", async () => {
    const settings = await settingsIn();
    await expect(connectProvider(settings, fetch, { baseUrl: "http://127.0.0.1:1/v1" })).rejects.toMatchObject({
      code: "PROVIDER_UNREACHABLE",
      message: expect.stringContaining("127.0.0.1:1") as string,
    });
    await expect(connectProvider(settings, fetch, { baseUrl: "http://127.0.0.1:1/v1", agent: "nobody" })).rejects.toMatchObject({
      code: "AGENT_UNKNOWN",
    });
  });
});
