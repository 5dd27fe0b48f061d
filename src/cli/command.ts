/** One entry of the command table. Help, the reference page and the parser are made from it. */
import type { Api } from "./api.ts";
import type { CliDependencies } from "./dependencies.ts";
import type { CliIo } from "./io.ts";

interface ArgumentSpec {
  name: string;
  about: string;
  optional?: boolean;
}
interface OptionSpec {
  /** Absent: a switch. Else the word for its value in help. */
  value?: string;
  short?: string;
  about: string;
}

export interface CommandContext {
  /** By name; absent optional ones are undefined. */
  arguments: Record<string, string | undefined>;
  flag: (name: string) => boolean;
  option: (name: string) => string | undefined;
  io: CliIo;
  dependencies: CliDependencies;
  /** The running server of the home; refuses with how to start one. */
  api: () => Promise<Api>;
}

export interface Command {
  /** One word or two: `session list`. */
  name: string;
  summary: string;
  arguments?: readonly ArgumentSpec[];
  options?: Readonly<Record<string, OptionSpec>>;
  /** More for the help page, such as exit codes. */
  notes?: readonly string[];
  run(context: CommandContext): Promise<number>;
}

/** A mistake in how a command was called, or a refusal: one sentence and a way out. */
export class CliError extends Error {
  readonly hint: string | undefined;
  readonly exitCode: number;
  readonly code: string | undefined;

  constructor(message: string, more: { hint?: string | undefined; exitCode?: number; code?: string } = {}) {
    super(message);
    this.name = "CliError";
    this.hint = more.hint;
    this.exitCode = more.exitCode ?? 1;
    this.code = more.code;
  }
}

export const JSON_OPTION: OptionSpec = { about: "Print JSON" };
