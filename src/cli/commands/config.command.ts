/** config.yaml: check, path, show. Works without a server. */
import { resolve } from "node:path";
import { SomoraError } from "../../protocol/errors.ts";
import { JSON_OPTION, type Command } from "../command.ts";
import { json } from "../print.ts";

export const configCommands: readonly Command[] = [
  {
    name: "config check",
    summary: "Check a configuration exactly as the server does.",
    arguments: [{ name: "file", about: "Another file than the home's", optional: true }],
    options: { json: JSON_OPTION },
    notes: ["Exit 0 valid, 1 invalid (file, line, key, value, allowed), 2 unreadable."],
    async run({ arguments: { file }, flag, io, dependencies }) {
      const path = file === undefined ? dependencies.config.path : resolve(io.cwd, file);
      try {
        const problems = await dependencies.config.check(path);
        if (flag("json")) io.out(json({ file: path, valid: problems.length === 0, errors: problems }));
        else if (problems.length === 0) io.out(`${path} is valid\n`);
        else for (const problem of problems) io.err(`${problem.message}\n`);
        return problems.length === 0 ? 0 : 1;
      } catch (error) {
        if (!(error instanceof SomoraError) || error.code !== "CONFIG_UNREADABLE") throw error;
        if (flag("json")) io.out(json({ file: path, valid: false, unreadable: error.message }));
        else io.err(`${error.message}\n`);
        return 2;
      }
    },
  },
  {
    name: "config path",
    summary: "Where the server looks for config.yaml.",
    async run({ io, dependencies }) {
      io.out(`${dependencies.config.path}\n`);
      return 0;
    },
  },
  {
    name: "config show",
    summary: "The configuration with its defaults filled in, keys hidden.",
    async run({ io, dependencies }) {
      io.out(json(await dependencies.config.show()));
      return 0;
    },
  },
];
