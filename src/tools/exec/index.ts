/** The shell family. */
import { exec } from "./exec.tool.ts";

export const execTools = [exec];
