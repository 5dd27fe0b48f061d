/**
 * Files as they were before a tool changed them: `agents/<agent>/changes/<id>/` with `meta.json` and `before`. Written and
 * synced before the change itself, under an id made from the effect key, so that after a crash the folder tells what was
 * meant and the hashes tell whether it happened.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { SomoraError } from "../protocol/errors.ts";
import type { FileChange } from "../ports/tools.port.ts";
import { asideName, decodeText, hasCode, looksBinary, sha256, syncFolder, writeFileAtomic, writeSynced } from "./files.ts";
import { checkPath, openFolderOf, openForRead } from "./guarded-files.ts";
import { unifiedDiff } from "./line-diff.ts";
import type { PathPolicy } from "./path-policy.ts";

/** Kept this long. */
export const KEEP_CHANGES_MS = 7 * 24 * 3_600_000;
const CHANGE_ID = /^chg_[0-9a-f]{20}$/;

const metaSchema = z.object({
  id: z.string(),
  path: z.string(),
  kind: z.enum(["created", "changed"]),
  mode: z.number().int(),
  hashBefore: z.string().nullable(),
  hashAfter: z.string(),
  agent: z.string(),
  session: z.string(),
  turnId: z.string().nullable(),
  callId: z.string(),
  effectKey: z.string(),
  at: z.number().int(),
});
export type ChangeMeta = z.infer<typeof metaSchema>;

export function changeIdOf(effectKey: string, path: string): string {
  return `chg_${sha256(`${effectKey}\0${path}`).slice(0, 20)}`;
}

export function changesFolder(home: string, agent: string): string {
  return join(home, "agents", agent, "changes");
}

/** Writes the kept copy; on disk when it resolves. An older copy of the same effect is replaced. */
export async function keepBefore(home: string, meta: ChangeMeta, before: Buffer | null): Promise<void> {
  const folder = join(changesFolder(home, meta.agent), meta.id);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (before !== null) await writeSynced(join(folder, "before"), before);
  await writeSynced(join(folder, "meta.json"), `${JSON.stringify(meta, null, 2)}\n`);
  await syncFolder(folder);
  await syncFolder(dirname(folder));
}

/** Takes a kept copy away again: nothing was changed. */
export async function dropBefore(home: string, agent: string, id: string): Promise<void> {
  await rm(join(changesFolder(home, agent), id), { recursive: true, force: true });
}

export async function readKept(home: string, agent: string, id: string): Promise<{ meta: ChangeMeta; before: Buffer | null } | null> {
  if (!CHANGE_ID.test(id)) return null;
  const folder = join(changesFolder(home, agent), id);
  let text: string;
  try {
    text = await readFile(join(folder, "meta.json"), "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
  const meta = metaSchema.parse(JSON.parse(text));
  return { meta, before: meta.kind === "changed" ? await readFile(join(folder, "before")) : null };
}

/** What a card shows. Binary content has no diff. */
export function describeChange(meta: Pick<ChangeMeta, "id" | "path" | "kind">, before: Buffer | null, after: Buffer): FileChange {
  if (looksBinary(after) || (before !== null && looksBinary(before))) {
    return {
      id: meta.id,
      path: meta.path,
      kind: meta.kind,
      added: 0,
      removed: 0,
      diff: `Binary file ${meta.path} changed, ${before?.length ?? 0} to ${after.length} bytes`,
    };
  }
  const diff = unifiedDiff(meta.path, before === null ? "" : decodeText(before), decodeText(after), { created: before === null });
  return { id: meta.id, path: meta.path, kind: meta.kind, added: diff.added, removed: diff.removed, diff: diff.text };
}

/** Puts a file back as it was. Refuses with FILE_CHANGED when it is no longer what the tool left. */
export async function undoChange(policy: PathPolicy, agent: string, id: string): Promise<{ path: string }> {
  const kept = await readKept(policy.home, agent, id);
  if (kept === null)
    throw new SomoraError("CHANGE_UNKNOWN", `There is no kept copy ${id} of agent ${agent}.`, { hint: "Copies are kept for 7 days." });
  const { meta, before } = kept;
  const real = await checkPath(policy, meta.path, "write", agent);
  const now = await currentBytes(policy, real, agent);
  const hash = now === null ? null : sha256(now);
  if (hash !== null && hash === meta.hashBefore) throw changedSince(meta.path, "it already is as it was before");
  if (hash !== meta.hashAfter) throw changedSince(meta.path, now === null ? "it was removed" : "something changed it since");
  const folder = await openFolderOf(policy, real, agent);
  try {
    const target = folder.at(basename(real));
    if (before === null) {
      await rm(target);
    } else {
      const aside = folder.at(asideName());
      const handle = await open(aside, "wx", meta.mode);
      try {
        await handle.writeFile(before);
        await handle.chmod(meta.mode);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(aside, target);
    }
    await syncFolder(folder.real);
  } finally {
    await folder.close();
  }
  return { path: meta.path };
}

function changedSince(path: string, how: string): SomoraError {
  return new SomoraError("FILE_CHANGED", `${path} was not put back: ${how}.`, {
    hint: "The copy stays under the agent's changes/ folder for 7 days.",
  });
}

async function currentBytes(policy: PathPolicy, real: string, agent: string): Promise<Buffer | null> {
  try {
    const { handle } = await openForRead(policy, real, agent);
    try {
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SomoraError && error.code === "FILE_NOT_FOUND") return null;
    throw error;
  }
}

/** Persona Markdown gets a copy beside it as well, the newest five stay; gives its path. */
export async function backUpPersona(real: string, before: Buffer, at: number): Promise<string> {
  const stamp = new Date(at)
    .toISOString()
    .replace(/[-:]/gu, "")
    .replace(/\.\d+Z$/u, "Z");
  const path = `${real}.bak-${stamp}`;
  await writeFileAtomic(path, before);
  const folder = dirname(real);
  const backups = (await readdir(folder)).filter((name) => name.startsWith(`${basename(real)}.bak-`)).sort();
  for (const name of backups.slice(0, -5)) await rm(join(folder, name), { force: true });
  return path;
}

/** Removes what is older than `keepMs` from a folder; gives how many. */
export async function sweepFolder(folder: string, keepMs: number, now: number): Promise<number> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return 0;
    throw error;
  }
  let removed = 0;
  for (const name of names) {
    const path = join(folder, name);
    const info = await stat(path).catch((error: unknown) => {
      if (hasCode(error, "ENOENT")) return null;
      throw error;
    });
    if (info === null || now - info.mtimeMs <= keepMs) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
