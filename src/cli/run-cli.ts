/** The `somora` command: finds the command in the table, reads its arguments, runs it, turns every error into one clear sentence. */
import { parseArgs } from "node:util";
import { SomoraError } from "../protocol/errors.ts";
import { nearest } from "../protocol/nearest.ts";
import { Api } from "./api.ts";
import { CliError, type Command, type CommandContext } from "./command.ts";
import { COMMANDS } from "./commands/table.ts";
import type { CliDependencies } from "./dependencies.ts";
import { helpOf, overview, usageOf } from "./help.ts";
import type { CliIo } from "./io.ts";

/** Resolves with the exit code; never rejects. `argv`: without program and script. */
export async function runCli(argv: readonly string[], io: CliIo, dependencies: CliDependencies): Promise<number> {
  try {
    return await dispatch(argv, io, dependencies);
  } catch (error) {
    if (error instanceof CliError) {
      io.err(`${error.message}\n${error.hint === undefined ? "" : `${error.hint}\n`}`);
      return error.exitCode;
    }
    if (error instanceof SomoraError) {
      io.err(`${error.message} (${error.code})\n${error.hint === undefined ? "" : `${error.hint}\n`}`);
      return 1;
    }
    io.err(`somora failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}

async function dispatch(argv: readonly string[], io: CliIo, dependencies: CliDependencies): Promise<number> {
  const [first] = argv;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    const named = first === "help" ? COMMANDS.find((command) => command.name === argv.slice(1).join(" ")) : undefined;
    io.out(named ? helpOf(named) : overview(COMMANDS, dependencies.version));
    return 0;
  }
  if (first === "--version" || first === "-v") {
    io.out(`${dependencies.version}\n`);
    return 0;
  }
  const command = commandOf(argv);
  if (!command) return unknownCommand(argv, io);
  const rest = argv.slice(command.name.split(" ").length);
  if (rest.includes("--help") || rest.includes("-h")) {
    io.out(helpOf(command));
    return 0;
  }
  return command.run(contextOf(command, rest, io, dependencies));
}

/** The longest name the arguments begin with. */
function commandOf(argv: readonly string[]): Command | undefined {
  return COMMANDS.find((command) => command.name === `${argv[0]} ${argv[1]}`) ?? COMMANDS.find((command) => command.name === argv[0]);
}

function unknownCommand(argv: readonly string[], io: CliIo): number {
  const group = COMMANDS.filter((command) => command.name.startsWith(`${argv[0]} `));
  if (group.length > 0 && (argv[1] === undefined || argv[1].startsWith("-"))) {
    const help = argv[1] === "--help" || argv[1] === "-h";
    const text = group.map((command) => `${usageOf(command)}\n    ${command.summary}\n`).join("");
    if (help) io.out(text);
    else io.err(`\`${argv[0]}\` needs one more word:\n${text}`);
    return help ? 0 : 1;
  }
  const typed = argv
    .slice(0, 2)
    .filter((word) => !word.startsWith("-"))
    .join(" ");
  const near =
    nearest(
      typed,
      COMMANDS.map((command) => command.name),
    ) ??
    nearest(
      argv[0] as string,
      COMMANDS.map((command) => command.name.split(" ")[0] as string),
    );
  throw new CliError(`There is no command \`${typed}\`.`, {
    hint: `${near === null ? "" : `Did you mean \`somora ${near}\`? `}\`somora --help\` lists all.`,
  });
}

function contextOf(command: Command, rest: string[], io: CliIo, dependencies: CliDependencies): CommandContext {
  const specs = command.options ?? {};
  let parsed: { values: Record<string, string | boolean | undefined>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: rest,
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(specs).map(([name, { value, short }]) => [
          name,
          { type: value === undefined ? ("boolean" as const) : ("string" as const), ...(short === undefined ? {} : { short }) },
        ]),
      ),
    });
  } catch (error) {
    throw misused(command, error, Object.keys(specs));
  }
  const wanted = command.arguments ?? [];
  const { values, positionals } = parsed;
  if (positionals.length > wanted.length) {
    throw new CliError(`\`somora ${command.name}\` does not take ${JSON.stringify(positionals[wanted.length])}.`, {
      hint: `Usage: ${usageOf(command)}. A text of several words needs quotes.`,
    });
  }
  const given: Record<string, string | undefined> = {};
  wanted.forEach(({ name, optional }, index) => {
    if (positionals[index] === undefined && optional !== true)
      throw new CliError(`\`somora ${command.name}\` needs <${name}>.`, { hint: `Usage: ${usageOf(command)}` });
    given[name] = positionals[index];
  });
  return {
    arguments: given,
    flag: (name) => values[name] === true,
    option: (name) => (typeof values[name] === "string" ? values[name] : undefined),
    io,
    dependencies,
    async api() {
      const running = await dependencies.findServer();
      if (!running)
        throw new CliError(`No server serves ${dependencies.home}.`, { hint: "Start it with `npm start` or `somora server start`." });
      const key = await dependencies.key();
      if (key === null) throw new CliError(`There is no key in ${dependencies.home}.`, { hint: "The server makes one when it starts." });
      return new Api(running.url, key);
    },
  };
}

function misused(command: Command, error: unknown, names: string[]): CliError {
  const words = error instanceof Error ? error.message : String(error);
  const unknown = /Unknown option '(-{1,2}[^']+)'/.exec(words)?.[1];
  if (unknown === undefined)
    return new CliError(`${(words.split(". ")[0] ?? words).replace(/\.$/, "")}.`, {
      hint: `Usage: ${usageOf(command)}; --help says more.`,
    });
  const near = nearest(unknown.replace(/^-+/, ""), names);
  return new CliError(`\`somora ${command.name}\` has no option ${unknown}.`, {
    hint: `${near === null ? "" : `Did you mean --${near}? `}It has: ${[...names, "help"].map((name) => `--${name}`).join(", ")}.`,
  });
}
