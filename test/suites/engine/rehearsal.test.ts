import { describe, expect, it } from "vitest";
import { createRehearsalEngine } from "../../../src/engines/rehearsal/index.ts";
import { modelOf, realClock, requestOf, run } from "./engine-bench.ts";
import { engineSuite } from "./engine.suite.ts";

function inProcess() {
  const scripts = new Map<string, string>();
  const waiting: (() => void)[] = [];
  const engine = createRehearsalEngine({
    clock: realClock,
    readScript: (name) => {
      for (const tell of waiting.splice(0)) setImmediate(tell);
      return Promise.resolve(scripts.has(name) ? { text: scripts.get(name) ?? "", file: `rehearsals/${name}.yaml` } : null);
    },
  });
  return {
    engine,
    model(script: string) {
      const id = `s${scripts.size}`;
      scripts.set(id, script);
      return modelOf(id, { engine: "rehearsal", rehearsal: true });
    },
    asked: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    close: () => Promise.resolve(),
    openSockets: () => 0,
  };
}

engineSuite("rehearsal", () => Promise.resolve(inProcess()));

describe("the rehearsal engine", () => {
  it("refuses an invalid script with its file and line", async () => {
    const under = inProcess();
    const { error } = await run(under.engine, requestOf(under.model("rehearsal: 1\nabout: x\nturns: 7\n"), "go"));
    expect(error).toMatchObject({ code: "REHEARSAL_INVALID", retryable: false });
    expect(error?.message).toContain("rehearsals/s0.yaml:3:");
  });

  it("refuses a name without a file", async () => {
    const { error } = await run(inProcess().engine, requestOf(modelOf("nobody"), "go"));
    expect(error?.code).toBe("MODEL_UNKNOWN");
  });

  it("says when a script has nothing to answer", async () => {
    const under = inProcess();
    const { error } = await run(
      under.engine,
      requestOf(under.model("rehearsal: 1\nabout: x\nturns: [{ when: { text: only this }, rounds: [{ say: x }] }]\n"), "go"),
    );
    expect(error?.code).toBe("REHEARSAL_NO_ANSWER");
  });

  it("streams at the pace of the script", async () => {
    const under = inProcess();
    const began = performance.now();
    await run(
      under.engine,
      requestOf(under.model("rehearsal: 1\nabout: x\npace: 50\nturns: [{ rounds: [{ say: a b c d e f g h i j k }] }]\n"), "go"),
    );
    expect(performance.now() - began).toBeGreaterThan(180);
  });
});
