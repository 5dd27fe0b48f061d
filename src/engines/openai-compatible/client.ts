/** The official client, set so that it sends what we say and nothing else: no retries, no waiting of its own, no log. */
import OpenAI from "openai";
import { closingFetch } from "./closing-fetch.ts";

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

export function clientFor(baseUrl: string, key: string | null): OpenAI {
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
