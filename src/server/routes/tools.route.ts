/** Tools: what there is, what an agent is offered, one call without a model, a change put back. */
import { z } from "zod";
import { agentField, sessionField } from "../fields.ts";
import { ok, route, type Route } from "../route.ts";

export const toolRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/tools",
    summary: "All tools.",
    answers: "200 `{tools: [{name, toolset, description, inputSchema, maxResultSizeChars}]}`",
    run: (_, { handles }) => ok({ tools: handles.tools.all() }),
  }),
  route({
    method: "GET",
    path: "/agents/:agent/tools",
    summary: "All tools, with whether this agent is offered each.",
    params: { agent: agentField },
    answers: "200 `{tools}`",
    refuses: ["AGENT_UNKNOWN"],
    run: ({ params }, { handles }) => ok({ tools: handles.tools.offered(params.agent) }),
  }),
  route({
    method: "POST",
    path: "/agents/:agent/tools/:tool",
    summary: "Run one tool as this agent, without a model.",
    params: { agent: agentField, tool: z.string().min(1).max(200) },
    body: z.strictObject({ input: z.json().default({}), session: sessionField.optional() }),
    answers: "200 `{ok: true, data}` or `{ok: false, error}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN", "TOOL_UNKNOWN", "TOOL_DENIED", "TOOL_INPUT_INVALID"],
    run: async ({ params, body: { input, session } }, { handles }) =>
      ok(await handles.tools.call(params.agent, params.tool, session === undefined ? { input } : { input, session })),
  }),
  route({
    method: "POST",
    path: "/agents/:agent/changes/:change/undo",
    summary: "Put a changed file back as it was; refused when it changed since.",
    params: { agent: agentField, change: z.string().min(1).max(200) },
    answers: "200 `{ok: true, data: {path}}`",
    refuses: ["AGENT_UNKNOWN", "CHANGE_UNKNOWN", "FILE_CHANGED"],
    run: async ({ params }, { handles }) => ok({ ok: true, data: await handles.tools.undo(params.agent, params.change) }),
  }),
];
