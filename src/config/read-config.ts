/** config.yaml as a finished object, or the list of what is wrong with it. The server and `somora config check` both ask here. */
import { readFile } from "node:fs/promises";
import { SomoraError } from "../protocol/errors.ts";
import { textOr } from "./agents-folder.ts";
import { checkYaml, type Checked } from "./checked-yaml.ts";
import { configSchema, type Config } from "./config.schema.ts";
import type { HomePaths } from "./home.ts";
import { parseSecrets, type Lookup } from "./secrets.ts";

/** Keys that are filled when they are used: a key that changes needs no reload. */
const isApiKey = (path: (string | number)[]): boolean => path.length === 3 && path[0] === "providers" && path[2] === "apiKey";

export function checkConfig(text: string, file: string, lookup: Lookup): Checked<Config> {
  return checkYaml(text, configSchema, { file, lookup, keep: isApiKey });
}

/** Throws CONFIG_UNREADABLE when the file cannot be read. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new SomoraError("CONFIG_UNREADABLE", `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      hint: "Check that the file is there and that you may read it; `somora config path` prints where the server looks.",
      cause: error,
    });
  }
}

/** One file as the server of this home would take it. Throws CONFIG_UNREADABLE. */
export async function checkConfigFile(
  paths: HomePaths,
  env: Record<string, string | undefined>,
  file: string = paths.config,
): Promise<Checked<Config>> {
  const text = await readText(file);
  const secrets = parseSecrets((await textOr(paths.secrets)) ?? "");
  return checkConfig(text, file, (name) => secrets.get(name) ?? env[name]);
}
