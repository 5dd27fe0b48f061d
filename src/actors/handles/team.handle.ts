/** Team: agents and their sessions. */
import type { SessionContext } from "../../machines/index.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { AGENT_NAME, agentAddress, SESSION_SLUG, sessionAddress } from "../../protocol/ids.ts";
import type { AgentLine } from "../../protocol/frames.ts";
import type { TeamHandle } from "../../ports/handles.port.ts";
import { FOLDER_GONE } from "../folder-gone.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

export interface AgentMaker {
  createAgent(agent: { name: string; model?: string; kind?: "chat" | "builder"; description?: string }): Promise<void>;
}

export function sessionLine(parts: RuntimeParts, agent: string, slug: string): AgentLine["sessions"][number] | null {
  const address = sessionAddress(agent, slug);
  const committed = parts.kernel.committed(address);
  if (committed?.kind !== "session") return null;
  const { detail } = committed;
  const running = detail["running"];
  const turn = typeof running === "string" ? parts.kernel.committed(`${address}/turns/${running}` as typeof address) : null;
  return {
    slug,
    title: (detail["title"] ?? null) as string | null,
    createdAt: Number(detail["createdAt"] ?? 0),
    lastAt: Number(detail["lastAt"] ?? 0),
    newestSeq: parts.conversations.newestSeq(address),
    state: committed.status === "parked" ? "parked" : (turn?.state ?? committed.state),
    queued: Number(detail["queued"] ?? 0),
    parked: committed.parkedReason,
    cwd: (detail["cwd"] ?? null) as string | null,
  };
}

export function agentLine(parts: RuntimeParts, name: string): AgentLine | null {
  const settings = parts.settings.agent(name);
  const address = agentAddress(name);
  const committed = parts.kernel.committed(address);
  if (!settings && !committed) return null;
  const model = settings?.model ? parts.settings.resolveModel(settings.model) : null;
  return {
    name,
    description: settings?.description ?? "",
    ...(settings?.icon ? { icon: settings.icon } : {}),
    ...(settings?.color ? { color: settings.color } : {}),
    model: settings?.model ?? null,
    rehearsal: model?.rehearsal ?? false,
    problem: settings ? (committed?.parkedReason ?? settings.problem) : FOLDER_GONE,
    sessions: parts
      .sessionsOf(name)
      .map((slug) => sessionLine(parts, name, slug))
      .filter((line): line is AgentLine["sessions"][number] => line !== null),
  };
}

export function teamHandle(parts: RuntimeParts, maker: AgentMaker): TeamHandle {
  const { kernel, settings } = parts;

  function knownAgent(agent: string): void {
    if (kernel.has(agentAddress(agent))) return;
    throw new SomoraError("AGENT_UNKNOWN", `There is no agent "${agent}".`, {
      hint: `Known: ${settings.agents().join(", ") || "none"}.`,
      details: { known: settings.agents() },
    });
  }
  function knownSession(agent: string, session: string) {
    knownAgent(agent);
    const address = sessionAddress(agent, session);
    if (kernel.has(address)) return address;
    const known = parts.sessionsOf(agent);
    throw new SomoraError("SESSION_UNKNOWN", `${agent} has no session "${session}".`, {
      hint: `Known: ${known.join(", ")}.`,
      details: { known },
    });
  }
  const lineOf = (agent: string, slug: string): AgentLine["sessions"][number] => {
    const line = sessionLine(parts, agent, slug);
    if (!line) throw new SomoraError("SESSION_UNKNOWN", `${agent} has no session "${slug}".`);
    return line;
  };

  return {
    agents: () =>
      [...new Set([...settings.agents(), ...agentsOf(kernel)])]
        .sort()
        .map((name) => agentLine(parts, name))
        .filter((line): line is AgentLine => line !== null),
    async createAgent(request) {
      if (!AGENT_NAME.test(request.name))
        throw new SomoraError(
          "AGENT_NAME_INVALID",
          `"${request.name}" cannot be an agent's name: letters, digits, _ . and -, not beginning with . or -.`,
        );
      if (settings.agent(request.name))
        throw new SomoraError("AGENT_EXISTS", `There is an agent "${request.name}" already.`, { hint: "Choose another name." });
      if (request.model !== undefined && !settings.resolveModel(request.model))
        throw new SomoraError("MODEL_UNKNOWN", `There is no model "${request.model}".`, {
          hint: `Known: ${settings
            .models()
            .map((model) => model.ref)
            .join(", ")}.`,
        });
      await maker.createAgent(request);
      await startAgent(kernel, request.name);
      const line = agentLine(parts, request.name);
      if (!line) throw new SomoraError("INTERNAL", `The agent ${request.name} was made but does not show.`);
      return line;
    },
    sessions(agent) {
      knownAgent(agent);
      return parts.sessionsOf(agent).map((slug) => lineOf(agent, slug));
    },
    async createSession(agent, { slug, cwd }) {
      knownAgent(agent);
      if (!SESSION_SLUG.test(slug))
        throw new SomoraError("SESSION_SLUG_INVALID", `"${slug}" cannot be a session: letters, digits, _ and -.`);
      if (cwd !== undefined) await parts.checkFolder(cwd);
      await kernel.command(agentAddress(agent), { type: "session.create", slug, cwd: cwd ?? null });
      return lineOf(agent, slug);
    },
    async patchSession(agent, session, { title }) {
      await kernel.command(knownSession(agent, session), { type: "session.patch", ...(title === undefined ? {} : { title }) });
    },
    async deleteSession(agent, session) {
      knownSession(agent, session);
      await kernel.command(agentAddress(agent), { type: "session.delete", slug: session });
    },
    async hold(agent, session) {
      await kernel.command(knownSession(agent, session), { type: "queue.hold", held: true });
    },
    async release(agent, session) {
      await kernel.command(knownSession(agent, session), { type: "queue.hold", held: false });
    },
    async model(agent, session) {
      const { model } = kernel.context(knownSession(agent, session)) as unknown as SessionContext;
      const own = settings.agent(agent)?.model ?? null;
      const ref = model ?? own;
      return {
        ref,
        from: model !== null ? "session" : own !== null ? "agent" : "none",
        info: ref === null ? null : settings.resolveModel(ref),
      };
    },
    async setModel(agent, session, ref) {
      const address = knownSession(agent, session);
      if (ref !== null && !settings.resolveModel(ref))
        throw new SomoraError("MODEL_UNKNOWN", `There is no model "${ref}".`, {
          hint: `Known: ${settings
            .models()
            .map((model) => model.ref)
            .join(", ")}.`,
        });
      await kernel.command(address, { type: "session.patch", model: ref });
    },
  };
}

/** Names of agents that have actors, with or without a folder. */
function agentsOf(kernel: RuntimeParts["kernel"]): string[] {
  const names: string[] = [];
  for (const address of kernel.addresses("/agents" as never))
    if (kernel.committed(address)?.kind === "agent") names.push(address.slice("/agents/".length));
  return names;
}

export async function startAgent(kernel: RuntimeParts["kernel"], name: string): Promise<void> {
  await kernel.command("/agents" as never, { type: "child.start", name, chart: "agent", spec: "agent", input: { agent: name } });
}
