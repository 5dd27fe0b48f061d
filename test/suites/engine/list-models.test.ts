import { describe, expect, it } from "vitest";
import { listModels } from "../../../src/engines/openai-compatible/index.ts";
import { rawServer } from "./raw-server.ts";
import { served } from "./served.ts";

const SIGNAL = AbortSignal.timeout(5_000);

describe("the models of a server", () => {
  it("are listed by id", async () => {
    const under = await served({ models: () => Promise.resolve(["a", "b/c"]) });
    expect(await listModels({ baseUrl: under.server.baseUrl, key: null, signal: SIGNAL })).toEqual(["a", "b/c"]);
    await under.close();
  });

  it.each<[number, string, string]>([
    [200, "<html><title>Router</title></html>", "PROVIDER_NOT_JSON"],
    [200, '{"models":[]}', "PROVIDER_NOT_JSON"],
    [404, "not here", "PROVIDER_NOT_JSON"],
    [401, '{"error":{"message":"no"}}', "PROVIDER_REFUSED_KEY"],
  ])("are refused with the reason when it answers %i %s", async (status, body, code) => {
    const server = await rawServer((response) => {
      response.writeHead(status);
      response.end(body);
    });
    await expect(listModels({ baseUrl: server.baseUrl, key: null, signal: SIGNAL })).rejects.toMatchObject({ code });
    await server.close();
    await expect(listModels({ baseUrl: server.baseUrl, key: null, signal: SIGNAL })).rejects.toMatchObject({
      code: "PROVIDER_UNREACHABLE",
    });
  });
});
