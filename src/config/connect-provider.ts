/** Connects a model server: asks it what it has, writes the settings, gives an agent its model. Nothing is written when it does not answer. */
import { SomoraError } from "../protocol/errors.ts";
import { ModelListError, listModels } from "./find-models.ts";
import type { Settings } from "./settings.ts";

export interface ConnectRequest {
  baseUrl: string;
  name?: string;
  /** Absent or empty: all that the server names. */
  models?: string[];
  keyEnv?: string;
  key?: string;
  agent?: string;
}

const ASK_MS = 10_000;

export async function connectProvider(
  settings: Settings,
  fetcher: typeof fetch,
  request: ConnectRequest,
): Promise<{ provider: string; refs: string[]; agent?: string }> {
  const { agent } = request;
  const baseUrl = request.baseUrl.replace(/\/+$/, "");
  const keyEnv = request.keyEnv ?? (request.key === undefined ? null : keyNameFor(baseUrl));
  // White space around a key is a slip of copying.
  const given = request.key?.trim();
  const key = given ?? (keyEnv === null ? null : (settings.secret(keyEnv)?.trim() ?? null));
  if (key !== null && /[^\x21-\x7e]/.test(key)) {
    throw new SomoraError("PROVIDER_REFUSED_KEY", `The key for ${baseUrl} holds a character that no key has; nothing was sent.`, {
      hint: "Copy it again: letters, digits and signs only, on one line.",
    });
  }
  if (agent !== undefined && settings.agent(agent) === null) {
    throw new SomoraError("AGENT_UNKNOWN", `No agent is called ${JSON.stringify(agent)}.`, {
      hint: `Known: ${settings.agents().join(", ") || "none"}.`,
      details: { known: settings.agents() },
    });
  }
  const models = request.models?.length
    ? request.models
    : await listModels(baseUrl, key, fetcher, ASK_MS).catch((error: unknown) => refuse(error, baseUrl));
  if (models.length === 0) {
    throw new SomoraError("PROVIDER_FAILED", `The model server at ${baseUrl} has no model.`, {
      hint: "Load one there, or name it with `models` (--model on the command line).",
    });
  }
  const name =
    request.name ??
    nameFor(
      baseUrl,
      (other) => settings.provider(other)?.baseUrl ?? null,
      (other) => settings.provider(other) !== null,
    );
  const before = new Set(settings.models().map((model) => model.ref));
  await settings.addProvider({ name, baseUrl, keyEnv, models, ...(given === undefined ? {} : { key: given }) });
  const first = models[0] as string;
  if (agent !== undefined) await settings.setAgentModel(agent, `${name}/${first}`);
  const refs = models.map((id) => `${name}/${id}`).filter((ref) => !before.has(ref));
  return { provider: name, refs, ...(agent === undefined ? {} : { agent }) };
}

function refuse(error: unknown, baseUrl: string): never {
  if (error instanceof ModelListError) {
    if (error.status === 401 || error.status === 403) {
      throw new SomoraError("PROVIDER_REFUSED_KEY", `The model server at ${baseUrl} refused the key (${error.status}).`, {
        hint: "Give the name of the variable that holds its key: --key-env NAME.",
        cause: error,
      });
    }
    throw new SomoraError("PROVIDER_NOT_JSON", `What answers at ${baseUrl} is no model server: ${error.message}.`, {
      hint: "The address ends in /v1 for most servers. Name the models yourself with --model when it gives no list.",
      cause: error,
    });
  }
  const cause =
    error instanceof Error && error.cause instanceof Error ? error.cause.message : error instanceof Error ? error.message : String(error);
  throw new SomoraError("PROVIDER_UNREACHABLE", `No connection to ${baseUrl}: ${cause}.`, {
    hint: "Is the model server on? `somora model find` looks for those on this machine.",
    cause: error,
  });
}

/** `127.0.0.1:11434` → `local`, `api.example.com` → `example`; a number behind it when another server has that name. */
function nameFor(baseUrl: string, baseUrlOf: (name: string) => string | null, taken: (name: string) => boolean): string {
  const { hostname } = new URL(baseUrl);
  const parts = hostname.replace(/^\[|\]$/g, "").split(".");
  const local = hostname === "localhost" || /^[\d.:[\]a-f]+$/i.test(hostname);
  const plain = local ? "local" : ((parts.length > 1 ? parts.at(-2) : parts[0]) ?? "server").replace(/[^A-Za-z0-9_-]/g, "-");
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? plain : `${plain}${number}`;
    if (name !== "rehearsal" && (!taken(name) || baseUrlOf(name) === baseUrl)) return name;
  }
}

function keyNameFor(baseUrl: string): string {
  return `${new URL(baseUrl).hostname
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase()
    .replace(/^_|_$/g, "")}_KEY`.replace(/^(?=\d)/, "HOST_");
}
