/** Group B: specs as maps, their defaults and their faults. */
import { describe, expect, it } from "vitest";
import type { ChildSpec } from "../../../src/protocol/effects.ts";
import { faultOf } from "../../../src/actors/kernel/specs.ts";
import { Otp, otpSpecs } from "../../support/otp-world.ts";

const good = otpSpecs["permanent"] as ChildSpec;

describe("group B, specs", () => {
  // A spec with only its id and start gets the defaults: permanent, 5 s, worker, and so on; the whole spec can be read back. Here
  // what a child is must be said, what a supervisor does has defaults: one for one, no end with children, no limit, no back-off.
  it("sup_start_map: what is not said about supervising means one for one, no shutdown with children, no wait", async () => {
    const world = await Otp.open({ children: { a: {}, b: {} } });
    expect(world.kernel.children("/sup" as never).map(({ spec }) => spec)).toEqual([good, good]);
    const birth = world.birth("b");
    await world.crash("a");
    expect([world.lives("a"), world.birth("b"), world.status("a")]).toEqual([2, birth, "live"]);
  });

  // The same for simple_one_for_one: all children are of the one spec.
  it("sup_start_map_simple: children of one spec all have it, whoever started them", async () => {
    const world = await Otp.open({ specs: { simple: { intensity: 7, restart: "transient", past: "fail" } } });
    await world.start({ name: "a", spec: "simple" });
    await world.start({ name: "b", spec: "simple" });
    expect(world.kernel.children("/sup" as never).map(({ spec }) => [spec.intensity, spec.restart])).toEqual([
      [7, "transient"],
      [7, "transient"],
    ]);
  });

  // Each wrong field gives an error of its own, and nothing starts. Here an unknown field is an error, too: Erlang lets it pass.
  it("sup_start_map_faulty_specs: each wrong field is refused by its name before anything starts", async () => {
    const faults: [Record<string, unknown>, RegExp][] = [
      [{ restart: undefined }, /^restart is undefined/],
      [{ identity: "new" }, /^identity is "new"/],
      [{ past: "explode" }, /^past is "explode"/],
      [{ backoffMs: { first: 0, most: 5 } }, /^backoffMs/],
      [{ backoffMs: { first: 10, most: 5 } }, /^backoffMs/],
      [{ maxChildren: -1 }, /^maxChildren is -1/],
      [{ identity: "keep", past: "climb" }, /^past is "climb" with identity "keep"/],
      [{ silly_flag: true }, /"silly_flag"/],
    ];
    for (const [over, words] of faults) {
      expect(faultOf({ ...good, ...over } as never)).toMatch(words);
      await expect(Otp.open({ specs: { wrong: over as never } })).rejects.toThrow(/^spec "wrong" is refused/);
    }
    expect(faultOf("child4" as never)).toMatch(/not a spec/);
    expect(faultOf(good)).toBeNull();
  });
});
