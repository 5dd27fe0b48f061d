/** Watches one topic of `/live` through the client every skin uses: a dropped line, a gap and another epoch are its matter. */
import { WebSocket } from "ws";
import { Link, Notifier, realTime, Topic, type OpenSocket, type Socket } from "../client/index.ts";
import type { Frame } from "../protocol/frames.ts";
import type { Api } from "./api.ts";

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

export function watchTopic(api: Api, name: string, onFrame: (frame: LiveFrame) => void): LiveWatch {
  const notifier = new Notifier(queueMicrotask);
  const told = (view: unknown, frame: Frame): unknown => {
    onFrame({ type: frame.type, at: frame.at, data: frame.data });
    return view;
  };
  const topic = new Topic<unknown>(name, told, notifier, (snapshot) => {
    onFrame({ type: "snapshot", at: Date.now(), data: snapshot });
    return snapshot;
  });
  const link = new Link({ open: socketOf(api), time: realTime, notifier });
  const ready = new Promise<void>((resolve, reject) => {
    topic.store.subscribe(() => {
      const { view, refused } = topic.store.getSnapshot();
      if (refused !== null) reject(new Error(refused.message));
      else if (view !== null) resolve();
    });
  });
  link.watch(topic);
  link.start();
  return { ready, close: () => link.close() };
}

/** Programs show their key in a header, which the browser's own WebSocket cannot. */
function socketOf({ url, key }: Api): OpenSocket {
  return () => {
    const inner = new WebSocket(`${url.replace(/^http/, "ws")}/live`, { headers: { authorization: `Bearer ${key}` } });
    const socket: Socket = {
      send: (text) => inner.send(text),
      close: () => inner.terminate(),
      onopen: null,
      onmessage: null,
      onclose: null,
    };
    inner.on("open", () => socket.onopen?.());
    inner.on("message", (data) => socket.onmessage?.((data as Buffer).toString("utf8")));
    inner.on("error", () => undefined); // the close that follows tells it
    inner.on("close", () => socket.onclose?.());
    return socket;
  };
}
