/** What an HTTP status of a model server means for the turn: one table for real servers and rehearsed ones. */
import { EngineError, type RoundResult } from "../../ports/engine.port.ts";

export interface HttpFailure {
  status: number;
  /** The server's own words. */
  message: string;
  retryAfterMs?: number;
  /** The provider's error code or type, when it gave one. */
  code?: string;
  /** What streamed before; then nothing is tried again by itself. */
  partial?: RoundResult;
  /** Names the key in the hint. */
  keyHint?: string;
  cause?: unknown;
}

const FULL =
  /context[_ ](?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens|exceeds? (?:the )?(?:available |maximum )?(?:context|model'?s? max)|input is too long/i;
/** A key without money: another try does not help. */
const SPENT = /insufficient_quota|billing|credit balance|payment required/i;

export function failureOf(failure: HttpFailure): EngineError {
  const { status, partial, cause } = failure;
  const words = sentence(failure.message.trim().slice(0, 500) || "it gave no reason");
  const rest = { ...(partial ? { partial } : {}), ...(cause === undefined ? {} : { cause }) };
  const fresh = partial === undefined;
  if (status === 401 || status === 403) {
    return new EngineError("PROVIDER_REFUSED_KEY", `The model server refused the key (${status}): ${words}`, {
      hint: failure.keyHint ?? "Check the provider's apiKey in config.yaml and its value in somora.env.",
      ...rest,
    });
  }
  if (status === 429) {
    const spent = SPENT.test(`${failure.code ?? ""} ${failure.message}`);
    const again = failure.retryAfterMs === undefined ? "" : ` Again in ${Math.ceil(failure.retryAfterMs / 1000)} s.`;
    return new EngineError("PROVIDER_LIMITED", `The model server limits requests (429): ${words}${again}`, {
      hint: spent
        ? "The account behind the key has no credit left; another try does not help."
        : "Wait, or switch the session to another model.",
      retryable: fresh && !spent,
      ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
      ...rest,
    });
  }
  if (FULL.test(`${failure.code ?? ""} ${failure.message}`)) {
    return new EngineError("CONTEXT_FULL", `The conversation does not fit the model's window (${status}): ${words}`, {
      hint: "Begin a new session, or use a model with a larger window.",
      ...rest,
    });
  }
  const passing = status >= 500 || status === 408 || status === 409 || status === 425;
  return new EngineError("PROVIDER_FAILED", `The model server answered with an error (${status}): ${words}`, {
    hint: passing ? "Another try may help." : "The request itself was refused; the model server's words say why.",
    retryable: fresh && passing,
    ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
    ...rest,
  });
}

/** What may follow the server's words begins anew. */
const sentence = (words: string): string => (/[.!?…]$/u.test(words) ? words : `${words}.`);

export function aborted(partial?: RoundResult): EngineError {
  return new EngineError("ABORTED", "The round was stopped.", partial ? { partial } : {});
}

export function silent(idleMs: number, partial?: RoundResult): EngineError {
  return new EngineError("PROVIDER_SILENT", `The model server sent nothing for ${idleMs} ms; the request was ended.`, {
    hint: "Look whether the model server still works, or raise engineWatchdog.openaiCompatibleIdleMs.",
    ...(partial ? { partial } : {}),
  });
}

/** The stream broke off before anything came. */
export function emptyCut(cause?: unknown): EngineError {
  return new EngineError("STREAM_CUT", "The answer broke off without an end mark and without any text.", {
    hint: "Another try may help.",
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
