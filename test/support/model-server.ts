/** A strict, counting model server in the test's own process: it goes on when the server under test dies. */
import { createRehearsalServer, type RehearsalServer } from "../../src/engines/rehearsal/http-server.ts";
import { systemClock } from "../../src/host/system-clock.ts";

export type ModelServer = RehearsalServer;

/** Plays one script as the model `probe`. Conversations that break P8 get 400. */
export function startModel(script: string): Promise<ModelServer> {
  return createRehearsalServer({
    readScript: (model) => Promise.resolve(model === "probe" ? { text: script, file: "probe.yaml" } : null),
    models: () => Promise.resolve(["probe"]),
    clock: systemClock,
    strict: true,
  });
}

/** Turn and effect that a request was made for, as its idempotency key tells. */
export function effectOf(request: { idempotencyKey: string | null }): string {
  return decodeURI(request.idempotencyKey ?? "");
}
