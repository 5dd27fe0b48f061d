/** Connect a real model. */
import type { ModelInfo } from "../../protocol/model.ts";
import { JSON_OPTION, type Command } from "../command.ts";
import { json, plainText, table } from "../print.ts";

export const modelCommands: readonly Command[] = [
  {
    name: "model find",
    summary: "Look for model servers on this machine and for keys in the environment.",
    options: { json: JSON_OPTION },
    async run({ flag, io, api }) {
      const found = await (
        await api()
      ).get<{ servers: { baseUrl: string; kind: string; models: string[] }[]; keys: string[] }>("/models/found");
      if (flag("json")) {
        io.out(json(found));
        return 0;
      }
      for (const { baseUrl, kind, models } of found.servers) {
        io.out(`${kind} at ${baseUrl}: ${models.join(", ") || "no model loaded"}\n  somora model add ${baseUrl}\n`);
      }
      if (found.servers.length === 0) io.out("no model server answers on this machine\n");
      for (const name of found.keys) io.out(`${name} is set: somora model add <base-url> --key-env ${name}\n`);
      return 0;
    },
  },
  {
    name: "model add",
    summary: "Connect a model server. Comments in config.yaml are kept, the key goes to somora.env.",
    arguments: [{ name: "base-url", about: "Such as http://127.0.0.1:11434/v1" }],
    options: {
      name: { value: "N", about: "How config.yaml calls it" },
      model: { value: "ID", about: "Only this model; absent: all it has" },
      "key-env": { value: "NAME", about: "Name of the variable that holds its key" },
      agent: { value: "A", about: "Give the model to this agent at once" },
      json: JSON_OPTION,
    },
    async run({ arguments: given, option, flag, io, api }) {
      const keyEnv = option("key-env");
      const key = keyEnv === undefined ? undefined : io.env[keyEnv];
      if (keyEnv !== undefined && !key) io.err(`${keyEnv} is not set here; put it into somora.env as ${keyEnv}=...\n`);
      const name = option("name");
      const model = option("model");
      const agent = option("agent");
      const added = await (
        await api()
      ).post<{ provider: string; refs: string[]; agent?: string }>("/providers", {
        baseUrl: given["base-url"],
        ...(name === undefined ? {} : { name }),
        ...(model === undefined ? {} : { models: [model] }),
        ...(keyEnv === undefined ? {} : { keyEnv }),
        ...(key ? { key } : {}),
        ...(agent === undefined ? {} : { agent }),
      });
      if (flag("json")) io.out(json(added));
      else {
        io.out(`connected ${added.provider}: ${added.refs.join(", ") || "nothing new"}\n`);
        if (added.agent !== undefined) io.out(`${added.agent} uses ${added.refs[0] ?? "it"} from its next turn on\n`);
        else if (added.refs[0] !== undefined) io.out(`try it: somora model test ${added.refs[0]}\n`);
      }
      return 0;
    },
  },
  {
    name: "model list",
    summary: "All models; rehearsals are marked.",
    options: { json: JSON_OPTION },
    async run({ flag, io, api }) {
      const { models } = await (await api()).get<{ models: ModelInfo[] }>("/models");
      if (flag("json")) io.out(json({ models }));
      else io.out(table(models.map((model) => [model.ref, model.alias ?? "", model.rehearsal ? "rehearsal" : (model.baseUrl ?? "")])));
      return 0;
    },
  },
  {
    name: "model test",
    summary: "Send one real message to a model and say which model answered.",
    arguments: [{ name: "model", about: "Alias or provider/id" }],
    options: { json: JSON_OPTION },
    async run({ arguments: { model }, flag, io, api }) {
      const result = await (
        await api()
      ).post<{ ok: boolean; model?: string; text?: string; ms: number; error?: { code: string; message: string; hint?: string } }>(
        "/models/test",
        { model },
      );
      if (flag("json")) io.out(json(result));
      else if (result.ok)
        io.out(
          `${result.model ?? "a model"} answered in ${result.ms} ms: ${plainText(result.text ?? "")
            .trim()
            .slice(0, 200)}\n`,
        );
      else
        io.err(
          `${result.error?.message ?? "no answer"} (${result.error?.code ?? "?"})${result.error?.hint ? `\n${result.error.hint}` : ""}\n`,
        );
      return result.ok ? 0 : 1;
    },
  },
];
