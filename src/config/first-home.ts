/** Makes what a home lacks. What is there stays as it is; a half-made home is completed. */
import { randomBytes } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, stat } from "node:fs/promises";
import { constants } from "node:fs";
import { join } from "node:path";
import { SomoraError } from "../protocol/errors.ts";
import { type HomePaths } from "./home.ts";
import { CONFIG_YAML, SECRETS, SHIPPED_AGENTS } from "./shipped.ts";
import { writeWhole } from "./write-file.ts";

interface MadeHome {
  /** The home held no config.yaml and no agent before. */
  first: boolean;
}

/** `shippedRehearsals`: the folder whose `*.yaml` go to `<home>/rehearsals`; null when there is none. */
export async function makeHome(paths: HomePaths, shippedRehearsals: string | null): Promise<MadeHome> {
  try {
    await mkdir(paths.home, { recursive: true, mode: 0o700 });
    await chmod(paths.home, 0o700);
    for (const folder of [paths.agents, paths.rehearsals, paths.store, paths.run, paths.logs, paths.audit]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
    await chmod(paths.run, 0o700);
    const first = !(await exists(paths.config));
    if (!(await exists(paths.key))) await writeWhole(paths.key, `${randomBytes(32).toString("base64url")}\n`, 0o600);
    await chmod(paths.key, 0o600);
    if (!(await exists(paths.secrets))) await writeWhole(paths.secrets, SECRETS, 0o600);
    await chmod(paths.secrets, 0o600);
    if (shippedRehearsals !== null) await copyRehearsals(shippedRehearsals, paths.rehearsals);
    if ((await readdir(paths.agents)).length === 0) {
      for (const { name, persona, rules } of SHIPPED_AGENTS) await makeAgent(paths, name, persona, rules);
    }
    // Last: a home with a config.yaml is whole.
    if (first) await writeWhole(paths.config, CONFIG_YAML, 0o600);
    return { first };
  } catch (error) {
    if (error instanceof SomoraError) throw error;
    throw new SomoraError(
      "CONFIG_UNREADABLE",
      `The home ${paths.home} cannot be made: ${error instanceof Error ? error.message : String(error)}`,
      {
        hint: "Give a folder that you may write, with SOMORA_HOME.",
        cause: error,
      },
    );
  }
}

/** AGENTS.md comes last: from then on the agent exists. */
export async function makeAgent(paths: HomePaths, name: string, persona: string, rules: string): Promise<void> {
  const folder = join(paths.agents, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeWhole(join(folder, "agent.yaml"), rules, 0o600);
  await writeWhole(join(folder, "AGENTS.md"), persona, 0o600);
}

async function copyRehearsals(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  for (const name of await readdir(from)) {
    if (!name.endsWith(".yaml")) continue;
    await copyFile(join(from, name), join(to, name), constants.COPYFILE_EXCL).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
