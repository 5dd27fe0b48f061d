/** Agents and their sessions. */
import { z } from "zod";
import { agentField, sessionField, titleField } from "../fields.ts";
import { created, nothing, ok, route, type Route } from "../route.ts";

const agentParams = { agent: agentField };
const sessionParams = { agent: agentField, session: sessionField };

export const agentRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/agents",
    summary: "All agents with their sessions.",
    answers: "200 `{agents}`",
    run: (_, { handles }) => ok({ agents: handles.team.agents() }),
  }),
  route({
    method: "POST",
    path: "/agents",
    summary: "Make an agent: a folder with AGENTS.md and agent.yaml.",
    body: z.strictObject({
      name: z.string().min(1).max(100),
      model: z.string().min(1).max(300).optional(),
      kind: z.enum(["chat", "builder"]).optional(),
      description: z.string().max(2_000).optional(),
    }),
    answers: "201 the agent",
    refuses: ["AGENT_NAME_INVALID", "AGENT_EXISTS", "MODEL_UNKNOWN"],
    run: async ({ body }, { handles }) => {
      const { name, model, kind, description } = body;
      return created(
        await handles.team.createAgent({
          name,
          ...(model && { model }),
          ...(kind && { kind }),
          ...(description !== undefined && { description }),
        }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/agents/:agent/sessions",
    summary: "The sessions of an agent.",
    params: agentParams,
    answers: "200 `{sessions}`",
    refuses: ["AGENT_UNKNOWN"],
    run: ({ params }, { handles }) => ok({ sessions: handles.team.sessions(params.agent) }),
  }),
  route({
    method: "POST",
    path: "/agents/:agent/sessions",
    summary: "Make a session; `cwd` is its folder.",
    params: agentParams,
    body: z.strictObject({ slug: z.string().min(1).max(100), cwd: z.string().min(1).max(4_096).optional() }),
    answers: "201 the session",
    refuses: ["AGENT_UNKNOWN", "SESSION_SLUG_INVALID", "SESSION_EXISTS", "FOLDER_INVALID"],
    run: async ({ params, body: { slug, cwd } }, { handles }) =>
      created(await handles.team.createSession(params.agent, cwd === undefined ? { slug } : { slug, cwd })),
  }),
  route({
    method: "PATCH",
    path: "/agents/:agent/sessions/:session",
    summary: "Change the title; null takes it away.",
    params: sessionParams,
    body: z.strictObject({ title: titleField.nullable() }),
    answers: "200 `{title}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params, body }, { handles }) => {
      await handles.team.patchSession(params.agent, params.session, body);
      return ok({ title: body.title });
    },
  }),
  route({
    method: "DELETE",
    path: "/agents/:agent/sessions/:session",
    summary: "Delete a session with everything it left.",
    params: sessionParams,
    answers: "204",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN", "SESSION_FIXED"],
    run: async ({ params }, { handles }) => {
      await handles.team.deleteSession(params.agent, params.session);
      return nothing();
    },
  }),
  route({
    method: "POST",
    path: "/agents/:agent/sessions/:session/hold",
    summary: "Hold the queue until `release`; the running turn goes on.",
    params: sessionParams,
    answers: "200 `{held: true}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params }, { handles }) => {
      await handles.team.hold(params.agent, params.session);
      return ok({ held: true });
    },
  }),
  route({
    method: "POST",
    path: "/agents/:agent/sessions/:session/release",
    summary: "Let a held queue go on.",
    params: sessionParams,
    answers: "200 `{held: false}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params }, { handles }) => {
      await handles.team.release(params.agent, params.session);
      return ok({ held: false });
    },
  }),
  route({
    method: "GET",
    path: "/agents/:agent/sessions/:session/model",
    summary: "The model in force and where it comes from.",
    params: sessionParams,
    answers: "200 `{ref, from, info}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params }, { handles }) => ok(await handles.team.model(params.agent, params.session)),
  }),
  route({
    method: "PUT",
    path: "/agents/:agent/sessions/:session/model",
    summary: "Use another model in this session, from the next turn on.",
    params: sessionParams,
    body: z.strictObject({ model: z.string().min(1).max(300) }),
    answers: "200 `{ref, from, info}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN", "MODEL_UNKNOWN"],
    run: async ({ params, body }, { handles }) => {
      await handles.team.setModel(params.agent, params.session, body.model);
      return ok(await handles.team.model(params.agent, params.session));
    },
  }),
  route({
    method: "DELETE",
    path: "/agents/:agent/sessions/:session/model",
    summary: "Back to the agent's own model.",
    params: sessionParams,
    answers: "200 `{ref, from, info}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params }, { handles }) => {
      await handles.team.setModel(params.agent, params.session, null);
      return ok(await handles.team.model(params.agent, params.session));
    },
  }),
  route({
    method: "GET",
    path: "/agents/:agent/sessions/:session/work",
    summary: "What runs and what waits in a session.",
    params: sessionParams,
    answers: "200 `{active, queued, pendingWakes, children}`",
    refuses: ["AGENT_UNKNOWN", "SESSION_UNKNOWN"],
    run: async ({ params }, { handles }) => ok(await handles.chat.work(params.agent, params.session)),
  }),
];
