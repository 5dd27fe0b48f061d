/** `run/server.json`: where the server of a home answers. A hint only: who reads it asks the address before it believes it. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { HomePaths } from "./home.ts";
import { writeWhole } from "./write-file.ts";

const serverFileSchema = z.object({ url: z.string(), pid: z.number().int().positive(), version: z.string(), startedAt: z.number() });
export type ServerFile = z.infer<typeof serverFileSchema>;

const fileOf = (paths: HomePaths): string => join(paths.run, "server.json");

export async function writeServerFile(paths: HomePaths, server: ServerFile): Promise<void> {
  await writeWhole(fileOf(paths), `${JSON.stringify(server)}\n`, 0o600);
}

export async function removeServerFile(paths: HomePaths): Promise<void> {
  await rm(fileOf(paths), { force: true });
}

/** Null when there is none, or one that cannot be read. */
export async function readServerFile(paths: HomePaths): Promise<ServerFile | null> {
  const text = await readFile(fileOf(paths), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return serverFileSchema.parse(JSON.parse(text));
  } catch {
    return null; // half a file of a server that died: nobody answers there
  }
}

/** The server of this home, when the process lives and answers as somora. `limitMs` bounds the question. */
export async function findServer(paths: HomePaths, limitMs = 2_000): Promise<ServerFile | null> {
  const server = await readServerFile(paths);
  if (server === null || !lives(server.pid)) return null;
  try {
    const response = await fetch(`${server.url}/api/version`, { signal: AbortSignal.timeout(limitMs) });
    const answer = z.object({ name: z.literal("somora"), startedAt: z.number() }).safeParse(await response.json());
    return answer.success && answer.data.startedAt === server.startedAt ? server : null;
  } catch {
    return null; // nobody, or somebody else, answers there
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
