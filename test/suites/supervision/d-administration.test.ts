/** Group D: starting, stopping, counting children by hand, and the flags of a supervisor. */
import { describe, expect, it } from "vitest";
import type { ChildSpec } from "../../../src/protocol/effects.ts";
import { faultOf } from "../../../src/actors/kernel/specs.ts";
import { at, Otp, otpSpecs } from "../../support/otp-world.ts";

const good = otpSpecs["permanent"] as ChildSpec;

describe("group D, administration", () => {
  // Start, stop, start again, delete, in each order: what is there already is refused, what is not there is said to be unknown.
  // Here stopping a permanent child suspends it; `remove` is terminate and delete in one, and the address is free again.
  it("child_adm: a taken address is refused, an unknown one unknown, a removed child is started anew with a new birth", async () => {
    const world = await Otp.open({ children: { a: {} } });
    const first = world.birth("a");
    await expect(world.ask("", { type: "start", children: [{ name: "a" }] })).rejects.toMatchObject({
      code: "CRASHED",
      message: expect.stringContaining("/sup/a, which is taken"),
    });
    await expect(world.kernel.stop(at("nobody"), { by: "user" })).rejects.toMatchObject({ code: "ACTOR_UNKNOWN" });
    expect(() => world.kernel.resume(at("nobody"))).toThrow(/no actor/);
    expect(world.kernel.resume(at("a"))).toBe(false);
    await world.stop("a", "user", true);
    expect([world.names(), world.kernel.tombstone(at("a"))?.reason.kind]).toEqual([[], "stopped"]);
    await world.start({ name: "a" });
    expect(world.names()).toEqual(["a"]);
    expect(world.birth("a")).not.toBe(first);
  });

  // Of a simple_one_for_one supervisor only processes that are its children can be terminated, again and again without harm.
  it("child_adm_simple: one of many can be stopped, twice without harm, and nobody else is touched", async () => {
    const world = await Otp.open();
    await world.start({ name: "c1", spec: "transient" });
    await world.start({ name: "c2", spec: "transient" });
    await world.tell("", { type: "halt", who: "/sup/c1" });
    expect(world.names()).toEqual(["c2"]);
    await world.tell("", { type: "halt", who: "/sup/c1" });
    await world.tell("", { type: "halt", who: "/elsewhere" });
    expect([world.names(), world.status(""), world.lives("c2")]).toEqual([["c2"], "live", 1]);
  });

  // Child specs as tuples: every wrong part is refused with its own reason; all right combinations pass; one id twice is refused.
  it("child_specs: every combination that makes sense passes, and one name twice in a step starts nobody", async () => {
    for (const restart of ["permanent", "transient", "temporary"] as const)
      for (const shutdown of [0, 1000, "infinity", "brutal"] as const)
        for (const identity of ["keep", "fresh"] as const) expect(faultOf({ ...good, restart, shutdown, identity })).toBeNull();
    expect(faultOf({ ...good, restart: "prmanent" as never })).toMatch(/^restart is "prmanent"; it is one of permanent/);
    expect(faultOf({ ...good, shutdown: -10 })).toMatch(/^shutdown is -10/);
    const world = await Otp.open();
    await world.start({ name: "twin" }, { name: "twin" });
    expect([world.names(), world.kernel.stats().crashes]).toEqual([[], 1]);
  });

  // The same as maps, with `significant`: not with permanent, and not where no shutdown with a child is meant.
  it("child_specs_map: significant is refused for permanent ones, and under who never ends with a child", async () => {
    expect(faultOf({ ...good, significant: true })).toMatch(/^significant is true with restart "permanent"/);
    for (const restart of ["transient", "temporary"] as const) expect(faultOf({ ...good, restart, significant: true })).toBeNull();
    const main = { restart: "transient", past: "fail", significant: true } as const;
    const never = await Otp.open({ specs: { main } });
    await never.start({ name: "m", spec: "main" });
    expect([never.names(), never.kernel.stats().crashes]).toEqual([[], 1]);
    const any = await Otp.open({ sup: { autoShutdown: "any_significant" }, specs: { main } });
    await any.start({ name: "m", spec: "main" });
    expect(any.names()).toEqual(["m"]);
  });

  // Wrong flags of a supervisor are refused: strategy, intensity, period. Erlang lets unknown flags pass; here they are refused.
  it("sup_flags: an unknown strategy, an endless intensity and a period of nothing are refused", () => {
    expect(faultOf({ ...good, strategy: "none_for_one" as never })).toMatch(/^strategy is "none_for_one"/);
    expect(faultOf({ ...good, autoShutdown: "sometimes" as never })).toMatch(/^autoShutdown is "sometimes"/);
    expect(faultOf({ ...good, intensity: Infinity })).toMatch(/^intensity/);
    expect(faultOf({ ...good, intensity: -1 })).toMatch(/^intensity is -1/);
    expect(faultOf({ ...good, periodMs: 0 })).toMatch(/^periodMs is 0/);
    expect(faultOf({ ...good, periodMs: Infinity })).toMatch(/^periodMs/);
    for (const strategy of ["one_for_one", "one_for_all", "rest_for_one"] as const) expect(faultOf({ ...good, strategy })).toBeNull();
  });

  // Many crashes one after the other, never too many within the period: the child lives on.
  it("multiple_restarts: crashes that are far enough apart never use up the intensity, over restarts of the server, too", async () => {
    const world = await Otp.open({ children: { a: { intensity: 1, periodMs: 1000 } } });
    for (let n = 0; n < 5; n += 1) {
      await world.crash("a");
      expect(world.status("a")).toBe("live");
      await world.advance(1000);
      if (n === 2) await world.replace();
    }
    expect(world.lives("a")).toBe(6);
    await world.crash("a");
    await world.crash("a");
    expect(world.status("a")).toBe("parked");
  });

  // 1,000 temporary children, then 1,000 more: counted right, twice the same; all killed: none left.
  it("count_children: the number of children is right while they come and go", async () => {
    const world = await Otp.open();
    const many = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => ({ name: `c${from + n}`, spec: "temporary", watch: false }));
    await world.start(...many(0, 1000));
    expect(world.names()).toHaveLength(1000);
    await world.start(...many(1000, 2000));
    expect(world.names()).toHaveLength(2000);
    for (const name of world.names()) world.kernel.tell(at(name), { type: "crash" });
    await world.settle();
    expect(world.names()).toEqual([]);
  });

  // The same when the children are supervisors.
  it("count_children_supervisor: children that are supervisors count once, whatever is below them", async () => {
    const world = await Otp.open();
    const input = { children: [{ name: "x" }, { name: "y" }] } as never;
    await world.start(...Array.from({ length: 50 }, (_, n) => ({ name: `s${n}`, input })));
    expect(world.names()).toHaveLength(50);
    expect([...world.kernel.addresses("/sup" as never)]).toHaveLength(151);
  });

  // Of three children two do not come back while their starts fail: one is active, three count; later three are active again.
  it("count_restarting_children: one that waits for its restart counts as a child, is shown as restarting, and can be stopped", async () => {
    const backoffMs = { first: 1000, most: 8000 };
    const world = await Otp.open({ children: { a: { backoffMs }, b: { backoffMs }, c: { backoffMs } } });
    world.failStarts("a", 1);
    await world.crash("a");
    await world.crash("b");
    const counts = (): string[] => ["a", "b", "c"].map((name) => world.status(name));
    expect([world.names(), counts()]).toEqual([
      ["a", "b", "c"],
      ["restarting", "restarting", "live"],
    ]);
    await world.advance(1000);
    expect(counts()).toEqual(["restarting", "live", "live"]);
    await world.replace();
    await world.advance(1999);
    expect(counts()).toEqual(["restarting", "live", "live"]);
    await world.advance(1);
    expect(counts()).toEqual(["live", "live", "live"]);
    await world.crash("c");
    await world.stop("c", "user", true);
    expect(world.names()).toEqual(["a", "b"]);
    await world.advance(60_000);
    expect(world.names()).toEqual(["a", "b"]);
  });

  // Who the children are, of which spec, alive or not.
  it("which_children: children are told in start order with birth, spec and state", async () => {
    const world = await Otp.open({ children: { a: {}, b: { restart: "transient", past: "fail" }, c: {} } });
    await world.crash("a");
    const children = world.kernel.children("/sup" as never);
    expect(children.map(({ address, status, kind, spec, restarts }) => [address, status, kind, spec.restart, restarts])).toEqual([
      ["/sup/a", "live", "member", "permanent", 1],
      ["/sup/b", "live", "member", "transient", 0],
      ["/sup/c", "live", "member", "permanent", 0],
    ]);
    expect(children.map(({ birth }) => birth)).toEqual([world.birth("a"), world.birth("b"), world.birth("c")]);
    await world.replace();
    expect(world.names()).toEqual(["a", "b", "c"]);
    expect(world.kernel.children("/nobody" as never)).toEqual([]);
  });

  // Many dynamic children, some of which end: the list holds who lives.
  it("which_children_simple_one_for_one: of many of one kind exactly those that live are told", async () => {
    const world = await Otp.open();
    await world.start(...Array.from({ length: 20 }, (_, n) => ({ name: `c${n}`, spec: "transient" })));
    for (let n = 0; n < 20; n += 2) await world.finish(`c${n}`);
    expect(world.names()).toEqual(Array.from({ length: 10 }, (_, n) => `c${n * 2 + 1}`));
  });

  // A child that was started by somebody else already is not started twice: its supervisor gets an error and goes on.
  it("already_started_outside_supervisor: an address somebody else has filled is refused, the spawner's step undone", async () => {
    const world = await Otp.open({ children: { a: {} } });
    await world.tell("/", { type: "start", children: [{ name: "sup/b", spec: "transient" }] });
    expect(world.names()).toEqual(["a", "b"]);
    const birth = world.birth("b");
    await expect(world.ask("", { type: "start", children: [{ name: "c" }, { name: "b" }] })).rejects.toMatchObject({ code: "CRASHED" });
    // Its supervisor is of the fresh kind here, so it started anew with the children it always starts with; `c` never came to be.
    expect([world.births().includes("c"), world.birth("b") === birth]).toEqual([false, false]);
    expect(world.names()).toEqual(["a"]);
  });
});
