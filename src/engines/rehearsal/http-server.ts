/**
 * Rehearsals served over HTTP in the Chat Completions shape (`somora rehearse --serve`): a model server for any client.
 * It counts what it is asked (`requests()`, `GET /__requests`) and shows its open sockets, so that tests can count from outside.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "../../ports/clock.port.ts";
import type { ChatMessage } from "../../ports/engine.port.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { createAskCounter } from "./ask-counter.ts";
import { errorBody, type Head } from "./completion-chunks.ts";
import { playRound, type RoundPlan } from "./player.ts";
import { createScriptReader } from "./read-script.ts";
import { sendStream, sendWhole } from "./send-plan.ts";
import { violationOf } from "./strict-conversation.ts";
import { chatMessages, completionRequestSchema, type CompletionRequest } from "./wire.ts";

export interface RehearsalServerParts {
  /** The script a model id stands for; null when there is none. */
  readScript(model: string): Promise<{ text: string; file: string } | null>;
  /** What `/v1/models` lists. */
  models(): Promise<string[]>;
  clock: Clock;
  /** 0 is any free one. */
  port?: number;
  /** Refuse with 400 what breaks the rules of a conversation (P8). */
  strict?: boolean;
  /** Words per second in place of the script's. */
  pace?: number;
  /** When given, other keys get 401. */
  key?: string;
}

export interface ServedRequest {
  n: number;
  at: number;
  model: string;
  /** The last text in the user role. */
  text: string;
  messages: number;
  tools: string[];
  idempotencyKey: string | null;
  status: number;
  /** `left`: the client closed before the end. */
  end: "open" | "answered" | "left";
}

export interface RehearsalServer {
  /** `http://127.0.0.1:PORT/v1` */
  baseUrl: string;
  port: number;
  requests(): readonly ServedRequest[];
  openSockets(): number;
  /** Calls back at each request, when it was read and before it is answered. */
  onRequest(listener: (request: ServedRequest, messages: readonly ChatMessage[]) => void): () => void;
  close(): Promise<void>;
}

const BODY_LIMIT = 64 * 1024 * 1024;
const REQUESTS_KEPT = 10_000;

export async function createRehearsalServer(parts: RehearsalServerParts): Promise<RehearsalServer> {
  const sockets = new Set<Socket>();
  const served: ServedRequest[] = [];
  const listeners = new Set<(request: ServedRequest, messages: readonly ChatMessage[]) => void>();
  const asked = createAskCounter();
  const scriptOf = createScriptReader();
  let count = 0;

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const known = error instanceof SomoraError ? error : null;
      if (response.headersSent) response.destroy();
      else sendJson(response, known ? 400 : 500, errorBody(known?.message ?? String(error), known?.code ?? "INTERNAL"));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    if (request.method === "GET" && path === "/__requests") return sendJson(response, 200, served);
    if (parts.key !== undefined && request.headers.authorization !== `Bearer ${parts.key}`) {
      return sendJson(response, 401, errorBody("Incorrect API key provided.", "invalid_api_key", "invalid_request_error"));
    }
    if (request.method === "GET" && path === "/v1/models") {
      const models = await parts.models();
      return sendJson(response, 200, {
        object: "list",
        data: models.map((id) => ({ id, object: "model", created: 0, owned_by: "rehearsal" })),
      });
    }
    if (request.method !== "POST" || path !== "/v1/chat/completions") {
      return sendJson(
        response,
        404,
        errorBody(`Nothing at ${request.method} ${path}. Here are /v1/models and /v1/chat/completions.`, "not_found"),
      );
    }
    await complete(request, response);
  }

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parsed = completionRequestSchema.safeParse(await readJson(request));
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      return sendJson(response, 400, errorBody(`${issue?.path.join(".")}: ${issue?.message}`, "invalid_request", "invalid_request_error"));
    }
    const entry = note(parsed.data, request);
    response.on("close", () => {
      entry.status = response.statusCode;
      entry.end = response.writableFinished ? "answered" : "left";
    });
    for (const listener of listeners) listener(entry, chatMessages(parsed.data));
    const plan = await planOf(parsed.data);
    if (typeof plan === "string") return sendJson(response, 400, errorBody(plan, "invalid_conversation", "invalid_request_error"));
    if (plan === null)
      return sendJson(
        response,
        404,
        errorBody(`The model ${parsed.data.model} does not exist.`, "model_not_found", "invalid_request_error"),
      );
    const head: Head = { id: `chatcmpl-${entry.n}`, created: Math.floor(parts.clock.now() / 1000), model: parsed.data.model };
    const send = parsed.data.stream === true ? sendStream : sendWhole;
    await send(plan, { response, head, clock: parts.clock, withUsage: parsed.data.stream_options?.include_usage === true });
  }

  /** Null: no such model. A string: why the conversation is refused. */
  async function planOf(request: CompletionRequest): Promise<RoundPlan | string | null> {
    const source = await parts.readScript(request.model);
    if (!source) return null;
    const messages = chatMessages(request);
    const violation = parts.strict === true ? violationOf(messages) : null;
    if (violation !== null) return violation;
    const plan = playRound(scriptOf(source), messages, source.file);
    const times = plan.fail?.times;
    const failed = times !== undefined && asked.count([request.model], messages) > times;
    const forced = plan.calls.length > 0 && (request.tool_choice === "none" || (request.tools ?? []).length === 0);
    return {
      ...plan,
      ...(parts.pace === undefined ? {} : { pace: parts.pace }),
      ...(failed ? { fail: null } : {}),
      ...(forced ? { calls: [], say: plan.say || "No tools were offered; the rehearsal stops here." } : {}),
    };
  }

  function note(request: CompletionRequest, { headers }: IncomingMessage): ServedRequest {
    count += 1;
    const key = headers["idempotency-key"];
    const entry: ServedRequest = {
      n: count,
      at: parts.clock.now(),
      model: request.model,
      text: request.messages.findLast((message) => message.role === "user")?.content.slice(0, 1_000) ?? "",
      messages: request.messages.length,
      tools: (request.tools ?? []).map((tool) => tool.function.name),
      idempotencyKey: typeof key === "string" ? key : null,
      status: 0,
      end: "open",
    };
    served.push(entry);
    if (served.length > REQUESTS_KEPT) served.shift();
    return entry;
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(parts.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    requests: () => served,
    openSockets: () => sockets.size,
    onRequest(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > BODY_LIMIT) throw new SomoraError("BODY_TOO_LARGE", `The body is over ${BODY_LIMIT} bytes.`);
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8")) as unknown;
  } catch (error) {
    throw new SomoraError("BODY_NOT_JSON", `The body is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
