/** The configuration in force and what is wrong with the files. */
import { ok, route, type Route } from "../route.ts";

export const configRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/config/status",
    summary: "Whether the files are valid, what is wrong, since when the version in force is.",
    answers: "200 `{valid, errors: [{file, line, key, value, allowed, near, message}], inForceSince}`",
    run: (_, { handles }) => ok(handles.config.status()),
  }),
  route({
    method: "POST",
    path: "/config/reload",
    summary: "Read config.yaml, somora.env and the agents again, now.",
    answers: "200 the same as `/config/status`",
    run: async (_, { handles }) => ok(await handles.config.reload()),
  }),
];
