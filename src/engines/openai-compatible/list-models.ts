/** Which models a server offers (`GET /models`): for `model find` and `model add`. */
import { APIError } from "openai";
import { z } from "zod";
import { clientFor } from "./client.ts";
import { notModelServer, providerError, type ErrorSurroundings } from "./provider-error.ts";

const listSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Rejects with the EngineError a round would give: unreachable, key refused, not a model server. The signal ends it. */
export async function listModels({
  baseUrl,
  key,
  signal,
}: {
  baseUrl: string;
  key: string | null;
  signal: AbortSignal;
}): Promise<string[]> {
  const around: ErrorSurroundings = { baseUrl, key, now: 0, partial: undefined };
  let text: string;
  try {
    const response = await clientFor(baseUrl, key).get("/models", { signal }).asResponse();
    text = await response.text();
  } catch (error) {
    if (error instanceof APIError && error.status === 404) throw notModelServer(around, error.message, 404);
    throw providerError(error, around);
  }
  const listed = listSchema.safeParse(parsed(text));
  if (!listed.success) throw notModelServer(around, text);
  return listed.data.data.map((model) => model.id);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no list: the caller quotes the text.
    return undefined;
  }
}
