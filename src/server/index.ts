/** The door of the room. */
export { createApp, type App, type AppOptions } from "./app.ts";
export { createHub, type Hub, type HubOptions } from "./live/hub.ts";
export { listen, type Door, type ListenOptions } from "./listen.ts";
export { generationFile } from "./auth/generation-file.ts";
export { ROUTES } from "./routes/routes.ts";
export type { Route } from "./route.ts";
