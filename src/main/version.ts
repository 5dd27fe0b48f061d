/** Which somora this is, and where its own files lie: in the nearest folder above that holds a package.json. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function findPackage(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

export const packageFolder = findPackage();
export const version = (JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as { version: string }).version;
