/** All commands, in the order of help and of the reference page. A new one is one file and one line here. */
import type { Command } from "../command.ts";
import { askCommand } from "./ask.command.ts";
import { configCommands } from "./config.command.ts";
import { controlCommands } from "./control.command.ts";
import { doctorCommand } from "./doctor.command.ts";
import { modelCommands } from "./model.command.ts";
import { rehearseCommand } from "./rehearse.command.ts";
import { serverCommands } from "./server.command.ts";
import { simulateCommand } from "./simulate.command.ts";
import { teamCommands } from "./team.command.ts";
import { toolCommands } from "./tool.command.ts";
import { whyCommands } from "./why.command.ts";

export const COMMANDS: readonly Command[] = [
  ...serverCommands,
  askCommand,
  ...controlCommands,
  ...whyCommands,
  ...teamCommands,
  ...modelCommands,
  ...toolCommands,
  ...configCommands,
  doctorCommand,
  rehearseCommand,
  simulateCommand,
];
