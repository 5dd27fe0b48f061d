/**
 * A real home for page tests and pictures: the shipped agents, and `marlow`, who plays `stage/marlow.yaml` with real files and
 * commands. The home has a folder of its own as HOME, so that `~` and the default workspace are temporary too.
 */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSettings } from "../../src/config/index.ts";
import { openSomora, type Somora } from "../../src/main/somora.ts";
import { poisonedCharts, type PoisonEvent } from "./poison.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const LONG_AGENT = "Bestandsabgleich_und_Ressourcenplanung_Herbstkatalog_2026-CH";

export interface Stage {
  /** HOME, and what holds all of it. */
  base: string;
  /** SOMORA_HOME. */
  folder: string;
  /** Where the agents work. */
  workspace: string;
  /** Lets waiting commands of `marlow` end; `again` makes later ones wait. */
  go(): Promise<void>;
  again(): Promise<void>;
  remove(): Promise<void>;
}

export interface StageOptions {
  /** Only what a new user finds. */
  bare?: boolean;
  /** Words per second of the shipped rehearsals; 0 is at once. */
  pace?: number;
}

export async function makeStage({ bare = false, pace }: StageOptions = {}): Promise<Stage> {
  const base = await mkdtemp(join(tmpdir(), "somora-stage-"));
  const folder = join(base, ".somora");
  const workspace = join(base, "somoraworkspace");
  (await openSettings({ home: folder, env: {}, watch: false, shippedRehearsals: join(root, "rehearsals") })).close();
  if (pace !== undefined) {
    for (const name of await readdir(join(folder, "rehearsals"))) {
      const file = join(folder, "rehearsals", name);
      await writeFile(file, (await readFile(file, "utf8")).replace(/^pace: .*$/mu, `pace: ${pace}`));
    }
  }
  await mkdir(workspace, { recursive: true });
  if (!bare) await addMarlow(folder, workspace);
  return {
    base,
    folder,
    workspace,
    go: () => writeFile(join(workspace, "go"), ""),
    again: () => rm(join(workspace, "go"), { force: true }),
    remove: () => rm(base, { recursive: true, force: true, maxRetries: 3 }),
  };
}

async function addMarlow(folder: string, workspace: string): Promise<void> {
  await copyFile(join(root, "test", "support", "stage", "marlow.yaml"), join(folder, "rehearsals", "marlow.yaml"));
  for (const [name, description, color] of [
    ["marlow", "Catalogues and prices", "teal"],
    [LONG_AGENT, "Lagerabgleich für den Herbstkatalog", "plum"],
  ] as const) {
    await mkdir(join(folder, "agents", name), { recursive: true });
    await writeFile(join(folder, "agents", name, "agent.yaml"), "model: rehearsal/marlow\ntools: { allow: [exec] }\n");
    await writeFile(
      join(folder, "agents", name, "AGENTS.md"),
      `---\ndescription: ${description}\ncolor: ${color}\n---\nYou compare lists.\n`,
    );
  }
  const files: Record<string, string> = {
    "catalogue/autumn.md": `# Autumn\n\n${Array.from({ length: 64 }, (_, at) => `978-3-907114-${String(at + 11)}-2  Title ${at + 1}`).join("\n")}\n`,
    "blurbs/031.md": "# The Tide Table\n\nA novel of the sea.\nPrice: 24.00\n",
    "check.sh":
      'until [ -e go ]; do sleep 0.05; done\necho "61 titles are in both lists"\necho " 4 prices differ         list 2 Nov, catalogue 19 Oct"\necho " 3 titles have no price  978-3-907114-18-2, -26-7, -31-1"\n',
    "build.sh": "echo begun >> builds\nuntil [ -e go ]; do sleep 0.05; done\nprintf 'packed 12 files'\n",
    "stock.mjs":
      'import { writeFileSync } from "node:fs";\nconst lines = Array.from({ length: 4000 }, (_, at) => `${String(at + 1).padStart(4, "0")} ${at % 131 === 7 ? "FEHLT" : "da"}`);\nwriteFileSync("stock.txt", `${lines.join("\\n")}\\n`);\nconsole.log(lines.join("\\n"));\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(workspace, path, ".."), { recursive: true });
    await writeFile(join(workspace, path), text);
  }
}

export interface House extends Stage {
  somora: Somora;
  close(): Promise<void>;
}

/** The server in this process, its charts poisoned where `isPoison` says so; `HOME` of this process is the stage's while it is open. */
export async function openHouse(
  options: StageOptions & { isPoison?: (chart: string, event: PoisonEvent) => boolean } = {},
): Promise<House> {
  const stage = await makeStage(options);
  process.env["HOME"] = stage.base;
  const somora = await openSomora({
    home: stage.folder,
    env: {},
    port: 0,
    fatal: (reason) => {
      throw new Error(`the server of the page tests cannot go on: ${reason}`);
    },
    ...(options.isPoison === undefined ? {} : { replace: { charts: poisonedCharts(options.isPoison) } }),
  });
  return {
    ...stage,
    somora,
    async close() {
      await somora.stop();
      await stage.remove();
    },
  };
}
