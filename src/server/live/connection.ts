/**
 * One socket of `/live`: reads ops, counts what is none, hands frames on. Never waited for: past a limit of unsent bytes its
 * topics are marked, and when the bytes are gone each gets one fresh snapshot.
 */
import type { WebSocket } from "ws";
import { clientOpSchema, type ClientOp } from "../../protocol/frames.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import type { Watcher } from "./topic.ts";

const FULL_BYTES = 512 * 1024;
const EMPTY_BYTES = 64 * 1024;
const MOST_BAD = 10;
const POLICY = 1008;

/** What the connection asks of the hub. */
export interface ConnectionHub {
  watch(connection: Connection, topic: string, since: string | undefined): void;
  unwatch(connection: Connection, topic: string): void;
  /** The snapshot of a topic as it is now; null when it is gone. */
  snapshot(topic: string): string | null;
  gone(connection: Connection): void;
}

export class Connection implements Watcher {
  readonly topics = new Set<string>();
  readonly #socket: WebSocket;
  readonly #hub: ConnectionHub;
  readonly #behind = new Set<string>();
  #bad = 0;
  #alive = true;

  constructor(socket: WebSocket, hub: ConnectionHub) {
    this.#socket = socket;
    this.#hub = hub;
    socket.on("message", (data, isBinary) => this.#read(isBinary ? null : (data as Buffer).toString("utf8")));
    socket.on("pong", () => (this.#alive = true));
    // A broken connection closes next; there is nobody to tell.
    socket.on("error", () => undefined);
    socket.on("close", () => hub.gone(this));
  }

  take(topic: string, text: string): boolean {
    if (this.#behind.has(topic)) return false;
    if (this.#socket.bufferedAmount > FULL_BYTES) {
      this.#behind.add(topic);
      return false;
    }
    this.#send(text);
    return true;
  }

  /** `bad`: counts among the ten. */
  refuse(code: ErrorCode, message: string, more: { topic?: string; bad: boolean }): void {
    this.#send(JSON.stringify({ type: "error", code, message, ...(more.topic === undefined ? {} : { topic: more.topic }) }));
    if (!more.bad) return;
    this.#bad += 1;
    if (this.#bad >= MOST_BAD) this.close(POLICY, "ten bad frames");
  }

  /** Called now and then; a peer that did not answer the last call is dead. */
  beat(): void {
    if (!this.#alive) return this.#socket.terminate();
    this.#alive = false;
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** A watch starts anew: whatever was missed before does not matter. */
  caughtUp(topic: string): void {
    this.#behind.delete(topic);
  }

  #send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(text, () => this.#drained());
  }

  #drained(): void {
    if (this.#behind.size === 0 || this.#socket.bufferedAmount > EMPTY_BYTES || this.#socket.readyState !== this.#socket.OPEN) return;
    for (const topic of this.#behind) {
      if (this.#socket.bufferedAmount > FULL_BYTES) return;
      this.#behind.delete(topic);
      const snapshot = this.#hub.snapshot(topic);
      if (snapshot !== null && this.topics.has(topic)) this.#send(snapshot);
    }
  }

  #read(text: string | null): void {
    const op = this.#parse(text);
    if (op === null) return;
    if (op.op === "ping") this.#send(JSON.stringify({ type: "pong" }));
    else if (op.op === "watch") this.#hub.watch(this, op.topic, op.since);
    else this.#hub.unwatch(this, op.topic);
  }

  #parse(text: string | null): ClientOp | null {
    let value: unknown;
    try {
      if (text === null) throw new SyntaxError("it is binary");
      value = JSON.parse(text);
    } catch (error) {
      this.refuse(
        "FRAME_NOT_JSON",
        `The frame is not JSON: ${error instanceof Error ? error.message : String(error)}. Send one JSON object per text frame.`,
        { bad: true },
      );
      return null;
    }
    const parsed = clientOpSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    const seen = typeof value === "object" && value !== null && "op" in value ? JSON.stringify(value.op).slice(0, 80) : "missing";
    this.refuse(
      "OP_UNKNOWN",
      `\`op\` is ${seen}, or its fields do not fit; known: {op: "watch", topic, since?}, {op: "unwatch", topic}, {op: "ping"}.`,
      { bad: true },
    );
    return null;
  }
}
