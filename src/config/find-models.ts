/** Looks for model servers on loopback and for keys in the environment. Sends nothing but a question for the list of models. */
import { z } from "zod";

interface FoundServer {
  baseUrl: string;
  kind: string;
  models: string[];
}

/** Ports where such servers usually listen, and what listens there. */
const USUAL_PORTS: readonly { port: number; kind: string }[] = [
  { port: 11434, kind: "Ollama" },
  { port: 1234, kind: "LM Studio" },
  { port: 8080, kind: "llama.cpp server" },
  { port: 8000, kind: "vLLM" },
  { port: 5001, kind: "KoboldCpp" },
  { port: 5000, kind: "text-generation-webui" },
  { port: 1337, kind: "Jan" },
  { port: 4000, kind: "LiteLLM" },
  { port: 30000, kind: "SGLang" },
];

const USUAL_KEYS: readonly string[] = [
  "OPENAI_API_KEY",
  "OPENROUTER_API_KEY",
  "ANTHROPIC_API_KEY",
  "GEMINI_API_KEY",
  "MISTRAL_API_KEY",
  "DEEPSEEK_API_KEY",
  "GROQ_API_KEY",
  "XAI_API_KEY",
  "TOGETHER_API_KEY",
  "FIREWORKS_API_KEY",
  "CEREBRAS_API_KEY",
];

const modelList = z.object({ data: z.array(z.object({ id: z.string() })) });

interface FindOptions {
  fetch: typeof fetch;
  env: Record<string, string | undefined>;
  ports?: readonly { port: number; kind: string }[];
  /** Of each server; all are asked at once. */
  limitMs?: number;
}

export async function findModels(options: FindOptions): Promise<{ servers: FoundServer[]; keys: string[] }> {
  const asked = (options.ports ?? USUAL_PORTS).map(async ({ port, kind }): Promise<FoundServer | null> => {
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const models = await listModels(baseUrl, null, options.fetch, options.limitMs ?? 800).catch(() => null);
    return models === null ? null : { baseUrl, kind, models };
  });
  const servers = (await Promise.all(asked)).filter((server) => server !== null);
  return { servers, keys: USUAL_KEYS.filter((name) => (options.env[name] ?? "") !== "") };
}

/** It answered, but not as a model server does. */
export class ModelListError extends Error {
  readonly status: number;

  constructor(message: string, status: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ModelListError";
    this.status = status;
  }
}

/** The model ids a server names. Rejects with ModelListError when what answers is none, with fetch's own error when nobody does. */
export async function listModels(baseUrl: string, key: string | null, fetcher: typeof fetch, limitMs: number): Promise<string[]> {
  const response = await fetcher(`${baseUrl.replace(/\/+$/, "")}/models`, {
    headers: key === null ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(limitMs),
    redirect: "error",
  });
  if (!response.ok) throw new ModelListError(`it answered ${response.status}`, response.status);
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new ModelListError(`it answered ${JSON.stringify(text.slice(0, 60))}`, response.status, error);
  }
  const list = modelList.safeParse(body);
  if (!list.success) throw new ModelListError("what it answered is no list of models", response.status);
  return list.data.data.map((model) => model.id);
}
