import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SomoraError } from "../protocol/errors.ts";
import { fakeHouse, type FakeHouse } from "../../test/support/fake-house.ts";
import { createApp, type App } from "./app.ts";
import { BODY_LIMIT } from "./body.ts";
import { ROUTES } from "./routes/routes.ts";

const KEY = "the-key";
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Asked {
  status: number;
  body: { error?: { code: string; message: string; hint?: string; [more: string]: unknown }; [more: string]: unknown };
  headers: Headers;
}
interface World {
  house: FakeHouse;
  app: App;
  logged: unknown[];
  ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Asked>;
  raw: (path: string, init?: RequestInit) => Promise<Response>;
}

function world(ui: string | null = null): World {
  const house = fakeHouse();
  const logged: unknown[] = [];
  const app = createApp(house.handles, { key: KEY, listenHost: "127.0.0.1", homeId: "t", ui, log: (_, cause) => logged.push(cause) });
  const raw: World["raw"] = (path, init) => app.fetch(new Request(`http://127.0.0.1:18737${path}`, init));
  return {
    house,
    app,
    logged,
    raw,
    async ask(method, path, body, headers = {}) {
      const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
      const response = await raw(path, { method, body: text, headers: { authorization: `Bearer ${KEY}`, ...headers } });
      const answer = await response.text();
      return { status: response.status, headers: response.headers, body: answer === "" ? {} : (JSON.parse(answer) as Asked["body"]) };
    },
  };
}

describe("every route", () => {
  it.each(ROUTES.filter((route) => !route.open).map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s wants a key before it looks at anything",
    async (_, route) => {
      const { raw, house } = world();
      const response = await raw(`/api${route.path.replace(/:\w+/g, "!")}`, {
        method: route.method,
        ...(route.method === "GET" ? {} : { body: "not json" }),
      });
      expect(response.status).toBe(401);
      expect(((await response.json()) as Asked["body"]).error?.code).toBe("KEY_MISSING");
      expect(house.calls).toEqual([]);
    },
  );

  it("has a method and path of its own", () => {
    const names = ROUTES.map((route) => `${route.method} ${route.path}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("sending", () => {
  it("answers 202 with the turn and hands on exactly what came", async () => {
    const { ask, house } = world();
    const answer = await ask("POST", "/api/chat/send", { agent: "guide", text: "hello", clientKey: "k" });
    expect(answer).toMatchObject({ status: 202, body: { turnId: "turn_1", position: 0 } });
    expect(house.calls).toEqual([{ name: "chat.send", argument: { agent: "guide", text: "hello", clientKey: "k" } }]);
  });

  it("hands on the refusal with code, status, hint and details", async () => {
    const { ask } = world();
    expect(await ask("POST", "/api/chat/send", { agent: "nobody", text: "x" })).toMatchObject({
      status: 404,
      body: { error: { code: "AGENT_UNKNOWN", known: ["guide"] } },
    });
    expect(await ask("POST", "/api/chat/send", { agent: "guide", session: "none", text: "x" })).toMatchObject({
      status: 404,
      body: { error: { code: "SESSION_UNKNOWN" } },
    });
  });

  it.each([
    ["no text", { agent: "guide" }, 400, "REQUEST_INVALID", "`text`"],
    ["an empty text", { agent: "guide", text: "" }, 400, "REQUEST_INVALID", "`text`"],
    ["a blank text", { agent: "guide", text: " \n\t" }, 400, "REQUEST_INVALID", "`text`"],
    ["text and retryOf", { agent: "guide", text: "x", retryOf: "turn_1" }, 400, "REQUEST_INVALID", "`retryOf`"],
    ["no agent", { text: "x" }, 400, "REQUEST_INVALID", "`agent`"],
    ["an agent name with a slash", { agent: "../a", text: "x" }, 400, "REQUEST_INVALID", "`agent`"],
    ["a number as text", { agent: "guide", text: 3 }, 400, "REQUEST_INVALID", "`text`"],
    ["a mistyped field", { agent: "guide", txt: "x" }, 400, "REQUEST_INVALID", "`txt`"],
    ["a list", [], 400, "REQUEST_INVALID", "body"],
    ["null", null, 400, "REQUEST_INVALID", "body"],
    ["no JSON", "{agent", 400, "BODY_NOT_JSON", "JSON"],
    [
      "JSON nested beyond all measure",
      `{"agent":"guide","text":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      400,
      "BODY_NOT_JSON",
      "nested too deeply",
    ],
    ["a text one over the limit", { agent: "guide", text: "x".repeat(262_145) }, 413, "TEXT_TOO_LONG", "262145"],
    ["a body over the limit", { agent: "guide", text: "x".repeat(BODY_LIMIT) }, 413, "BODY_TOO_LARGE", "1 MiB"],
  ])("refuses %s with the field named", async (_, body, status, code, words) => {
    const { ask, house } = world();
    const answer = await ask("POST", "/api/chat/send", body);
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(answer.body.error?.message).toContain(words);
    expect(answer.body.error?.hint).toBeTruthy();
    expect(house.calls).toEqual([]);
  });

  it.each([
    ["  ", null],
    ["", null],
    ["two\nlines\u202e and\tmore ", "two lines and more"],
  ])("keeps a title to one readable line: %j is %j", async (title, kept) => {
    const { ask, house } = world();
    expect(await ask("PATCH", "/api/agents/guide/sessions/main", { title })).toMatchObject({ status: 200, body: { title: kept } });
    expect(house.calls.at(-1)?.argument).toMatchObject({ agent: "guide", session: "main", title: kept });
  });

  it.each([
    ["backwards", "from=10&to=5"],
    ["too many buckets", "from=0&to=9999999999&bucketMs=100"],
    ["no number", "from=now&to=5"],
  ])("refuses an activity of %s, and hands on one of a day", async (_, query) => {
    const { ask, house } = world();
    expect(await ask("GET", `/api/activity?${query}`)).toMatchObject({ status: 400, body: { error: { code: "REQUEST_INVALID" } } });
    expect(await ask("GET", "/api/activity?from=0&to=86400000")).toMatchObject({ status: 200, body: { buckets: [] } });
    expect(house.calls.at(-1)?.argument).toEqual({ from: 0, to: 86_400_000, bucketMs: 30_000 });
  });

  it("reads the tree of a moment with at, and the living one without", async () => {
    const { ask, house } = world();
    await ask("GET", "/api/actors?at=1700000000000&under=/agents/guide");
    expect(house.calls).toEqual([{ name: "actors.past", argument: { at: 1_700_000_000_000, under: "/agents/guide" } }]);
    await ask("GET", "/api/actors");
    expect(house.calls).toHaveLength(1);
  });

  it("takes a text of exactly the limit", async () => {
    const { ask } = world();
    expect((await ask("POST", "/api/chat/send", { agent: "guide", text: "x".repeat(262_144) })).status).toBe(202);
  });

  it("reads no more of an endless body than the limit", async () => {
    const { raw } = world();
    let given = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        given += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
      cancel() {
        cancelled = true;
      },
    });
    const response = await raw("/api/chat/send", {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${KEY}` },
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect(cancelled).toBe(true);
    expect(given).toBeLessThan(BODY_LIMIT + 4 * 65_536);
  });

  it("makes invalid UTF-8, lone surrogates and NUL into U+FFFD and leaves pairs whole", async () => {
    const { raw, ask, house } = world();
    const bytes = Buffer.concat([Buffer.from('{"agent":"guide","text":"a'), Buffer.from([0xff, 0xc3]), Buffer.from('b"}')]);
    expect((await raw("/api/chat/send", { method: "POST", body: bytes, headers: { authorization: `Bearer ${KEY}` } })).status).toBe(202);
    await ask("POST", "/api/chat/send", '{"agent":"guide","text":"x\\ud800y\\udc00z\\u0000 \\ud83d\\ude00"}');
    expect(house.calls.map((call) => (call.argument as { text: string }).text)).toEqual(["a\uFFFD\uFFFDb", "x\uFFFDy\uFFFDz\uFFFD 😀"]);
  });
});

describe("an answer that is not a plain one", () => {
  it("is 202 for an abort past its limit, 200 for one with nothing running", async () => {
    const { ask, house } = world();
    house.answers.set("chat.abort", () => ({ aborted: false }));
    expect((await ask("POST", "/api/chat/abort", { agent: "guide", session: "main" })).status).toBe(200);
    house.answers.set("chat.abort", () => ({ aborted: false, stuck: [{ pid: 1, command: "x" }] }));
    expect((await ask("POST", "/api/chat/abort", { agent: "guide", session: "main" })).status).toBe(202);
    house.answers.set("chat.abort", () => ({ aborted: false, stalled: true }));
    expect(await ask("POST", "/api/chat/abort", { agent: "guide", session: "main" })).toMatchObject({
      status: 202,
      body: { aborted: false, stalled: true },
    });
  });

  it("is 500 INTERNAL for a fault of ours, whose words go to the log and not out", async () => {
    const { ask, house, logged } = world();
    house.answers.set("chat.send", () => {
      throw new TypeError("secret inside");
    });
    const answer = await ask("POST", "/api/chat/send", { agent: "guide", text: "x" });
    expect(answer).toMatchObject({ status: 500, body: { error: { code: "INTERNAL" } } });
    expect(JSON.stringify(answer.body)).not.toContain("secret");
    expect(logged).toHaveLength(1);
  });

  it("is 503 with a time to come back while the disk stalls", async () => {
    const { ask, house } = world();
    house.answers.set("chat.send", () => {
      throw new SomoraError("STORE_STALLED", "The disk takes no commits.");
    });
    const answer = await ask("POST", "/api/chat/send", { agent: "guide", text: "x" });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: "STORE_STALLED" } } });
    expect(answer.headers.get("retry-after")).toBe("2");
  });

  it("is 503 SERVER_STOPPING for commands while it drains; reads, abort and stop go on", async () => {
    const { ask, house } = world();
    house.server.draining = true;
    expect(await ask("POST", "/api/chat/send", { agent: "guide", text: "x" })).toMatchObject({
      status: 503,
      body: { error: { code: "SERVER_STOPPING" } },
    });
    expect((await ask("DELETE", "/api/agents/guide/sessions/other")).status).toBe(503);
    expect((await ask("POST", "/api/chat/abort", { agent: "guide", session: "main" })).status).toBe(200);
    expect((await ask("POST", "/api/stop", { address: "/agents/guide" })).status).toBe(200);
    expect((await ask("GET", "/api/agents")).status).toBe(200);
  });

  it("is 409 for a change that cannot be put back, and {ok, data} for one that was", async () => {
    const { ask, house } = world();
    expect((await ask("POST", "/api/agents/guide/changes/c1/undo")).body).toEqual({ ok: true, data: { path: "/a" } });
    house.answers.set("tools.undo", () => {
      throw new SomoraError("FILE_CHANGED", "It changed since.");
    });
    expect(await ask("POST", "/api/agents/guide/changes/c1/undo")).toMatchObject({
      status: 409,
      body: { error: { code: "FILE_CHANGED" } },
    });
  });

  it("is 404 with the nearest route for one that is not there", async () => {
    const { ask } = world();
    expect(await ask("GET", "/api/chat/histori")).toMatchObject({
      status: 404,
      body: { error: { code: "ROUTE_UNKNOWN", near: "GET /api/chat/history" } },
    });
    expect(await ask("POST", "/api/chat/sned")).toMatchObject({ body: { error: { near: "POST /api/chat/send" } } });
    expect(await ask("GET", "/api/chat/send")).toMatchObject({ status: 404, body: { error: { near: "POST /api/chat/send" } } });
    expect(await ask("PUT", "/api/agents/guide/sessions/main/modle")).toMatchObject({
      body: { error: { near: "PUT /api/agents/:agent/sessions/:session/model" } },
    });
  });
});

describe("reads", () => {
  it("give history with numbers as numbers and name a query value that does not fit", async () => {
    const { ask, house } = world();
    await ask("GET", "/api/chat/history?agent=guide&before=20&limit=5");
    expect(house.calls.at(-1)?.argument).toEqual({ agent: "guide", session: "main", before: 20, limit: 5 });
    const answer = await ask("GET", "/api/chat/history?agent=guide&limit=many");
    expect(answer).toMatchObject({ status: 400, body: { error: { code: "REQUEST_INVALID", field: "limit", in: "query" } } });
  });

  it("give lists under their plural", async () => {
    const { ask } = world();
    expect((await ask("GET", "/api/agents")).body).toHaveProperty("agents");
    expect((await ask("GET", "/api/agents/guide/sessions")).body).toHaveProperty("sessions");
    expect((await ask("GET", "/api/models")).body).toHaveProperty("models");
    expect((await ask("GET", "/api/tools")).body).toHaveProperty("tools");
    expect((await ask("GET", "/api/actors?under=/agents")).body).toHaveProperty("actors");
  });

  it("say ACTOR_UNKNOWN for an address where nobody is", async () => {
    const { ask } = world();
    expect(await ask("GET", "/api/actor?address=/agents/none")).toMatchObject({ status: 404, body: { error: { code: "ACTOR_UNKNOWN" } } });
  });

  it("sum usage by several keys and refuse an unknown one", async () => {
    const { ask, house } = world();
    expect((await ask("GET", "/api/usage?by=agent,day&under=/agents/guide")).status).toBe(200);
    expect(house.calls.at(-1)?.argument).toEqual({ by: ["agent", "day"], under: "/agents/guide" });
    expect(await ask("GET", "/api/usage?by=colour")).toMatchObject({ status: 400, body: { error: { code: "REQUEST_INVALID" } } });
  });
});

describe("pairing", () => {
  it("turns a code into a cookie that works with our Origin, and ends with DELETE", async () => {
    const { app, raw, ask } = world();
    const { code } = app.pairing.newCode();
    const paired = await raw("/api/pair", { method: "POST", body: JSON.stringify({ code }) });
    expect(paired.status).toBe(204);
    const set = paired.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^somora_t=.*; HttpOnly; SameSite=Strict; Path=\//);
    const cookie = set.split(";")[0] as string;
    expect((await raw("/api/agents", { headers: { cookie } })).status).toBe(200);
    const send = (origin: Record<string, string>): Promise<Response> =>
      raw("/api/chat/send", { method: "POST", headers: { cookie, ...origin }, body: JSON.stringify({ agent: "guide", text: "x" }) });
    expect((await send({ origin: "http://127.0.0.1:18737" })).status).toBe(202);
    expect((await send({})).status).toBe(403);
    expect((await raw("/api/pair", { method: "POST", body: JSON.stringify({ code }) })).status).toBe(401);
    expect((await ask("DELETE", "/api/pair")).status).toBe(204);
    expect((await raw("/api/agents", { headers: { cookie } })).status).toBe(401);
  });

  it("takes the key, too, and answers 429 after ten wrong tries", async () => {
    const { raw } = world();
    const pair = (body: unknown): Promise<Response> => raw("/api/pair", { method: "POST", body: JSON.stringify(body) });
    expect((await pair({ key: KEY })).status).toBe(204);
    for (let tries = 0; tries < 10; tries += 1) expect((await pair(tries % 2 === 0 ? { code: "x" } : { key: "x" })).status).toBe(401);
    const refused = await pair({ key: KEY });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("gives fresh codes to who has the key", async () => {
    const { ask, raw } = world();
    const { status, body } = await ask("POST", "/api/pair/codes");
    expect(status).toBe(201);
    expect((await raw("/api/pair", { method: "POST", body: JSON.stringify({ code: body["code"] }) })).status).toBe(204);
  });
});

describe("the page", () => {
  async function built(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "somora-ui-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), "<!doctype html><title>somora</title>");
    await writeFile(join(folder, "assets/main-a1b2.js"), "1;");
    await writeFile(join(folder, ".hidden"), "x");
    return folder;
  }

  it("is served without a key, asked for anew each time, with a policy that lets nothing foreign in", async () => {
    const { raw } = world(await built());
    const page = await raw("/");
    expect(page.status).toBe(200);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const again = await raw("/", { headers: { "if-none-match": page.headers.get("etag") ?? "" } });
    expect(again.status).toBe(304);
    const asset = await raw("/assets/main-a1b2.js");
    expect(asset.headers.get("content-type")).toContain("text/javascript");
    expect(asset.headers.get("cache-control")).toContain("immutable");
  });

  it.each(["/../key", "/..%2f..%2fkey", "/%2e%2e/key", "/.hidden", "/assets", "/nothing.js", "/%", "/assets/..%5c..%5ckey"])(
    "serves nothing at %s",
    async (path) => {
      const { raw } = world(await built());
      expect((await raw(path)).status).toBe(404);
    },
  );

  it("says that it is not built", async () => {
    const { raw } = world(null);
    const page = await raw("/");
    expect(page.status).toBe(503);
    expect(await page.text()).toContain("npm start");
  });

  it("is refused under a rebound Host", async () => {
    const { app } = world(await built());
    expect((await app.fetch(new Request("http://evil.example/"))).status).toBe(403);
  });
});

describe("what is open", () => {
  it("answers health and version without a key", async () => {
    const { raw } = world();
    expect(await (await raw("/api/healthz")).json()).toEqual({ ok: true, store: "ok", draining: false });
    expect(await (await raw("/api/version")).json()).toMatchObject({ name: "somora", version: "0.1.0", epoch: 7 });
  });
});
