import { describe, expect, it } from "vitest";
import { Notifier } from "./store.ts";
import { Topic } from "./topic.ts";

const frame = (seq: string, data: unknown, type = "add"): { topic: string; seq: string; at: number; type: string; data: unknown } => ({
  topic: "t",
  seq,
  at: 1,
  type,
  data,
});
function topicAt(seq: string): Topic<number[]> {
  const topic = new Topic<number[]>("t", (view, next) => [...view, next.data as number], new Notifier((flush) => flush()));
  topic.receive(frame(seq, [], "snapshot"));
  return topic;
}

describe("a topic at frame 1.5", () => {
  it("applies the next frame and drops every frame it has", () => {
    const topic = topicAt("1.5");
    expect([topic.receive(frame("1.6", 6)), topic.receive(frame("1.6", 6)), topic.receive(frame("1.3", 3))]).toEqual([
      "applied",
      "repeated",
      "repeated",
    ]);
    expect(topic.store.getSnapshot()).toMatchObject({ view: [6], seq: "1.6" });
  });
  it("reports a gap and touches nothing", () => {
    const topic = topicAt("1.5");
    expect(topic.receive(frame("1.7", 7))).toBe("gap");
    expect(topic.store.getSnapshot()).toMatchObject({ view: [], seq: "1.5" });
  });
  it("reports a frame of another epoch as a gap and takes its snapshot, also with a smaller number", () => {
    const topic = topicAt("1.5");
    expect(topic.receive(frame("2.1", 1))).toBe("gap");
    expect(topic.receive(frame("2.1", [9], "snapshot"))).toBe("applied");
    expect(topic.store.getSnapshot()).toMatchObject({ view: [9], seq: "2.1" });
  });
  it("takes a newer snapshot of its own epoch and not an older one", () => {
    const topic = topicAt("1.5");
    expect(topic.receive(frame("1.4", [4], "snapshot"))).toBe("repeated");
    expect(topic.receive(frame("1.9", [9], "snapshot"))).toBe("applied");
    expect(topic.store.getSnapshot().view).toEqual([9]);
  });
  it("shows nothing of what is gone, and takes one of the same name that begins with smaller numbers", () => {
    const topic = topicAt("1.5");
    topic.receive(frame("1.6", 6));
    topic.refuse({ code: "TOPIC_UNKNOWN", message: "gone" });
    expect(topic.store.getSnapshot()).toMatchObject({ view: null, seq: null, refused: { code: "TOPIC_UNKNOWN" } });
    expect(topic.receive(frame("1.0", [], "snapshot"))).toBe("applied");
    expect(topic.receive(frame("1.1", 1))).toBe("applied");
    expect(topic.store.getSnapshot()).toMatchObject({ view: [1], refused: null });
  });
  it("waits for the snapshot after it forgot where it stood, with the old view still readable", () => {
    const topic = topicAt("1.5");
    topic.receive(frame("1.6", 6));
    topic.forget();
    expect(topic.receive(frame("1.8", 8))).toBe("repeated");
    expect(topic.store.getSnapshot()).toMatchObject({ view: [6], seq: null });
  });
});
