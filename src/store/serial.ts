/** One thing after the other: a queue of async work on one connection. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all earlier work has ended, well or badly. A rejection reaches its own caller only. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.then(ignore, ignore);
    return result;
  }
}

function ignore(): void {}

/** Rejects with `failure()` when `work` has not settled after `ms`; the work itself goes on unseen. */
export async function withinLimit<Result>(work: Promise<Result>, ms: number, failure: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failure()), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
