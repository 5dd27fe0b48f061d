/** Tools: what there is, and one call without a model. */
import { segment } from "../api.ts";
import { CliError, JSON_OPTION, type Command } from "../command.ts";
import { json, table } from "../print.ts";

interface Listing {
  name: string;
  toolset: string;
  description: string;
  visible?: boolean;
}

export const toolCommands: readonly Command[] = [
  {
    name: "tools list",
    summary: "All tools, or those an agent is offered.",
    options: { agent: { value: "A", about: "As this agent sees them" }, json: JSON_OPTION },
    async run({ option, flag, io, api }) {
      const agent = option("agent");
      const { tools } = await (await api()).get<{ tools: Listing[] }>(agent === undefined ? "/tools" : `/agents/${segment(agent)}/tools`);
      if (flag("json")) io.out(json({ tools }));
      else
        io.out(
          table(
            tools.map((tool) => [
              tool.name,
              tool.toolset,
              tool.visible === false ? "not offered" : "",
              (tool.description.split(/(?<=\.)\s/)[0] ?? "").slice(0, 100),
            ]),
          ),
        );
      return 0;
    },
  },
  {
    name: "tool call",
    summary: "Run one tool as an agent, without a model. Exit 0 when it did its work, 1 when not.",
    arguments: [{ name: "tool", about: "Its name" }],
    options: {
      agent: { value: "A", about: "As whom" },
      session: { value: "S", about: "In which session (main)" },
      json: { value: "'{…}'", about: "The input" },
    },
    async run({ arguments: { tool = "" }, option, io, api }) {
      const agent = option("agent");
      if (agent === undefined)
        throw new CliError("`tool call` needs --agent.", { hint: `Such as: somora tool call ${tool} --agent tinker --json '{}'` });
      let input: unknown = {};
      try {
        input = JSON.parse(option("json") ?? "{}");
      } catch (error) {
        throw new CliError(`--json is not JSON: ${error instanceof Error ? error.message : String(error)}.`, {
          hint: 'Quote it for the shell: --json \'{"path": "."}\'',
        });
      }
      const session = option("session");
      const output = await (
        await api()
      ).post<{ ok: boolean }>(`/agents/${segment(agent)}/tools/${segment(tool)}`, session === undefined ? { input } : { input, session });
      io.out(json(output));
      return output.ok ? 0 : 1;
    },
  },
];
