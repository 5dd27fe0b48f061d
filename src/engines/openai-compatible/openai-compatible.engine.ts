/**
 * One request to any server that speaks Chat Completions, over the official `openai` client. It retries nothing by itself
 * (the turn's chart does), except a request whose optional key the server refused: that key is left out from then on.
 *
 * - Ends when the end mark comes; the connection is closed then, whatever the server does.
 * - Without a finish reason and without an end mark it was cut: the text is kept, no call runs.
 * - On abort it rejects with ABORTED at once and closes the connection.
 */
import { APIError } from "openai";
import type { Clock } from "../../ports/clock.port.ts";
import { EngineError, type Engine, type EngineContext, type RoundRequest, type RoundResult } from "../../ports/engine.port.ts";
import type { ProviderSettings } from "../../ports/settings.port.ts";
import { aborted, emptyCut, silent } from "../shared/http-failure.ts";
import { createAnswerFold } from "./answer-fold.ts";
import { clientFor } from "./client.ts";
import { EventTooLarge } from "./event-stream.ts";
import { createIdleWatch, type IdleWatch } from "./idle-watch.ts";
import { notModelServer, providerError, type ErrorSurroundings } from "./provider-error.ts";
import { readAnswer } from "./read-answer.ts";
import { refusedKey, requestBody, type OptionalKey } from "./request-body.ts";

export interface OpenAiCompatibleParts {
  /** Asked for each request, so that a changed address or key counts at once. */
  provider(name: string): Pick<ProviderSettings, "baseUrl" | "apiKey"> | null;
  clock: Clock;
}

/** What a header cannot carry. */
const UNSENDABLE = /[^\x21-\x7e]/;

type Why = "aborted" | "silent" | "lingered";

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
    // White space around a key is a slip of copying; an empty one is none.
    const key = settings?.apiKey()?.trim() || null;
    if (key !== null && UNSENDABLE.test(key)) {
      throw new EngineError(
        "PROVIDER_REFUSED_KEY",
        `The key of ${JSON.stringify(model.provider)} holds a character that no key has; nothing was sent.`,
        {
          hint: "Copy the key again into somora.env: letters, digits and signs only.",
        },
      );
    }
    return { baseUrl, key };
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
              "idempotency-key": encodeURI(tries === 1 ? request.key : `${request.key}.${tries}`),
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
}
