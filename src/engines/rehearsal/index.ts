export { createRehearsalEngine, type RehearsalParts } from "./rehearsal.engine.ts";
export { readScript } from "./read-script.ts";
export type { Script, ScriptExpectation } from "./script.schema.ts";
export { createRehearsalServer, type RehearsalServer, type RehearsalServerParts, type ServedRequest } from "./http-server.ts";
