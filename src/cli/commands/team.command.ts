/** Agents, sessions and their conversations. */
import { resolve } from "node:path";
import type { AgentLine } from "../../protocol/frames.ts";
import type { HistoryRow } from "../../protocol/history.ts";
import { sessionAddress } from "../../protocol/ids.ts";
import { segment } from "../api.ts";
import { CliError, JSON_OPTION, type Command } from "../command.ts";
import { parseWhole } from "../duration.ts";
import { json, plainText, table } from "../print.ts";

const SESSION = { name: "session", about: "`agent/session`" };

export const teamCommands: readonly Command[] = [
  {
    name: "agent list",
    summary: "All agents.",
    options: { json: JSON_OPTION },
    async run({ flag, io, api }) {
      const { agents } = await (await api()).get<{ agents: AgentLine[] }>("/agents");
      if (flag("json")) io.out(json({ agents }));
      else
        io.out(
          table(
            agents.map((agent) => [
              agent.name,
              agent.model === null ? "no model" : `${agent.model}${agent.rehearsal ? " (rehearsal)" : ""}`,
              agent.problem ?? agent.description,
            ]),
          ),
        );
      return 0;
    },
  },
  {
    name: "agent create",
    summary: "Make an agent: a folder with AGENTS.md and agent.yaml.",
    arguments: [{ name: "name", about: "Letters, digits, `_`, `.`, `-`" }],
    options: {
      model: { value: "M", about: "Alias or provider/id" },
      kind: { value: "chat|builder", about: "What it is made for (chat)" },
      description: { value: "TEXT", about: "A few words on what it does" },
      json: JSON_OPTION,
    },
    async run({ arguments: { name }, option, flag, io, api }) {
      const kind = option("kind");
      if (kind !== undefined && kind !== "chat" && kind !== "builder")
        throw new CliError(`--kind is ${JSON.stringify(kind)}; allowed: chat | builder.`);
      const model = option("model");
      const description = option("description");
      const agent = await (
        await api()
      ).post<AgentLine>("/agents", {
        name,
        ...(model === undefined ? {} : { model }),
        ...(kind === undefined ? {} : { kind }),
        ...(description === undefined ? {} : { description }),
      });
      io.out(
        flag("json")
          ? json(agent)
          : `made ${agent.name}${agent.model === null ? "; give it a model in its agent.yaml" : ` with ${agent.model}`}\n`,
      );
      return 0;
    },
  },
  {
    name: "session list",
    summary: "The sessions of one agent, or of all.",
    arguments: [{ name: "agent", about: "Only this one's", optional: true }],
    options: { json: JSON_OPTION },
    async run({ arguments: { agent }, flag, io, api }) {
      const server = await api();
      const lines =
        agent === undefined
          ? (await server.get<{ agents: AgentLine[] }>("/agents")).agents
          : [
              {
                name: agent,
                sessions: (await server.get<{ sessions: AgentLine["sessions"] }>(`/agents/${segment(agent)}/sessions`)).sessions,
              },
            ];
      const all = lines.flatMap(({ name, sessions }) => sessions.map((session) => ({ agent: name, ...session })));
      if (flag("json")) io.out(json({ sessions: all }));
      else
        io.out(
          table(
            all.map((session) => [
              `${session.agent}/${session.slug}`,
              session.parked === null ? session.state : `parked: ${session.parked}`,
              session.queued === 0 ? "" : `${session.queued} waiting`,
              plainText(session.title ?? ""),
            ]),
          ),
        );
      return 0;
    },
  },
  {
    name: "session create",
    summary: "Make a session.",
    arguments: [SESSION],
    options: { cwd: { value: "DIR", about: "Its folder" }, json: JSON_OPTION },
    async run({ arguments: { session = "" }, option, flag, io, api }) {
      const place = placeOf(session);
      const cwd = option("cwd");
      const made = await (
        await api()
      ).post(`/agents/${segment(place.agent)}/sessions`, {
        slug: place.session,
        ...(cwd === undefined ? {} : { cwd: resolve(io.cwd, cwd) }),
      });
      io.out(flag("json") ? json(made) : `made ${place.agent}/${place.session}\n`);
      return 0;
    },
  },
  {
    name: "session delete",
    summary: "Delete a session with everything it left.",
    arguments: [SESSION],
    async run({ arguments: { session = "" }, io, api }) {
      const place = placeOf(session);
      await (await api()).delete(`/agents/${segment(place.agent)}/sessions/${segment(place.session)}`);
      io.out(`deleted ${place.agent}/${place.session}\n`);
      return 0;
    },
  },
  {
    name: "history",
    summary: "The last rows of a conversation.",
    arguments: [{ name: "agent", about: "Whose" }],
    options: {
      session: { value: "S", about: "Which session (main)" },
      limit: { value: "N", about: "How many rows (50)" },
      json: JSON_OPTION,
    },
    async run({ arguments: { agent }, option, flag, io, api }) {
      const limit = parseWhole(option("limit") ?? "50", "limit", 1, 1_000);
      const page = await (
        await api()
      ).get<{ rows: HistoryRow[]; hasMore: boolean; oldestSeq: number | null }>("/chat/history", {
        agent,
        session: option("session") ?? "main",
        limit,
      });
      if (flag("json")) {
        io.out(json(page));
        return 0;
      }
      if (page.hasMore) io.err(`earlier rows exist; --limit shows more\n`);
      for (const row of page.rows) io.out(`${lineOf(row)}\n`);
      return 0;
    },
  },
];

/** `agent/session`; the session is `main` when only an agent is named. */
export function placeOf(text: string): { agent: string; session: string } {
  const [agent = "", session = "main", ...more] = text.split("/");
  if (agent === "" || session === "" || more.length > 0)
    throw new CliError(`${JSON.stringify(text)} is no session; write it as agent/session, such as guide/main.`);
  return { agent, session };
}

/** An address as it is, or the one of an `agent/session`. */
export function addressOf(text: string): string {
  if (text.startsWith("/")) return text;
  const { agent, session } = placeOf(text);
  return sessionAddress(agent, session);
}

function lineOf(row: HistoryRow): string {
  const time = new Date(row.at).toISOString().replace("T", " ").slice(0, 19);
  const head = `${String(row.seq).padStart(4)}  ${time}  `;
  switch (row.kind) {
    case "user_message":
      return `${head}${row.data.origin.kind === "human" ? "you" : row.data.origin.kind}: ${plainText(row.data.text)}`;
    case "assistant_message":
      return `${head}agent: ${plainText(row.data.text)}${row.data.interrupted ? " (broken off)" : ""}`;
    case "thinking":
      return `${head}thought: ${plainText(row.data.text)}`;
    case "tool_call":
      return `${head}→ ${row.data.tool} ${plainText(JSON.stringify(row.data.input)).slice(0, 200)}`;
    case "tool_result":
      return `${head}${row.data.ok ? "✓" : "✗"} ${plainText(row.data.summary ?? "")}`;
    case "notice":
      return `${head}note: ${plainText(row.data.text ?? row.data.kind)}`;
    case "turn_end":
      return `${head}${row.data.outcome}${row.data.outcomeReason ? ` (${row.data.outcomeReason})` : ""}${row.data.error ? `: ${plainText(row.data.error.message)}` : ""}`;
  }
}
