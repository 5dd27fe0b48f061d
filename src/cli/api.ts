/** The running server over HTTP. A refusal becomes a CliError with the server's own words. */
import { z } from "zod";
import { CliError } from "./command.ts";

const refusalSchema = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }).loose() });

export class Api {
  readonly url: string;
  readonly key: string;

  constructor(url: string, key: string) {
    this.url = url;
    this.key = key;
  }

  get<Value>(path: string, query: Record<string, string | number | undefined> = {}): Promise<Value> {
    const values = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
    const search = new URLSearchParams(values.map(([name, value]) => [name, String(value)])).toString();
    return this.#ask("GET", search === "" ? path : `${path}?${search}`);
  }
  post<Value>(path: string, body: unknown): Promise<Value> {
    return this.#ask("POST", path, body);
  }
  delete<Value>(path: string): Promise<Value> {
    return this.#ask("DELETE", path);
  }

  async #ask<Value>(method: string, path: string, body?: unknown): Promise<Value> {
    let response: Response;
    try {
      response = await fetch(`${this.url}/api${path}`, {
        method,
        headers: { authorization: `Bearer ${this.key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body: body === undefined ? null : JSON.stringify(body),
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new CliError(`The server at ${this.url} does not answer: ${cause}.`, {
        hint: "`somora server status` says whether it runs.",
        code: "UNREACHABLE",
      });
    }
    const text = await response.text();
    const value: unknown = text === "" ? null : parse(text);
    if (response.ok) return value as Value;
    const refusal = refusalSchema.safeParse(value);
    if (!refusal.success)
      throw new CliError(`The server answered ${response.status} with something that is no refusal of somora.`, {
        hint: `Is ${this.url} a somora server?`,
      });
    const { code, message, hint } = refusal.data.error;
    throw new CliError(`${message} (${code})`, { hint, code });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // told apart by the caller: it is no refusal of ours
  }
}

/** A segment of a path. */
export const segment = (text: string): string => encodeURIComponent(text);
