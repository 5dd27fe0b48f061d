/** Models and where they come from. */
import { z } from "zod";
import { agentField } from "../fields.ts";
import { created, ok, route, type Route } from "../route.ts";

export const modelRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/models",
    summary: "All configured models; rehearsals are marked.",
    answers: "200 `{models}`",
    run: (_, { handles }) => ok({ models: handles.models.list() }),
  }),
  route({
    method: "GET",
    path: "/models/found",
    summary: "Look for model servers on this machine and for keys in the environment (names only).",
    answers: "200 `{servers, keys}`",
    run: async (_, { handles }) => ok(await handles.models.find()),
  }),
  route({
    method: "POST",
    path: "/models/test",
    summary: "Send one real message to a model; says which model answered.",
    body: z.strictObject({ model: z.string().min(1).max(300) }),
    answers: "200 `{ok, model?, text?, ms, error?}`",
    refuses: ["MODEL_UNKNOWN"],
    run: async ({ body }, { handles }) => ok(await handles.models.test(body.model)),
  }),
  route({
    method: "POST",
    path: "/providers",
    summary: "Connect a model server: written to config.yaml with its comments kept, the key to somora.env.",
    body: z.strictObject({
      baseUrl: z.url({ protocol: /^https?$/, error: "a web address that begins with http:// or https://" }).max(2_000),
      name: z
        .string()
        .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "letters, digits, `_`, `.`, `-`")
        .max(100)
        .optional(),
      models: z.array(z.string().min(1).max(300)).max(500).optional(),
      keyEnv: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of a variable")
        .max(100)
        .optional(),
      key: z.string().min(1).max(10_000).optional(),
      agent: agentField.optional(),
    }),
    answers: "201 `{provider, refs, agent?}`",
    refuses: ["CONFIG_INVALID", "PROVIDER_UNREACHABLE", "PROVIDER_REFUSED_KEY", "PROVIDER_NOT_JSON", "AGENT_UNKNOWN"],
    run: async ({ body }, { handles }) => {
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as { baseUrl: string };
      return created(await handles.models.addProvider(given));
    },
  }),
];
