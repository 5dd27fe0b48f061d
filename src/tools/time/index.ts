/** The time family. */
import { timeNow } from "./time-now.tool.ts";

export const timeTools = [timeNow];
