/** The file family. */
import { fileList } from "./file-list.tool.ts";
import { filePatch } from "./file-patch.tool.ts";
import { fileRead } from "./file-read.tool.ts";
import { fileSearch } from "./file-search.tool.ts";
import { fileWrite } from "./file-write.tool.ts";

export const fileTools = [fileRead, fileWrite, filePatch, fileSearch, fileList];
