/** The documentation family. */
import { docsList } from "./docs-list.tool.ts";
import { docsRead } from "./docs-read.tool.ts";

export const docsTools = [docsList, docsRead];
