/** The everyday life of actors: commands, children, watches, work outside, stop, crash, restart. */
import { describe, expect, it } from "vitest";
import { HandDriver, openWorld, reopen } from "../../support/kernel-world.ts";

const A = "/a";

async function withChild(spec = "keeper") {
  const world = await openWorld();
  await world.ask("/", { type: "child", name: "a", spec });
  return world;
}

describe("a command", () => {
  it("is answered after its commit and survives a restart", async () => {
    const world = await withChild();
    expect(await world.ask(A, { type: "note", text: "one" })).toBe("one");
    const after = await reopen(world);
    expect((await after.state(A)).seen).toEqual(["one"]);
  });
  it("to nobody is refused with ACTOR_UNKNOWN", async () => {
    const world = await openWorld();
    await expect(world.ask("/nobody", { type: "note", text: "x" })).rejects.toMatchObject({ code: "ACTOR_UNKNOWN" });
  });
  it("of the kernel's own types is refused at the door", async () => {
    const world = await openWorld();
    await expect(world.ask("/", { type: "xstate.init" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  });
});

describe("a parent", () => {
  it("hears one down of a watched child, with its output, also over a restart", async () => {
    const world = await withChild("transient");
    await world.ask(A, { type: "note", text: "x" });
    world.kernel.tell(A as never, { type: "finish" });
    await world.time.settle();
    expect((await world.state("/")).downs).toEqual([{ address: A, reason: "normal", output: { seen: 1 } }]);
    expect((await (await reopen(world)).state("/")).downs).toHaveLength(1);
  });
  it("hears the down after the last message of the one that ended", async () => {
    const world = await withChild("transient");
    world.kernel.tell(A as never, { type: "forward", to: "/", event: { type: "mail", text: "last words" } });
    world.kernel.tell(A as never, { type: "finish" });
    await world.time.settle();
    const state = await world.state("/");
    expect(state.seen).toEqual(["last words"]);
    expect(state.downs).toHaveLength(1);
  });
  it("keeps 20 messages of one sender in order", async () => {
    const world = await withChild();
    for (let n = 0; n < 20; n += 1) world.kernel.tell(A as never, { type: "forward", to: "/", event: { type: "mail", text: String(n) } });
    await world.time.settle();
    expect((await world.state("/")).seen).toEqual([...Array(20).keys()].map(String));
  });
});

describe("an address", () => {
  it("left and taken again in one commit belongs to the new life after a restart", async () => {
    const world = await withChild();
    await world.ask(A, { type: "child", name: "c", spec: "transient" });
    // The stop ends the child; what waited for /a then makes another one in its place, in the same commit.
    void world.kernel.stop(A as never, { by: "user" });
    world.kernel.tell(A as never, { type: "child", name: "c", spec: "keeper" });
    await world.time.settle();
    const birth = world.kernel.committed("/a/c" as never)?.birth;
    expect(birth).toBeDefined();
    expect((await reopen(world)).kernel.committed("/a/c" as never)?.birth).toBe(birth);
  });
});

describe("a stop of one that is at its end already", () => {
  it("hastens that end and does not bring it back to idle: it goes down when its child's work lets go", async () => {
    const world = await withChild();
    world.hand.stubborn = true;
    await world.ask(A, { type: "child", name: "c", spec: "keeper" });
    await world.ask("/a/c", { type: "work" });
    world.kernel.tell(A as never, { type: "finish" });
    await world.time.settle();
    void world.kernel.stop(A as never, { by: "user" });
    await world.time.settle();
    world.hand.started[0]?.end({ status: "aborted" });
    await world.time.settle();
    expect(world.kernel.has("/a/c" as never)).toBe(false);
    expect(world.kernel.tombstone(A as never)?.reason).toEqual({ kind: "normal" });
  });
});

describe("parts", () => {
  it("come back as they were, dropped ones stay dropped", async () => {
    const world = await withChild();
    await world.ask(A, { type: "put", key: "x", value: 1 });
    await world.ask(A, { type: "put", key: "y", value: 2 });
    await world.ask(A, { type: "put", key: "x", value: 3 });
    const { items } = await (await reopen(world)).state(A);
    expect(items.sort()).toEqual([
      ["x", 3],
      ["y", 2],
    ]);
  });
});

describe("work outside", () => {
  it("starts only after its commit is on disk", async () => {
    let letGo = (): void => {};
    const gate = new Promise<"ok">((resolve) => {
      letGo = () => resolve("ok");
    });
    let hold = false;
    const world = await openWorld({ journal: { onAppend: () => (hold ? gate : "ok") } });
    hold = true;
    void world.ask("/", { type: "work", what: "x" });
    await world.time.settle();
    expect(world.hand.started).toHaveLength(0);
    letGo();
    await world.time.settle();
    expect(world.hand.started).toHaveLength(1);
  });
  it("gives one outcome; a second end of the driver changes nothing", async () => {
    const world = await withChild();
    await world.ask(A, { type: "work" });
    world.hand.started[0]?.end({ status: "done", value: 7 });
    await world.time.settle();
    world.hand.started[0]?.end({ status: "done", value: 8 });
    await world.time.settle();
    expect((await world.state(A)).result).toBe(7);
  });
  it("keeps the same key over a restart and counts the attempt when it is repeatable", async () => {
    const world = await withChild();
    await world.ask(A, { type: "work", repeatable: true });
    const after = await reopen(world);
    expect(after.hand.recovered).toEqual([{ key: world.hand.started[0]?.key, takenBack: false }]);
    expect(after.hand.started[0]).toMatchObject({ key: world.hand.started[0]?.key, attempt: 2 });
    expect((await after.state(A)).seen).toEqual(["resumed:restart"]);
  });
  it("of unknown outcome that is not repeatable is told as interrupted and not started again", async () => {
    const world = await withChild();
    await world.ask(A, { type: "work" });
    const hand = new HandDriver();
    hand.recovery = { kind: "unknown", value: "half" };
    const after = await reopen(world, { hand });
    expect(hand.started).toHaveLength(0);
    expect((await after.state(A)).result).toEqual({ interrupted: "half" });
  });
  it("found done after a restart is taken over", async () => {
    const world = await withChild();
    await world.ask(A, { type: "work" });
    const hand = new HandDriver();
    hand.recovery = { kind: "done", outcome: { status: "done", value: 42 } };
    expect((await (await reopen(world, { hand })).state(A)).result).toBe(42);
    expect(hand.started).toHaveLength(0);
  });
  it("whose outcome was committed is not asked about again", async () => {
    const world = await withChild();
    await world.ask(A, { type: "work" });
    world.hand.started[0]?.end({ status: "done", value: 7 });
    await world.time.settle();
    const after = await reopen(world);
    expect(after.hand.recovered).toEqual([]);
    expect((await after.state(A)).result).toBe(7);
  });
  it("taken back in the step before its release never starts", async () => {
    const world = await withChild();
    void world.ask(A, { type: "work" });
    void world.ask(A, { type: "cancel" });
    await world.time.settle();
    expect(world.hand.started).toHaveLength(0);
    expect((await world.state(A)).result).toEqual({ aborted: true, started: false });
  });
  it("taken back and killed before the release is asked about as taken back", async () => {
    let fault: "ok" | "lost" = "ok";
    const world = await openWorld({ journal: { onAppend: () => fault } });
    await world.ask("/", { type: "work", repeatable: true });
    fault = "lost";
    world.kernel.tell("/" as never, { type: "cancel" });
    await world.time.settle();
    // Written, but the writer never heard so: the abort reached nobody, and the process dies now.
    expect(world.hand.started[0]?.context.signal.aborted).toBe(false);
    const after = await reopen(world);
    expect(after.hand.recovered).toEqual([{ key: world.hand.started[0]?.key, takenBack: true }]);
    expect((await after.state("/")).result).toMatchObject({ aborted: true });
  });
});

describe("a timer", () => {
  it("fires once, also when the server was away at its time", async () => {
    const world = await withChild();
    await world.ask(A, { type: "sleep", ms: 5000 });
    const after = await reopen(world);
    await after.time.advance(4999);
    expect((await after.state(A)).seen).toEqual([]);
    await after.time.advance(1);
    expect((await after.state(A)).seen).toEqual(["woke"]);
    await after.time.advance(20_000);
    expect((await after.state(A)).seen).toEqual(["woke"]);
  });
  it("that was overdue at the start fires at once", async () => {
    const world = await withChild();
    await world.ask(A, { type: "sleep", ms: 5000 });
    world.kernel.close();
    await world.time.advance(60_000);
    const after = await openWorld({ journal: { from: [...world.journal.rows] }, time: world.time });
    await after.time.advance(0);
    expect((await after.state(A)).seen).toEqual(["woke"]);
  });
});

describe("a stop", () => {
  it("aborts the work below and says down only when it has ended", async () => {
    const world = await withChild("transient");
    await world.ask(A, { type: "work" });
    world.hand.stubborn = true;
    let stopped = false;
    const stopping = world.kernel.stop(A as never, { by: "user" }).then((report) => {
      stopped = true;
      return report;
    });
    expect(world.hand.started[0]?.context.signal.aborted).toBe(true);
    await world.time.settle();
    expect(stopped).toBe(false);
    world.hand.started[0]?.end({ status: "aborted" });
    await world.time.settle();
    expect((await stopping).lost).toEqual([]);
    expect((await world.state("/")).downs).toEqual([{ address: A, reason: "stopped", output: null }]);
  });
  it("past its deadline names what does not die and goes on", async () => {
    const world = await withChild("transient");
    await world.ask(A, { type: "work" });
    world.hand.stubborn = true;
    const stopping = world.kernel.stop(A as never, { by: "user" });
    await world.time.advance(1000);
    expect((await stopping).lost).toEqual([{ pid: 0, command: "hand (job)" }]);
    expect(world.kernel.lost()).toHaveLength(1);
    world.hand.started[0]?.end({ status: "aborted" });
    await world.time.settle();
    expect(world.kernel.lost()).toHaveLength(0);
  });
  it("of a permanent actor leaves it idle, ends what is below and says so to it", async () => {
    const world = await withChild();
    await world.ask(A, { type: "child", name: "b", spec: "transient" });
    await world.ask("/a/b", { type: "work" });
    const stopping = world.kernel.stop(A as never, { by: "user" });
    await world.time.settle();
    await stopping;
    const state = await world.state(A);
    expect(state.downs).toEqual([{ address: "/a/b", reason: "stopped", output: null }]);
    expect(state.seen).toEqual(["stopped"]);
    expect(world.kernel.committed(A as never)?.status).toBe("live");
  });
  it("under way goes on after a restart", async () => {
    const world = await withChild("transient");
    await world.ask(A, { type: "work", repeatable: true });
    world.hand.stubborn = true;
    void world.kernel.stop(A as never, { by: "user" });
    await world.time.settle();
    const after = await reopen(world);
    expect(after.hand.recovered[0]?.takenBack).toBe(true);
    expect(after.hand.started).toHaveLength(0);
    expect((await after.state("/")).downs).toEqual([{ address: A, reason: "stopped", output: null }]);
  });
  it("works while the disk stands still: the driver is aborted at once, the answer waits", async () => {
    let hang = false;
    const world = await openWorld({ journal: { onAppend: () => (hang ? "hang" : "ok") } });
    await world.ask("/", { type: "child", name: "a", spec: "transient" });
    await world.ask(A, { type: "work" });
    hang = true;
    const waiting = world.kernel.command("/" as never, { type: "note", text: "in the batch" });
    let settled = false;
    waiting.then(
      () => {
        settled = true;
      },
      () => {
        settled = true;
      },
    );
    await world.time.advance(2000);
    await expect(world.ask("/", { type: "note", text: "later" })).rejects.toMatchObject({ code: "STORE_STALLED" });
    void world.kernel.stop(A as never, { by: "user" });
    expect(world.hand.started[0]?.context.signal.aborted).toBe(true);
    await world.time.advance(10_000);
    expect(settled).toBe(false);
  });
  it("of root or a fixed supervisor is refused", async () => {
    const world = await openWorld();
    await expect(world.kernel.stop("/" as never, { by: "user" })).rejects.toMatchObject({ code: "ACTOR_FIXED" });
  });
});

describe("a poison event", () => {
  it("costs one crash: it is dropped, its door is told, the actor goes on and hears what was dropped", async () => {
    const world = await withChild();
    await world.ask(A, { type: "note", text: "before" });
    await expect(world.ask(A, { type: "poison" })).rejects.toMatchObject({ code: "CRASHED" });
    expect((await world.state(A)).seen).toEqual(["before", "resumed:crash"]);
    const after = await reopen(world);
    expect((await after.state(A)).seen).toEqual(["before", "resumed:crash"]);
  });
  it("past the intensity parks the actor with its reason; others go on; resume brings it back; a restart changes none of it", async () => {
    const world = await withChild();
    for (let n = 0; n < 4; n += 1) await world.ask(A, { type: "poison" }).catch(() => {});
    await expect(world.ask(A, { type: "read" })).rejects.toMatchObject({ code: "PARKED" });
    const after = await reopen(world);
    await expect(after.ask(A, { type: "read" })).rejects.toMatchObject({ code: "PARKED", message: expect.stringContaining("planted") });
    expect(await after.ask("/", { type: "note", text: "others go on" })).toBe("others go on");
    expect(after.kernel.resume(A as never)).toBe(true);
    await after.time.settle();
    expect((await after.state(A)).seen.filter((each) => each.startsWith("resumed"))).toHaveLength(4);
  });
  it("counts crashes over a restart of the server", async () => {
    const world = await withChild();
    for (let n = 0; n < 3; n += 1) await world.ask(A, { type: "poison" }).catch(() => {});
    const after = await reopen(world);
    await after.ask(A, { type: "poison" }).catch(() => {});
    await expect(after.ask(A, { type: "read" })).rejects.toMatchObject({ code: "PARKED" });
  });
  it("at a temporary actor ends it with reason crash", async () => {
    const world = await withChild("temporary");
    await world.ask(A, { type: "poison" }).catch(() => {});
    expect((await world.state("/")).downs).toEqual([{ address: A, reason: "crash", output: null }]);
  });
  it("at a fresh actor gives it a new birth and initial state, and its watcher a down", async () => {
    const world = await withChild("fresh");
    await world.ask(A, { type: "note", text: "old life" });
    await world.ask(A, { type: "work" });
    const birth = world.kernel.committed(A as never)?.birth;
    await world.ask(A, { type: "poison" }).catch(() => {});
    await world.time.settle();
    expect(world.hand.started[0]?.context.signal.aborted).toBe(true);
    expect((await world.state(A)).seen).toEqual([]);
    expect(world.kernel.committed(A as never)?.birth).not.toBe(birth);
    expect((await world.state("/")).downs).toHaveLength(1);
  });
});

describe("a journal", () => {
  it("that failed is asked again with the same batch, and nothing is lost or doubled", async () => {
    const faults: ("ok" | "lost" | Error)[] = [];
    const world = await openWorld({ journal: { onAppend: () => faults.shift() ?? "ok" } });
    faults.push(new Error("EIO"), "lost");
    const asked = world.kernel.command("/" as never, { type: "note", text: "once" });
    await world.time.advance(2000);
    expect(await asked).toBe("once");
    expect((await (await reopen(world)).state("/")).seen).toEqual(["once"]);
    expect(world.stalls.at(-1)).toBeNull();
  });
  it("owned by a newer epoch ends this kernel: nothing is released, drivers are aborted", async () => {
    const world = await openWorld();
    await world.ask("/", { type: "work" });
    const second = await openWorld({ journal: { from: world.journal } });
    void world.ask("/", { type: "note", text: "late" }).catch(() => {});
    await world.time.settle();
    expect(world.fatal[0]).toMatch(/^fenced/);
    expect(world.hand.started[0]?.context.signal.aborted).toBe(true);
    expect((await second.state("/")).seen).not.toContain("late");
  });
});

describe("history numbers", () => {
  it("go on after a restart without a gap or a repeat", async () => {
    const world = await withChild();
    await world.ask(A, { type: "record", text: "1" });
    await world.ask(A, { type: "record", text: "2" });
    const after = await reopen(world);
    await after.ask(A, { type: "record", text: "3" });
    const rows = await after.journal.reader.transcript(A, { limit: 10 });
    expect(rows.map((row) => JSON.parse(row.head).seq)).toEqual([1, 2, 3]);
  });
});
