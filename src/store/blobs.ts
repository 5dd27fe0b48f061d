/**
 * Values too large for a row, as files by the hash of their bytes. The file is synced, and its folder with it, before the
 * row that names it is written; what no row names is swept. In the row stands a mark that no JSON text begins with; a plain
 * text that begins with it becomes a file too, so the mark is never ambiguous.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, readdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { whenAbsent } from "./files.ts";

/** Bytes of UTF-8 above which a body is a file. */
export const BLOB_LIMIT = 256 * 1024;
const MARK = "\u0001blob:";

export function isBlobMark(body: string | null): body is string {
  return body !== null && body.startsWith(MARK);
}

export class Blobs {
  readonly folder: string;
  /** Hashes known to be on disk: the same text is written once. */
  readonly #known = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** What to store in the row for this body: the body itself, or the mark of its file, which is on disk then. */
  async store(body: string): Promise<string> {
    // A UTF-16 unit is at most three bytes of UTF-8: most bodies need no count.
    if (body.length * 3 <= BLOB_LIMIT && !body.startsWith(MARK)) return body;
    if (Buffer.byteLength(body) <= BLOB_LIMIT && !body.startsWith(MARK)) return body;
    const bytes = Buffer.from(body, "utf8");
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (!this.#known.has(hash)) {
      await this.#write(hash, bytes);
      this.#known.add(hash);
    }
    return MARK + hash;
  }

  /** The body a row stands for. Rejects when its file is gone or was changed. */
  async load(body: string): Promise<string> {
    if (!isBlobMark(body)) return body;
    const hash = body.slice(MARK.length);
    const bytes = await readFile(join(this.folder, hash));
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== hash) throw new Error(`The file ${join(this.folder, hash)} was changed: its content has the hash ${found}.`);
    return bytes.toString("utf8");
  }

  /** Deletes files that no row names and that are older than `before` (file time, wall ms). Returns how many. */
  async sweep(named: ReadonlySet<string>, before: number): Promise<number> {
    const files = await readdir(this.folder).catch(whenAbsent([] as string[]));
    let swept = 0;
    for (const file of files) {
      const path = join(this.folder, file);
      if (named.has(MARK + file) || (await stat(path)).mtimeMs >= before) continue;
      this.#known.delete(file);
      await unlink(path);
      swept++;
    }
    return swept;
  }

  async #write(hash: string, bytes: Buffer): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, hash);
    const aside = `${path}.${process.pid}.tmp`;
    const file = await open(aside, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
    await syncFolder(this.folder);
  }
}

/** A renamed or new file is only certain to be found after a power loss when its folder was synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
