/** Group C: the soft stop, the hard one after the limit, and children that end by themselves meanwhile. */
import { describe, expect, it } from "vitest";
import type { ChildSpec } from "../../../src/protocol/effects.ts";
import { Otp } from "../../support/otp-world.ts";

/** A supervisor that goes for good when it is stopped, with children that work and do not listen. */
async function stubborn(children: Record<string, Partial<ChildSpec>>): Promise<Otp> {
  const world = await Otp.open({ sup: { restart: "transient", past: "fail", shutdown: "infinity" }, children });
  world.hand.stubborn = true;
  for (const name of Object.keys(children)) await world.tell(name, { type: "work", what: name });
  return world;
}
const end = (world: Otp, who: string): void => world.jobs(who).forEach((job) => job.end({ status: "aborted" }));

describe("group C, stopping", () => {
  // With `infinity` the supervisor waits for as long as the child takes.
  it("sup_stop_infinity: with shutdown infinity a stop waits as long as it takes and gives up nobody", async () => {
    const world = await stubborn({ a: { shutdown: "infinity" }, b: { shutdown: "infinity" } });
    await world.stop("");
    await world.advance(3_600_000);
    expect([world.status("a"), world.status("b"), world.kernel.lost().length]).toEqual(["stopping", "stopping", 0]);
    end(world, "a");
    end(world, "b");
    await world.settle();
    expect(world.downs("/")).toMatchObject([{ name: "sup", kind: "stopped", by: "shutdown" }]);
  });

  // A child that is not down after its 1,000 ms is killed. Here it is its work that is given up, named, and watched until it is gone.
  it("sup_stop_timeout: what does not end within its limit is given up by name, the rest ends softly", async () => {
    const world = await stubborn({ a: { shutdown: 1000 }, b: { shutdown: 1000 } });
    await world.stop("");
    end(world, "a");
    await world.advance(999);
    expect(world.names()).toEqual(["b"]);
    await world.advance(1);
    expect(world.has("")).toBe(false);
    expect(world.kernel.lost().map(({ address }) => address)).toEqual(["/sup/b"]);
    expect(world.kernel.tombstone("/sup" as never)?.lost).toEqual([{ pid: 0, command: "hand (job)" }]);
  });

  // The same for children of a simple_one_for_one supervisor.
  it("sup_stop_timeout_dynamic: the limit holds for each of many children of one kind, side by side", async () => {
    const world = await stubborn({});
    const names = [..."abcdef"];
    for (const name of names) {
      await world.start({ name, spec: "permanent" });
      await world.tell(name, { type: "work" });
    }
    await world.stop("");
    names.slice(0, 3).forEach((name) => end(world, name));
    await world.advance(1000);
    expect(world.has("")).toBe(false);
    expect(world.kernel.lost()).toHaveLength(3);
  });

  // brutal_kill: the child is not asked at all.
  it("sup_stop_brutal_kill: with shutdown brutal nothing is waited for", async () => {
    const world = await stubborn({ a: { shutdown: 1000 }, b: { shutdown: "brutal" } });
    await world.stop("");
    await world.advance(0);
    expect([world.has("a"), world.has("b")]).toEqual([true, false]);
    end(world, "a");
    await world.settle();
    expect(world.kernel.lost().map(({ address }) => address)).toEqual(["/sup/b"]);
  });

  // The same for dynamic children.
  it("sup_stop_brutal_kill_dynamic: nor for many children of one kind", async () => {
    const world = await Otp.open({ sup: { restart: "transient", past: "fail" }, specs: { brute: { shutdown: "brutal" } } });
    world.hand.stubborn = true;
    for (const name of "abcd") {
      await world.start({ name, spec: "brute" });
      await world.tell(name, { type: "work" });
    }
    await world.stop("");
    await world.advance(0);
    expect(world.has("")).toBe(false);
    expect(world.kernel.lost()).toHaveLength(4);
  });

  // Children of each restart kind end by themselves, each in its own way, while the supervisor stops: the stop is through, each
  // has its own reason, nobody is restarted. K6: a stop only hastens the end of one that has already ended.
  it("sup_stop_race: children that had ended by themselves keep their own reason under a stop, and nobody comes back", async () => {
    const world = await stubborn({ slow: {} });
    const kinds = ["permanent", "transient", "temporary"];
    for (const spec of kinds) {
      await world.start({ name: spec, spec }, { name: `${spec}-own`, spec });
      for (const name of [spec, `${spec}-own`]) await world.tell(name, { type: "work" });
      // Its work still runs, so it is not down yet.
      await world.finish(`${spec}-own`);
    }
    await world.stop("");
    expect(world.names()).toHaveLength(7);
    for (const job of world.jobs()) job.end({ status: "aborted" });
    await world.settle();
    expect(world.has("")).toBe(false);
    for (const spec of kinds) {
      expect(world.kernel.tombstone(`/sup/${spec}` as never)?.reason).toMatchObject({ kind: "stopped", stop: { by: "shutdown" } });
      expect(world.kernel.tombstone(`/sup/${spec}-own` as never)?.reason).toEqual({ kind: "normal" });
      expect(world.lives(`${spec}-own`)).toBe(1);
    }
  });

  // A child that dies of another reason while it is being stopped is reported with that reason, and the stop is through.
  it("sup_stop_non_shutdown_exit_dynamic: one that crashes while it is stopped is down as crashed, and the stop is through", async () => {
    const kinds = ["permanent", "transient", "temporary"];
    const world = await stubborn({});
    for (const spec of kinds) {
      for (const name of [spec, `${spec}-faulty`]) {
        await world.start({ name, spec });
        await world.tell(name, { type: "work" });
      }
    }
    await world.stop("");
    // An outcome is what a stopped one still hears; this chart throws on it.
    for (const spec of kinds) world.jobs(`${spec}-faulty`)[0]?.end({ status: "failed", error: { code: "X", message: "x" } });
    for (const spec of kinds) world.jobs(spec)[0]?.end({ status: "aborted" });
    await world.settle();
    expect(world.has("")).toBe(false);
    for (const spec of kinds) {
      expect(world.kernel.tombstone(`/sup/${spec}` as never)?.reason).toMatchObject({ kind: "stopped" });
      expect(world.kernel.tombstone(`/sup/${spec}-faulty` as never)?.reason).toMatchObject({ kind: "crash" });
      expect(world.lives(`${spec}-faulty`)).toBe(1);
    }
  });
});
