/** Reads a JSON body: at most 1 MiB, and never more of it than that; text made well-formed where it enters. */
import { SomoraError } from "../protocol/errors.ts";

export const BODY_LIMIT = 1_048_576;

export async function readJson(request: Request): Promise<unknown> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > BODY_LIMIT) throw tooLarge(declared);
  const text = await readText(request);
  if (text.trim() === "") return {};
  try {
    return wellFormed(JSON.parse(text));
  } catch (error) {
    const words = error instanceof RangeError ? "it is nested too deeply" : error instanceof Error ? error.message : String(error);
    throw new SomoraError("BODY_NOT_JSON", `The body is not JSON: ${words}.`, {
      hint: "Send one JSON object, with `content-type: application/json`.",
      cause: error,
    });
  }
}

/** Invalid UTF-8 becomes U+FFFD: the decoder is not fatal. */
async function readText(request: Request): Promise<string> {
  if (request.body === null) return "";
  const decoder = new TextDecoder();
  const reader = request.body.getReader();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
    if (done || value === undefined) return text + decoder.decode();
    size += value.byteLength;
    if (size > BODY_LIMIT) {
      await reader.cancel();
      throw tooLarge(null);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(size: number | null): SomoraError {
  return new SomoraError(
    "BODY_TOO_LARGE",
    `The body ${size === null ? "" : `has ${size} bytes and `}is over the limit of ${BODY_LIMIT} bytes (1 MiB).`,
    {
      hint: "Put long material into a file in the session's folder and name it in the message.",
    },
  );
}

const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]|\0/g;

/** Lone surrogates and NUL become U+FFFD, in keys, too: no store, file name or model takes them. */
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.replace(LONE, "\uFFFD");
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.replace(LONE, "\uFFFD"), wellFormed(entry)]));
  }
  return value;
}
