import { describe, expect, it } from "vitest";
import { Link } from "./link.ts";
import { Notifier } from "./store.ts";
import type { Socket, Time } from "./surroundings.ts";
import { Topic } from "./topic.ts";

/** Time that only moves when told. */
function clock(): Time & { pass(ms: number): void } {
  let now = 1_000_000;
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    chance: () => 1,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
    pass(ms) {
      const end = now + ms;
      for (;;) {
        const next = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        now = next.at;
        next.run();
      }
      now = end;
    },
  };
}
function linked(): { link: Link; time: ReturnType<typeof clock>; sockets: (Socket & { said: string[]; closed: boolean })[] } {
  const time = clock();
  const sockets: (Socket & { said: string[]; closed: boolean })[] = [];
  const open = (): Socket => {
    const socket = {
      said: [] as string[],
      closed: false,
      send: (text: string) => void socket.said.push(text),
      close: () => void (socket.closed = true),
      onopen: null,
      onmessage: null,
      onclose: null,
    } as Socket & { said: string[]; closed: boolean };
    sockets.push(socket);
    return socket;
  };
  const link = new Link({ open, time, notifier: new Notifier((flush) => flush()) });
  return { link, time, sockets };
}

describe("a link that lost its server", () => {
  it("tries again after growing pauses, at most fifteen seconds apart, and says when", () => {
    const { link, time, sockets } = linked();
    link.start();
    const pauses: number[] = [];
    for (let at = 0; at < 9; at += 1) {
      sockets.at(-1)?.onclose?.();
      const { retryAt } = link.state.getSnapshot();
      pauses.push((retryAt ?? 0) - time.now());
      time.pass(pauses.at(-1) ?? 0);
    }
    expect(pauses).toEqual([400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000]);
    expect(sockets).toHaveLength(10);
  });
  it("tries at once when a person asks, and only once", () => {
    const { link, sockets } = linked();
    link.start();
    sockets[0]?.onclose?.();
    link.tryNow();
    link.tryNow();
    expect(sockets).toHaveLength(2);
    expect(link.state.getSnapshot().retryAt).toBeNull();
  });
  it("watches every topic again from the frame it stood at", () => {
    const { link, time, sockets } = linked();
    const topic = new Topic<number>("tree", (view) => view, new Notifier((flush) => flush()));
    link.start();
    link.watch(topic as Topic<unknown>);
    sockets[0]?.onopen?.();
    sockets[0]?.onmessage?.(JSON.stringify({ topic: "tree", seq: "3.7", at: 1, type: "snapshot", data: 1 }));
    sockets[0]?.onclose?.();
    time.pass(400);
    sockets[1]?.onopen?.();
    expect(sockets[1]?.said[0]).toBe(JSON.stringify({ op: "watch", topic: "tree", since: "3.7" }));
  });
});

describe("a link that only looks alive", () => {
  it("is found out when a ping gets no answer, soon after the tab woke", () => {
    const { link, time, sockets } = linked();
    link.start();
    sockets[0]?.onopen?.();
    time.pass(1);
    sockets[0]?.onmessage?.(JSON.stringify({ type: "pong" }));
    link.wake();
    time.pass(2_500);
    expect(sockets[0]?.closed).toBe(true);
    expect(link.state.getSnapshot().status).toBe("down");
  });
  it("asks for a snapshot when a frame is missing", () => {
    const { link, sockets } = linked();
    const topic = new Topic<number[]>("t", (view, frame) => [...view, frame.data as number], new Notifier((flush) => flush()));
    link.start();
    link.watch(topic as Topic<unknown>);
    sockets[0]?.onopen?.();
    const say = (frame: object): void => sockets[0]?.onmessage?.(JSON.stringify({ topic: "t", at: 1, ...frame }));
    say({ seq: "1.1", type: "snapshot", data: [] });
    say({ seq: "1.3", type: "x", data: 3 });
    say({ seq: "1.4", type: "x", data: 4 });
    expect(sockets[0]?.said.filter((text) => text.includes('"watch"'))).toEqual([
      JSON.stringify({ op: "watch", topic: "t" }),
      JSON.stringify({ op: "watch", topic: "t" }),
    ]);
    say({ seq: "1.4", type: "snapshot", data: [3, 4] });
    expect(topic.store.getSnapshot().view).toEqual([3, 4]);
  });
});
