import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { findModels } from "./find-models.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: string | null, type = "application/json"): Promise<number> {
  const server = createServer((_, response) => {
    if (answer !== null) response.setHeader("content-type", type).end(answer);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

describe("looking for models", () => {
  it("lists a server that answers, passes over one that is none, one that hangs and a closed port, and names keys without their values", async () => {
    const good = await serve(JSON.stringify({ object: "list", data: [{ id: "qwen3", owned_by: "x" }] }));
    const page = await serve("<html>", "text/html");
    const silent = await serve(null);
    const found = await findModels({
      fetch,
      env: { OPENAI_API_KEY: "sk-secret", GROQ_API_KEY: "" },
      ports: [good, page, silent, 1].map((port) => ({ port, kind: `at ${port}` })),
      limitMs: 2_000,
    });
    expect(found).toEqual({
      servers: [{ baseUrl: `http://127.0.0.1:${good}/v1`, kind: `at ${good}`, models: ["qwen3"] }],
      keys: ["OPENAI_API_KEY"],
    });
  });
});
