/** Plays seeds of a bundled simulation in worker threads; one that never comes to an end is a verdict too. */
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const HUNG_MS = 60_000;

/**
 * Tells each result, in the order they come, to `told`, until that answers false. A result is what `simulate` gives, with its seed and
 * its coverage as a list.
 */
export async function playSeeds(url, seeds, { workers = 2, hungMs = HUNG_MS, told, ...options }) {
  const todo = seeds[Symbol.iterator]();
  let over = false;
  const work = async () => {
    let worker = null;
    for (let next = todo.next(); !next.done && !over; next = todo.next()) {
      worker ??= begin(url);
      const result = await ask(worker, { seed: String(next.value), options }, hungMs);
      if (result.hung) {
        await worker.terminate();
        worker = null;
      }
      if (!over && told(result) === false) over = true;
    }
    await worker?.terminate();
  };
  await Promise.all(Array.from({ length: workers }, work));
}

function begin(url) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { url } });
  // What it says after its first error is of no use, and must not end us.
  worker.on("error", () => undefined);
  return worker;
}

function ask(worker, question, hungMs) {
  return new Promise((resolve) => {
    const end = (result) => {
      clearTimeout(timer);
      worker.off("message", end);
      worker.off("error", onError);
      resolve(result);
    };
    const broken = (verdict) =>
      end({ seed: question.seed, verdict, hung: true, journalHash: "", steps: 0, commits: 0, crashes: 0, coverage: [], story: [] });
    const timer = setTimeout(() => broken(`progress: no end after ${hungMs / 1000} s`), hungMs);
    worker.once("message", end);
    const onError = (error) => broken(`it broke: ${error.message}`);
    worker.once("error", onError);
    worker.postMessage(question);
  });
}

if (!isMainThread && workerData?.url) {
  const { simulate } = await import(workerData.url);
  parentPort.on("message", async ({ seed, options }) => {
    const result = await simulate(seed, options);
    parentPort.postMessage({ ...result, seed, coverage: [...result.coverage] });
  });
}
