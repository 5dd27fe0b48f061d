/** Errors of the client library, of the network and of servers, as EngineError. The one place that translates them. */
import { APIConnectionError, APIError } from "openai";
import { EngineError, type RoundResult } from "../../ports/engine.port.ts";
import { failureOf } from "../shared/http-failure.ts";

export interface ErrorSurroundings {
  baseUrl: string;
  /** Blanked out wherever it would show. */
  key: string | null;
  /** Epoch ms: a retry-after may be a date. */
  now: number;
  partial: RoundResult | undefined;
}

export function providerError(error: unknown, around: ErrorSurroundings): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof APIConnectionError) return networkError(error.cause ?? error, around);
  if (error instanceof APIError && typeof error.status === "number") return statusError(error, error.status, around);
  return networkError(error, around);
}

function statusError(error: APIError, status: number, around: ErrorSurroundings): EngineError {
  const headers = error.headers instanceof Headers ? error.headers : new Headers();
  // The client library's own words for an answer without any.
  const said = error.message.replace(new RegExp(`^${status} `), "").replace(/^status code \(no body\)$/, "");
  const words = hidden(said, around.key);
  if (status < 400) return notModelServer(around, `it redirects to ${headers.get("location") ?? "another address"}`, status);
  const page = /<!doctype|<html/i.test(words);
  if (page && status < 500 && status !== 401 && status !== 403 && status !== 429) return notModelServer(around, words, status);
  const retryAfterMs = retryAfter(headers, around.now);
  return failureOf({
    status,
    message: page ? titleOf(words) : words,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(around.key === null
      ? { keyHint: "The provider has no key: give it apiKey: ${NAME} in config.yaml and NAME=… in somora.env." }
      : {}),
    ...(error.code || error.type ? { code: `${error.code ?? ""} ${error.type ?? ""}` } : {}),
    ...(around.partial ? { partial: around.partial } : {}),
    cause: error,
  });
}

/** An error event in the stream. It may carry a status of its own. */
export function eventError(raw: unknown, around: ErrorSurroundings): EngineError {
  const body =
    raw !== null && typeof raw === "object"
      ? (raw as { message?: unknown; code?: unknown; type?: unknown; status?: unknown })
      : { message: raw };
  const message = typeof body.message === "string" ? body.message : JSON.stringify(raw);
  const number = [body.status, body.code].map(Number).find((value) => Number.isInteger(value) && value >= 400 && value < 600);
  const code = [body.code, body.type].filter((value) => typeof value === "string").join(" ");
  return failureOf({
    status: number ?? (/rate.?limit/i.test(code) ? 429 : 500),
    message: hidden(message, around.key),
    ...(code === "" ? {} : { code }),
    ...(around.partial ? { partial: around.partial } : {}),
  });
}

export function notModelServer({ baseUrl, partial, key }: ErrorSurroundings, words: string, status = 200): EngineError {
  return new EngineError(
    "PROVIDER_NOT_JSON",
    `What answers at ${baseUrl} is not a model server (${status}): ${hidden(titleOf(words), key)}`,
    {
      hint: "Check the provider's baseUrl; it usually ends in /v1.",
      ...(partial ? { partial } : {}),
    },
  );
}

const GONE = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "ERR_INVALID_URL",
  "ERR_INVALID_PROTOCOL",
]);

function networkError(error: unknown, { baseUrl, partial, key }: ErrorSurroundings): EngineError {
  const code = codeOf(error);
  const words = code ?? hidden(error instanceof Error ? error.message : String(error), key);
  const absent = code !== undefined && GONE.has(code);
  return new EngineError(
    "PROVIDER_UNREACHABLE",
    `${absent ? "No connection to" : "The connection broke to"} the model server at ${baseUrl} (${words}).`,
    {
      hint: absent ? "Start the model server, or check the provider's baseUrl in config.yaml." : "Another try may help.",
      retryable: !absent && partial === undefined,
      ...(partial ? { partial } : {}),
      cause: error,
    },
  );
}

function codeOf(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError) {
      const inner = (at.errors as unknown[]).map(codeOf).find((code) => code !== undefined);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms) && ms >= 0) return Math.round(ms);
  const header = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(header)) return Math.round(Number(header) * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function titleOf(words: string): string {
  const title = /<title>([^<]*)<\/title>/i.exec(words)?.[1];
  return (title ?? words.replace(/<[^>]*>/g, " ")).replace(/\s+/g, " ").trim().slice(0, 200) || "an empty answer";
}

function hidden(text: string, key: string | null): string {
  return key === null || key.length < 4 ? text : text.replaceAll(key, "[key]");
}
