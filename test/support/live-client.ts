/** A client of `/live` for tests: keeps every frame and folds one session, as the product's client does. */
import { WebSocket } from "ws";
import type { Frame, SessionFrame } from "../../src/protocol/frames.ts";
import { foldSession, type SessionView } from "../../src/protocol/session-view.ts";

type Message = Frame | { type: "pong" } | { type: "error"; code: string; message: string; topic?: string };

export class LiveClient {
  readonly socket: WebSocket;
  readonly messages: Message[] = [];
  bytes = 0;
  closed: { code: number; reason: string } | null = null;
  readonly #waiting = new Set<() => void>();

  constructor(url: string, options: { key?: string; protocols?: string[]; headers?: Record<string, string> } = {}) {
    this.socket = new WebSocket(url.replace("http", "ws") + "/live", options.protocols ?? [], {
      headers: { ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }), ...options.headers },
    });
    this.socket.on("message", (data) => {
      const text = (data as Buffer).toString("utf8");
      this.bytes += Buffer.byteLength(text);
      this.messages.push(JSON.parse(text) as Message);
      this.#wake();
    });
    this.socket.on("close", (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#wake();
    });
    this.socket.on("error", () => this.#wake());
  }

  get frames(): Frame[] {
    return this.messages.filter((message): message is Frame => "seq" in message);
  }

  async open(): Promise<this> {
    if (this.socket.readyState === WebSocket.OPEN) return this;
    await new Promise<void>((resolve, reject) => {
      this.socket.once("open", resolve);
      this.socket.once("error", reject);
    });
    return this;
  }

  say(op: unknown): void {
    this.socket.send(typeof op === "string" ? op : JSON.stringify(op));
  }

  /** Resolves as soon as `holds` does; asked after each message. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export const numberOf = (seq: string): number => Number(seq.split(".")[1]);

/** Folds frames into a session's view; throws at a gap. */
export function apply(view: SessionView | null, last: number, frame: Frame): { view: SessionView; last: number } {
  const n = numberOf(frame.seq);
  if (frame.type === "snapshot") return { view: frame.data as SessionView, last: n };
  if (view === null) throw new Error(`frame ${frame.seq} came before a snapshot`);
  if (n !== last + 1) throw new Error(`frame ${frame.seq} came after ${last}`);
  return { view: foldSession(view, { type: frame.type, data: frame.data } as SessionFrame, frame.at), last: n };
}
