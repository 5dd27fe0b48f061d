/** A session as a person's page sees it: folded frames of `/live`, with the moment at which each came. */
import type { SessionView } from "../../src/protocol/session-view.ts";
import { apply, LiveClient } from "./live-client.ts";
import type { ServerProcess } from "./server-process.ts";

export interface WatchedSession {
  view(): SessionView;
  /** Text of the answer that streams now. */
  streaming(): string;
  /** Types of all frames so far. */
  types(): string[];
  until(holds: (view: SessionView) => boolean): Promise<void>;
  /** Called with each frame, in order. */
  onFrame(listener: (type: string, data: Record<string, unknown>) => void): void;
  close(): void;
}

export async function watchSession(server: ServerProcess, session = "main"): Promise<WatchedSession> {
  const client = await new LiveClient(server.url, { key: server.key }).open();
  client.say({ op: "watch", topic: `session:probe/${session}` });
  await client.until(() => client.frames.length > 0);
  const listeners: ((type: string, data: Record<string, unknown>) => void)[] = [];
  let folded: { view: SessionView | null; last: number } = { view: null, last: -1 };
  let taken = 0;
  const take = (): SessionView => {
    for (const frame of client.frames.slice(taken)) {
      folded = apply(folded.view, folded.last, frame);
      taken += 1;
      for (const listener of listeners) listener(frame.type, frame.data as Record<string, unknown>);
    }
    return folded.view as SessionView;
  };
  client.socket.on("message", () => void take());
  take();
  return {
    view: take,
    streaming: () => take().active?.blocks.findLast((block) => block.kind === "text")?.text ?? "",
    types: () => client.frames.map((frame) => frame.type),
    until: (holds) => client.until(() => holds(take())),
    onFrame: (listener) => void listeners.push(listener),
    close: () => client.socket.close(),
  };
}
