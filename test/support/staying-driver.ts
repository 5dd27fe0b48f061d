/**
 * A driver that outlives the kernel that asked it: its work goes on while no kernel is there, and the next one attaches to it.
 * So a kernel can be replaced alone. What the work says meanwhile waits for the next kernel.
 */
import type { Driver, DriverContext, Fact, Outcome, Recovery } from "../../src/ports/driver.port.ts";

interface Work {
  context: DriverContext;
  controller: AbortController;
  outcome: Promise<Outcome>;
  /** Not yet on disk: told again to the next kernel. */
  facts: Map<Fact, () => void>;
}

export class StayingDriver implements Driver {
  readonly name: string;
  #inner: Driver;
  readonly #works = new Map<string, Work>();
  /** While true an abort comes from a kernel that dies, not from one that wants it. */
  static dying = false;

  constructor(inner: Driver) {
    this.name = inner.name;
    this.#inner = inner;
  }

  /** The next kernel's own driver: new work runs on it. */
  over(inner: Driver): void {
    this.#inner = inner;
  }

  perform(request: Parameters<Driver["perform"]>[0], context: DriverContext): Promise<Outcome> {
    const work: Work = { context, controller: new AbortController(), outcome: Promise.resolve({ status: "done" }), facts: new Map() };
    this.#works.set(context.key, work);
    this.#attach(work, context);
    work.outcome = this.#inner.perform(request, {
      key: context.key,
      address: context.address,
      attempt: context.attempt,
      signal: work.controller.signal,
      fact: (fact) =>
        new Promise<void>((resolve) => {
          work.facts.set(fact, resolve);
          tell(work, fact);
        }),
      live: (topic, type, data) => work.context.live(topic, type, data),
      onTell: (listener) => work.context.onTell(listener),
    });
    return work.outcome;
  }

  async recover(_request: object, context: DriverContext & { takenBack: boolean }): Promise<Recovery> {
    const work = this.#works.get(context.key);
    if (!work) return { kind: "not-started" };
    this.#attach(work, context);
    if (context.takenBack) {
      work.controller.abort();
      return { kind: "done", outcome: await work.outcome };
    }
    return { kind: "running", outcome: work.outcome };
  }

  #attach(work: Work, context: DriverContext): void {
    work.context = context;
    const abort = (): void => {
      if (!StayingDriver.dying) work.controller.abort();
    };
    if (context.signal.aborted) abort();
    else context.signal.addEventListener("abort", abort, { once: true });
    for (const fact of work.facts.keys()) tell(work, fact);
  }
}

function tell(work: Work, fact: Fact): void {
  void work.context.fact(fact).then(() => {
    work.facts.get(fact)?.();
    work.facts.delete(fact);
  });
}
