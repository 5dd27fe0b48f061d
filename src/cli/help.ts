/** Help pages, made from the command table. */
import type { Command } from "./command.ts";
import { table } from "./print.ts";

export function usageOf(command: Command): string {
  const given = (command.arguments ?? []).map((argument) => (argument.optional ? `[${argument.name}]` : `<${argument.name}>`));
  const options = Object.keys(command.options ?? {}).length > 0 ? ["[options]"] : [];
  return ["somora", command.name, ...given, ...options].join(" ");
}

/** Names with what they mean: options as they are typed. */
export function optionRows(command: Command): [string, string][] {
  return Object.entries(command.options ?? {}).map(([name, { value, short, about }]) => [
    `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
    about,
  ]);
}

export function helpOf(command: Command): string {
  const given = (command.arguments ?? []).map(({ name, about }): [string, string] => [`  ${name}`, about]);
  const options = optionRows(command).map(([name, about]): [string, string] => [`  ${name}`, about]);
  const rows: [string, string][] = [...given, ...options, ["  --help", "This page"]];
  return `${usageOf(command)}\n\n${command.summary}\n\n${table(rows)}${(command.notes ?? []).map((note) => `\n${note}\n`).join("")}`;
}

export function overview(commands: readonly Command[], version: string): string {
  return `somora ${version}\n\n${table(commands.map((command) => [`  somora ${command.name}`, command.summary]))}\nsomora <command> --help says more. SOMORA_HOME names another home than ~/.somora.\n`;
}
