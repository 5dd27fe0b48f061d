/**
 * One request to any server that speaks Chat Completions, over the official `openai` client. It retries nothing by itself
 * (the turn's chart does), except a request whose optional key the server refused: that key is left out from then on.
 *
 * - Ends when the end mark comes; the connection is closed then, whatever the server does.
 * - Without a finish reason and without an end mark it was cut: the text is kept, no call runs.
 * - On abort it rejects with ABORTED at once and closes the connection.
 */
import OpenAI, { APIError } from "openai";
import type { Clock } from "../../ports/clock.port.ts";
import type { Engine, EngineContext, RoundRequest, RoundResult } from "../../ports/engine.port.ts";
import type { ProviderSettings } from "../../ports/settings.port.ts";
import { EngineError } from "../../ports/engine.port.ts";
import { aborted, emptyCut, silent } from "../shared/http-failure.ts";
import { createAnswerFold, type AnswerFold } from "./answer-fold.ts";
import { chunkSchema } from "./chunk.schema.ts";
import { closingFetch } from "./closing-fetch.ts";
import { createEventStream, EventTooLarge, type StreamEvent } from "./event-stream.ts";
import { createIdleWatch, type IdleWatch } from "./idle-watch.ts";
import { eventError, notModelServer, providerError, type ErrorSurroundings } from "./provider-error.ts";
import { refusedKey, requestBody, type OptionalKey } from "./request-body.ts";

export interface OpenAiCompatibleParts {
  /** Asked for each request, so that a changed address or key counts at once. */
  provider(name: string): Pick<ProviderSettings, "baseUrl" | "apiKey"> | null;
  clock: Clock;
}

/** After the finish reason usage may still come; a server that sends neither it nor an end mark is not waited for longer. */
const LINGER_FOR_USAGE_MS = 2_000;
/** Usage is there too: only the end mark is missing. */
const LINGER_FOR_MARK_MS = 250;
const DAY_MS = 86_400_000;
/** The client sends these unasked; a model server needs to know nothing of this machine. */
const UNSENT = [
  "x-stainless-arch",
  "x-stainless-lang",
  "x-stainless-os",
  "x-stainless-package-version",
  "x-stainless-retry-count",
  "x-stainless-runtime",
  "x-stainless-runtime-version",
  "x-stainless-timeout",
];

type Why = "aborted" | "silent" | "lingered";

interface Reading {
  fold: AnswerFold;
  watch: IdleWatch;
  around: () => ErrorSurroundings;
  signal: AbortSignal;
}

export function createOpenAiCompatibleEngine(parts: OpenAiCompatibleParts): Engine {
  const { clock } = parts;
  /** Optional keys a server refused, by address and model: asked once, not in every round. */
  const refused = new Map<string, Set<OptionalKey>>();

  return {
    kind: "openai-compatible",
    async round(request, context) {
      if (context.signal.aborted) throw aborted();
      const { baseUrl, key } = addressOf(request);
      const place = `${baseUrl} ${request.model.id}`;
      const without = refused.get(place) ?? new Set<OptionalKey>();
      refused.set(place, without);
      return await attempt({ request, context, baseUrl, key, without });
    },
  };

  function addressOf({ model }: RoundRequest): { baseUrl: string; key: string | null } {
    const settings = parts.provider(model.provider);
    const baseUrl = settings?.baseUrl ?? model.baseUrl;
    if (baseUrl === null || baseUrl === undefined) {
      throw new EngineError("MODEL_UNKNOWN", `The provider ${JSON.stringify(model.provider)} has no baseUrl.`, {
        hint: "Give it one in config.yaml; it usually ends in /v1.",
      });
    }
    return { baseUrl, key: settings?.apiKey() ?? null };
  }

  interface Attempt {
    request: RoundRequest;
    context: EngineContext;
    baseUrl: string;
    key: string | null;
    without: Set<OptionalKey>;
  }

  async function attempt({ request, context, baseUrl, key, without }: Attempt): Promise<RoundResult> {
    const controller = new AbortController();
    let why: Why | null = null;
    const end = (reason: Why): void => {
      why ??= reason;
      controller.abort();
    };
    const onAbort = (): void => end("aborted");
    context.signal.addEventListener("abort", onAbort, { once: true });
    const watch = createIdleWatch(clock, request.idleMs, () => end(fold.finished() ? "lingered" : "silent"));
    const fold = createAnswerFold({
      emit: (event) => context.emit(event),
      model: request.model.id,
      contextWindow: request.model.contextWindow,
      noCalls: request.toolChoice === "none" || request.tools.length === 0,
    });
    const around = (): ErrorSurroundings => ({ baseUrl, key, now: clock.now(), partial: fold.partial() });
    let answering = false;
    try {
      const response = await send({ request, context, baseUrl, key, without }, controller, watch);
      answering = true;
      const ended = await readAnswer(response, { fold, watch, around, signal: controller.signal });
      if (!ended && !fold.finished() && !fold.begun()) throw emptyCut();
      return fold.finish(ended);
    } catch (error) {
      // What ended it first is the reason; the error of a closed connection is only its echo.
      if (why === "aborted" || context.signal.aborted) throw aborted(fold.partial());
      if (why === "lingered") return fold.finish(true);
      if (why === "silent") throw silent(request.idleMs, fold.partial());
      if (error instanceof EngineError) throw error;
      if (error instanceof EventTooLarge) throw notModelServer(around(), error.message);
      if (!answering) throw providerError(error, around());
      // The connection broke in mid-answer: what came is kept, as with an end without a mark.
      if (fold.begun()) return fold.finish(false);
      throw emptyCut(error);
    } finally {
      watch.stop();
      context.signal.removeEventListener("abort", onAbort);
      controller.abort();
    }
  }

  /** Sends the request; again without an optional key that the server refuses, each at most once. */
  async function send(
    { request, context, baseUrl, key, without }: Attempt,
    controller: AbortController,
    watch: IdleWatch,
  ): Promise<Response> {
    const client = clientFor(baseUrl, key);
    for (let tries = 1; ; tries += 1) {
      const body = requestBody(request, without);
      try {
        return await client
          .post("/chat/completions", {
            body,
            stream: true,
            signal: controller.signal,
            headers: {
              accept: "text/event-stream, application/json",
              "idempotency-key": tries === 1 ? request.key : `${request.key}.${tries}`,
            },
          })
          .asResponse();
      } catch (error) {
        const words =
          error instanceof APIError && (error.status === 400 || error.status === 422) ? `${error.message} ${error.param ?? ""}` : "";
        const drop = refusedKey(words, body, without);
        if (drop === null) throw error;
        without.add(drop);
        watch.heard();
        context.emit({
          type: "notice",
          kind: "key_dropped",
          text: `The model server refuses ${drop}; ${drop === "max_tokens" ? "max_completion_tokens is sent in its place" : "it is left out"} from now on.`,
        });
      }
    }
  }

  /** Reads the answer to its end. True when an end mark came (or a whole answer at once). */
  async function readAnswer(response: Response, reading: Reading): Promise<boolean> {
    const { fold, watch, around, signal } = reading;
    const type = response.headers.get("content-type") ?? "";
    if (/\b(application|text)\/(problem\+)?json\b/.test(type)) return await readWhole(response, reading);
    const stream = createEventStream();
    let events = 0;
    let linger = 0;
    const take = (batch: StreamEvent[]): boolean => {
      for (const event of batch) {
        // Nothing is shown after a stop, also when it falls into the middle of what came at once.
        signal.throwIfAborted();
        events += 1;
        if (event.data.trim() === "[DONE]") return true;
        addEvent(event, fold, around);
      }
      const next = !fold.finished() ? 0 : fold.settled() ? LINGER_FOR_MARK_MS : LINGER_FOR_USAGE_MS;
      if (next !== linger && next > 0) watch.limit(next);
      linger = next;
      return false;
    };
    for await (const piece of piecesOf(response, watch)) if (take(stream.push(piece))) return true;
    if (take(stream.end())) return true;
    if (events === 0 && stream.stray() !== "") throw notModelServer(around(), stream.stray());
    return false;
  }
}

async function* piecesOf({ body }: Response, watch: IdleWatch): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      watch.heard();
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

/** A server that ignores `stream` answers whole; an error may come with status 200 too. */
async function readWhole(response: Response, { fold, watch, around }: Reading): Promise<boolean> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of piecesOf(response, watch)) text += decoder.decode(piece, { stream: true });
  addEvent({ event: "", data: text }, fold, around);
  if (!fold.begun()) throw notModelServer(around(), text);
  return true;
}

function addEvent({ event, data }: StreamEvent, fold: AnswerFold, around: () => ErrorSurroundings): void {
  let raw: unknown;
  try {
    raw = JSON.parse(data);
  } catch {
    // Quoted in the error: what came in place of JSON is what the reader needs to see.
    if (event === "error") throw eventError(data, around());
    throw notModelServer(around(), data);
  }
  const chunk = chunkSchema.safeParse(raw);
  if (event === "error") throw eventError(chunk.data?.error ?? raw, around());
  if (!chunk.success) throw notModelServer(around(), data);
  if (chunk.data.error) throw eventError(chunk.data.error, around());
  if (chunk.data.object === "error") throw eventError(raw, around());
  if (chunk.data.choices?.some((choice) => choice.finish_reason === "error"))
    throw eventError("The model server ended the answer with an error.", around());
  fold.add(chunk.data);
}

function clientFor(baseUrl: string, key: string | null): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    // The client insists on a key; without one its header is not sent. Of the environment it reads OPENAI_CUSTOM_HEADERS, nothing else.
    apiKey: key ?? "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: DAY_MS,
    logLevel: "off",
    fetch: closingFetch,
    defaultHeaders: {
      "user-agent": "somora",
      ...Object.fromEntries(UNSENT.map((name) => [name, null])),
      ...(key === null ? { authorization: null } : {}),
    },
  });
}
