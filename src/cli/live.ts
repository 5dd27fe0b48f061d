/** Watches one topic of `/live`; after a drop it watches again from the last frame it passed on. */
import { WebSocket } from "ws";
import { z } from "zod";
import type { Api } from "./api.ts";

const messageSchema = z.union([
  z.object({ topic: z.string(), seq: z.string(), type: z.string(), at: z.number().optional(), data: z.unknown() }),
  z.object({ type: z.literal("error"), code: z.string(), message: z.string() }),
  z.object({ type: z.literal("pong") }),
]);
export interface LiveFrame {
  type: string;
  at: number;
  data: unknown;
}

export interface LiveWatch {
  /** Resolves with the first frame, a snapshot; rejects when the server refuses the topic. */
  ready: Promise<void>;
  close(): void;
}

const AGAIN_MS = 500;

export function watchTopic(api: Api, topic: string, onFrame: (frame: LiveFrame) => void): LiveWatch {
  let since: string | undefined;
  let socket: WebSocket | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  const ready = new Promise<void>((resolve, reject) => {
    const open = (): void => {
      socket = new WebSocket(`${api.url.replace(/^http/, "ws")}/live`, { headers: { authorization: `Bearer ${api.key}` } });
      socket.on("open", () => socket?.send(JSON.stringify({ op: "watch", topic, ...(since === undefined ? {} : { since }) })));
      socket.on("message", (data) => {
        const parsed = messageSchema.safeParse(JSON.parse((data as Buffer).toString("utf8")));
        if (!parsed.success || parsed.data.type === "pong") return;
        if (!("seq" in parsed.data)) {
          const words = "message" in parsed.data ? String(parsed.data.message) : "the topic was refused";
          reject(new Error(words));
          return;
        }
        since = parsed.data.seq;
        onFrame({ type: parsed.data.type, at: parsed.data.at ?? 0, data: parsed.data.data });
        resolve();
      });
      // The close that follows tries again.
      socket.on("error", () => undefined);
      socket.on("close", () => {
        if (!closed) timer = setTimeout(open, AGAIN_MS);
      });
    };
    open();
  });
  return {
    ready,
    close() {
      closed = true;
      if (timer) clearTimeout(timer);
      socket?.terminate();
    },
  };
}
