/**
 * The one socket to `/live`. Opens it, watches topics again after a drop from where each stood, measures its latency, says
 * truthfully whether what is seen is live, and tries again with growing, jittered pauses that a person can cut short.
 */
import type { Frame } from "../protocol/frames.ts";
import { Store, type Notifier, type Readable } from "./store.ts";
import type { OpenSocket, Socket, Time } from "./surroundings.ts";
import type { Topic } from "./topic.ts";

export interface LinkState {
  /** `unpaired`: the server is there and does not know us. */
  status: "connecting" | "live" | "down" | "unpaired";
  since: number;
  /** When the next try starts; null while one runs. */
  retryAt: number | null;
  latencyMs: number | null;
  /** When the server last said anything. */
  heardAt: number | null;
  /** Tries since it was last live. */
  tries: number;
}

export interface LinkOptions {
  open: OpenSocket;
  time: Time;
  notifier: Notifier;
  /** Asked when a socket closes before it was open: is the server there, and does it know us? */
  probe?: () => Promise<"known" | "unpaired" | "away">;
}

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 15_000;
const PING_EVERY = 10_000;
/** Not at once: the first snapshots are being drawn, and the number would be theirs. */
const FIRST_PING = 1_200;
/** Without an answer to a ping for this long the line counts as dead. */
const PING_LIMIT = 6_000;
const WAKE_LIMIT = 2_500;
const OPEN_LIMIT = 8_000;

export class Link {
  readonly #options: LinkOptions;
  readonly #state: Store<LinkState>;
  readonly #topics = new Map<string, Topic<unknown>>();
  #socket: Socket | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelPing: (() => void) | null = null;
  #cancelLimit: (() => void) | null = null;
  #pingAt: number | null = null;
  #closed = true;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#state = new Store<LinkState>(
      { status: "connecting", since: options.time.now(), retryAt: null, latencyMs: null, heardAt: null, tries: 0 },
      options.notifier,
    );
  }

  get state(): Readable<LinkState> {
    return this.#state;
  }

  start(): void {
    if (!this.#closed) return;
    this.#closed = false;
    this.#connect();
  }

  /** Ends it for good: no socket, no timer is left. */
  close(): void {
    this.#closed = true;
    this.#stopTimers();
    this.#cancelRetry?.();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  watch(topic: Topic<unknown>): void {
    this.#topics.set(topic.name, topic);
    if (this.#state.getSnapshot().status === "live") this.#sayWatch(topic);
  }

  unwatch(name: string): void {
    if (this.#topics.delete(name)) this.#say({ op: "unwatch", topic: name });
  }

  /** A person asks to try now, or the network came back. */
  tryNow(): void {
    if (this.#closed || this.#state.getSnapshot().status === "live") return;
    this.#cancelRetry?.();
    if (this.#socket === null) this.#connect();
  }

  /** A tab woke up: a line that only looks alive is found out within moments. */
  wake(): void {
    if (this.#closed) return;
    if (this.#state.getSnapshot().status === "live") this.#ping(WAKE_LIMIT);
    else this.tryNow();
  }

  #connect(): void {
    this.#cancelRetry = null;
    this.#set({ status: this.#state.getSnapshot().status === "live" ? "connecting" : this.#state.getSnapshot().status, retryAt: null });
    let opened = false;
    let socket: Socket;
    try {
      socket = this.#options.open();
    } catch {
      this.#lost(false); // an address the browser refuses to open counts as a closed door
      return;
    }
    this.#socket = socket;
    this.#cancelLimit = this.#options.time.after(OPEN_LIMIT, () => this.#drop(socket));
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      opened = true;
      this.#cancelLimit?.();
      this.#cancelLimit = null;
      this.#set({ status: "live", since: this.#options.time.now(), retryAt: null, heardAt: this.#options.time.now(), tries: 0 });
      for (const topic of this.#topics.values()) this.#sayWatch(topic);
      this.#cancelPing = this.#options.time.after(FIRST_PING, () => this.#ping(PING_LIMIT));
    };
    socket.onmessage = (text) => {
      if (this.#socket === socket) this.#heard(text);
    };
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#lost(opened);
    };
  }

  #drop(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    socket.close();
    this.#lost(true);
  }

  #lost(wasOpen: boolean): void {
    this.#stopTimers();
    if (this.#closed) return;
    const before = this.#state.getSnapshot();
    const tries = before.tries + 1;
    const full = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries - 1, 8));
    const pause = Math.round(full * (0.6 + 0.4 * this.#options.time.chance()));
    this.#set({
      status: before.status === "unpaired" ? "unpaired" : "down",
      since: before.status === "down" ? before.since : this.#options.time.now(),
      retryAt: this.#options.time.now() + pause,
      latencyMs: null,
      tries,
    });
    this.#cancelRetry = this.#options.time.after(pause, () => this.#connect());
    if (!wasOpen) void this.#ask();
  }

  async #ask(): Promise<void> {
    const answer = await this.#options.probe?.().catch(() => "away" as const);
    const { status } = this.#state.getSnapshot();
    if (this.#closed || status === "live") return;
    if (answer === "unpaired" || (status === "unpaired" && answer !== undefined))
      this.#set({ status: answer === "unpaired" ? "unpaired" : "down" });
  }

  #heard(text: string): void {
    const { time } = this.#options;
    const said = parse(text);
    if (said === null) return;
    this.#state.update((state) => ({ ...state, heardAt: time.now() }));
    if (said.type === "pong" && this.#pingAt !== null) {
      this.#set({ latencyMs: Math.max(0, time.now() - this.#pingAt) });
      this.#pingAt = null;
      this.#cancelLimit?.();
      this.#cancelLimit = null;
      return;
    }
    if (typeof said.topic !== "string") return;
    const topic = this.#topics.get(said.topic);
    if (topic === undefined) return;
    if (said.type === "error") {
      topic.refuse({ code: String(said.code), message: String(said.message) });
      return;
    }
    if (typeof said.seq !== "string") return;
    if (topic.receive(said as unknown as Frame) === "gap") {
      topic.forget();
      this.#sayWatch(topic);
    }
  }

  #ping(limit: number): void {
    const { time } = this.#options;
    this.#cancelPing?.();
    this.#cancelLimit?.();
    const socket = this.#socket;
    if (socket === null) return;
    this.#pingAt = time.now();
    this.#say({ op: "ping" });
    this.#cancelLimit = time.after(limit, () => this.#drop(socket));
    this.#cancelPing = time.after(PING_EVERY, () => this.#ping(PING_LIMIT));
  }

  #sayWatch(topic: Topic<unknown>): void {
    this.#say({ op: "watch", topic: topic.name, ...(topic.seq === null ? {} : { since: topic.seq }) });
  }

  #say(op: { op: string; topic?: string; since?: string }): void {
    if (this.#state.getSnapshot().status === "live") this.#socket?.send(JSON.stringify(op));
  }

  #stopTimers(): void {
    this.#cancelPing?.();
    this.#cancelLimit?.();
    this.#cancelPing = null;
    this.#cancelLimit = null;
    this.#pingAt = null;
  }

  #set(change: Partial<LinkState>): void {
    this.#state.update((state) => ({ ...state, ...change }));
  }
}

function parse(text: string): { [field: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as { [field: string]: unknown }) : null;
  } catch {
    return null; // not for us: the server only sends JSON in text frames
  }
}
