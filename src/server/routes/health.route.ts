/** Open to all: that it lives, and which version it is. */
import { ok, route, type Route } from "../route.ts";

export const healthRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/healthz",
    summary: "That the server answers, and whether its disk takes commits.",
    open: true,
    answers: "200 `{ok, store, draining}`",
    run: (_, { handles }) => {
      const { store, draining } = handles.watch.server();
      return ok({ ok: store.state === "ok" && !draining, store: store.state, draining });
    },
  }),
  route({
    method: "GET",
    path: "/version",
    summary: "Version and start of this server.",
    open: true,
    answers: "200 `{name, version, epoch, startedAt}`",
    run: (_, { handles }) => ok({ name: "somora", ...handles.version }),
  }),
];
