/**
 * What is not the server's: models, tools and foreign processes. It is slow, fails, repeats what it said, says it late, ignores a
 * stop, and dies; it remembers what it did, like a disk and a model server would, and outlives every run of the server.
 */
import type { Driver, DriverContext, Outcome, Recovery } from "../ports/driver.port.ts";
import type { Journal } from "../ports/journal.port.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Oracle } from "./oracle/oracle.ts";
import { Random } from "./random.ts";
import type { Timeline } from "./timeline.ts";

interface Work {
  key: string;
  /** A process of its own: it goes on when the server dies. */
  survives: boolean;
  outcome: Outcome | null;
  /** Told when it ends. */
  ends: ((outcome: Outcome) => void)[];
  /** What it would have said; null when nobody would know of it after a crash. */
  unheard: (() => Outcome) | null;
}

/** What the outside needs to know of the run of the server that asks. */
export interface Asker {
  alive(): boolean;
  /** True: it died at this very moment. */
  begins(): boolean;
  recovers(): boolean;
}

export interface OutsideOptions {
  timeline: Timeline;
  oracle: Oracle;
  story(line: string): void;
}

const SLOW_RECOVERY_MS = 11_000;

export class Outside {
  readonly #timeline: Timeline;
  readonly #oracle: Oracle;
  readonly #story: (line: string) => void;
  readonly #random: Random;
  readonly #works = new Map<string, Work>();
  /** Everything answers at once, honestly and once. */
  healed = false;
  begun = 0;
  #spent = 0;

  constructor(seed: string, { timeline, oracle, story }: OutsideOptions) {
    this.#timeline = timeline;
    this.#oracle = oracle;
    this.#story = story;
    this.#random = new Random(`${seed} outside`);
  }

  /** The server died: what was its own died with it; half of that had done its act in full, without anybody knowing. */
  serverDied(): void {
    for (const work of this.#works.values()) {
      if (work.outcome !== null) {
        this.#oracle.promises.running.delete(work.key);
        continue;
      }
      work.ends = [];
      if (work.survives) continue;
      this.#oracle.promises.running.delete(work.key);
      if (work.unheard && this.#random.chance(0.35)) work.outcome = work.unheard();
    }
  }

  drivers(journal: Journal, asker: Asker): Driver[] {
    const driver = (name: string, plan: (request: JsonObject, context: DriverContext) => Outcome): Driver => ({
      name,
      perform: (request, context) => this.#perform(name, request, context, asker, plan),
      recover: (_, context) => this.#recover(context, asker),
    });
    return [
      driver("prepare", (_, { key }) => ({ status: "done", value: { ...PREPARED, key } })),
      driver("engine", (request, context) => this.#round(request, context)),
      driver("tool", (_, { key }) => ({
        status: "done",
        value: { key, ok: true, summary: "ran" },
        payloads: [{ kind: "result", text: "{}" }],
      })),
      driver("act", (_, { key }) => ({ status: "done", value: { key } })),
      {
        name: "erase",
        perform: (request, context) =>
          this.#perform("erase", request, context, asker, ({ session }, { key }) => {
            void journal.erase(String(session));
            return { status: "done", value: { key } };
          }),
      },
    ];
  }

  #booking(): { note: string; booking: Outcome["booking"] & object } {
    this.#spent += 1;
    const note = `spent ${this.#spent}`;
    const usage = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    return { note, booking: { usage, costUsd: 0.01, model: "m", provider: "sim", note } };
  }

  #round(request: JsonObject, { key }: DriverContext): Outcome {
    const random = this.#random;
    const { note, booking } = this.#booking();
    const usage = { ...booking.usage };
    const wants =
      this.healed || request["forced"] === true || Number(request["round"]) > 3
        ? 0
        : random.weighted([
            [6, 0],
            [2, 1],
            [2, 2],
            [1, 3],
          ]);
    const calls = Array.from({ length: wants }, (_, index) => ({
      id: `c${index}`,
      tool: random.pick(["act", "look"]),
      about: "",
      payload: 1 + index,
      preview: null,
      broken: random.chance(0.04) ? { kind: "malformed", error: "not JSON" } : null,
      repeatable: random.chance(0.5),
      limitMs: 6_000,
    }));
    const value = {
      key,
      booked: note,
      blocks: [{ kind: "text", blockId: `b${note}`, payload: 0, size: 5 }],
      calls,
      finish: wants > 0 ? "tools" : random.chance(0.06) && !this.healed ? "cut" : "stop",
      usage,
      costUsd: 0.01,
      model: "m",
      notices: [],
    };
    const payloads = [{ kind: "answer", text: "words" }, ...calls.map(() => ({ kind: "arguments", text: "{}" }))];
    if (!this.healed && random.chance(0.08))
      return {
        status: "failed",
        value: null,
        error: {
          code: "PROVIDER_BUSY",
          message: "busy",
          details: { retryable: random.chance(0.7), retryAfterMs: random.whole(50, 3_000) },
        },
        booking,
      };
    return { status: "done", value: value as unknown as JsonObject, payloads, booking };
  }

  #perform(
    name: string,
    request: JsonObject,
    context: DriverContext,
    asker: Asker,
    plan: (request: JsonObject, context: DriverContext) => Outcome,
  ): Promise<Outcome> {
    const random = this.#random;
    const { key, signal } = context;
    this.begun += 1;
    this.#story(`outside: ${name} begins (${key}${context.attempt > 1 ? `, attempt ${context.attempt}` : ""})`);
    this.#oracle.begun({ key, address: context.address, attempt: context.attempt, repeatable: false, cleanup: false });
    if (!asker.alive()) return new Promise(() => {});
    const manner = this.healed
      ? "quick"
      : random.weighted([
          [60, "quick"],
          [14, "slow"],
          [7, "fails"],
          [5, "stubborn"],
          [3, "dies"],
          [6, "process"],
          [5, "facts"],
        ] as const);
    const repeats = this.healed
      ? 0
      : random.weighted([
          [75, 0],
          [17, 1],
          [8, 2],
        ]);
    const late = random.weighted([
      [3, 0],
      [2, random.whole(1, 40)],
      [2, random.whole(100, 2_500)],
    ]);
    const ms =
      manner === "stubborn"
        ? random.whole(6_000, 22_000)
        : manner === "slow" || manner === "process"
          ? random.whole(100, 3_000)
          : random.whole(0, 25);
    const work: Work = {
      key,
      survives: manner === "process" && name !== "engine",
      outcome: null,
      ends: [],
      unheard: name === "act" || name === "tool" ? () => plan(request, context) : null,
    };
    this.#works.set(key, work);
    const listeners: { done: (outcome: Outcome) => void; failed: (error: Error) => void }[] = [];
    let over = false;
    const say = (outcome: Outcome | Error): void => {
      for (const { done, failed } of listeners)
        if (outcome instanceof Error) failed(outcome);
        else done(outcome);
    };
    const end = (outcome: Outcome | Error): void => {
      if (over) return;
      over = true;
      work.outcome = outcome instanceof Error ? { status: "failed", error: { code: "INTERNAL", message: outcome.message } } : outcome;
      for (const told of work.ends.splice(0)) told(work.outcome);
      this.#oracle.promises.running.delete(key);
      if (!asker.alive()) return;
      say(outcome);
      // The lie: it says so again, and maybe late.
      for (let again = 0; again < repeats; again += 1)
        this.#timeline.after(late * (again + 1), () => {
          if (!asker.alive()) return;
          this.#story(`outside: ${key} says its outcome again`);
          say(outcome);
        });
    };
    const finish = (): void => {
      if (!asker.alive() && !work.survives) return;
      if (manner === "dies") return end(new Error("the driver broke"));
      if (manner === "fails" && name !== "engine" && name !== "erase")
        return end({ status: "failed", value: { key }, error: { code: "TOOL_FAILED", message: "no" } });
      end(plan(request, context));
    };
    this.#timeline.after(ms, finish);
    if (manner === "facts" && name === "engine") void this.#facts(context, asker);
    signal.addEventListener("abort", () => {
      if (manner === "stubborn" || !asker.alive()) return;
      this.#timeline.after(random.whole(0, 15), () => {
        if (asker.alive() || work.survives) end({ status: "aborted", value: null });
      });
    });
    if (signal.aborted) this.#timeline.after(0, () => end({ status: "aborted" }));
    if (asker.begins()) this.#story("outside: the server dies at this moment");
    return { then: (done: (outcome: Outcome) => void, failed: (error: Error) => void) => void listeners.push({ done, failed }) } as never;
  }

  async #facts(context: DriverContext, asker: Asker): Promise<void> {
    for (let block = 0; block < 2; block += 1) {
      if (!asker.alive() || context.signal.aborted) return;
      const { note, booking } = this.#booking();
      await context.fact({
        type: "text.stored",
        data: { blockId: `f${note}`, kind: "text" },
        payloads: [{ kind: "answer", text: "half" }],
        ...(block === 0 ? { booking } : {}),
      });
      // A fact of work that has spoken is let go, booked or not.
      if (asker.alive() && block === 0 && !this.#works.get(context.key)?.outcome) this.#oracle.promises.factOnDisk(note);
    }
  }

  #recover(context: DriverContext & { takenBack: boolean }, asker: Asker): Promise<Recovery> {
    const random = this.#random;
    const work = this.#works.get(context.key);
    return new Promise((resolve) => {
      const wait = !this.healed && random.chance(0.03) ? SLOW_RECOVERY_MS : random.whole(0, 8);
      this.#timeline.after(wait, () => {
        if (!asker.alive()) return;
        if (asker.recovers()) return this.#story("outside: the server dies while it looks what became of its work");
        resolve(this.#found(context, work, wait < SLOW_RECOVERY_MS));
      });
    });
  }

  #found({ key, takenBack }: DriverContext & { takenBack: boolean }, work: Work | undefined, inTime: boolean): Recovery {
    const running = work !== undefined && work.outcome === null && work.survives;
    if (!work) {
      this.#story(`outside: ${key} was never begun`);
      if (inTime) this.#oracle.promises.foundNotBegun(key);
      return { kind: "not-started" };
    }
    if (work.outcome) return { kind: "done", outcome: work.outcome };
    // Only an act leaves something that is known.
    const known: Recovery = work.unheard ? { kind: "unknown", value: { key } } : { kind: "unknown" };
    if (!running) return known;
    if (takenBack || !inTime) {
      // Ended for good before it is spoken of.
      work.survives = false;
      work.outcome = { status: "aborted" };
      this.#oracle.promises.running.delete(key);
      return known;
    }
    const then = (done: (outcome: Outcome) => void): void => {
      if (work.outcome === null) work.ends.push(done);
      else done(work.outcome);
    };
    return { kind: "running", outcome: { then } as never };
  }
}

const PREPARED = {
  provider: "sim",
  model: "m",
  ref: "sim/m",
  rehearsal: false,
  parallel: true,
  maxRounds: 6,
  maxCalls: 8,
  cwd: "/",
  resume: true,
};
