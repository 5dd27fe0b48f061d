/** What to tell about a store that does not open or cannot be read. */
import { basename, join } from "node:path";
import { SomoraError } from "../protocol/errors.ts";
import { asideFolders, keepAside } from "./aside.ts";
import type { StoreFiles } from "./files.ts";

/** The disk or its rights, not the bytes: trying to repair them would be wrong. */
const NOT_THE_BYTES =
  /Permission denied|Read-only file system|No space left|Too many open files|EACCES|EPERM|EROFS|ENOSPC|EDQUOT|EMFILE|ENFILE/i;
const LOCKED = /Could not set lock|Conflicting lock/i;

/** The refusals that are not about damage; null when the bytes themselves are at fault. */
export function plainRefusal(file: string, error: unknown): SomoraError | null {
  if (error instanceof SomoraError) return error;
  const words = wordsOf(error);
  if (LOCKED.test(words)) {
    const holder = /PID (\d+)/.exec(words)?.[1];
    return new SomoraError(
      "HOME_LOCKED",
      `The store ${file} is open in another process${holder === undefined ? "" : ` (pid ${holder})`}.`,
      {
        hint: "Stop that process, or use another SOMORA_HOME.",
        ...(holder === undefined ? {} : { details: { pid: Number(holder) } }),
        cause: error,
      },
    );
  }
  if (!NOT_THE_BYTES.test(words)) return null;
  return new SomoraError("STORE_UNREADABLE", `The store ${file} cannot be opened: ${firstLine(words)}`, {
    hint: "Make the folder writable and give it free space; the file itself was not touched.",
    cause: error,
  });
}

/** For a database that cannot be repaired: keeps its bytes and says how to go on. */
export async function refusal(files: StoreFiles, error: unknown, now: number): Promise<SomoraError> {
  const plain = plainRefusal(files.database, error);
  if (plain !== null) return plain;
  const words = firstLine(wordsOf(error));
  const kept = await keepAside(files, now).then(
    (folder) => ({ folder, said: `its bytes are kept in ${folder}` }),
    (failure: unknown) => ({
      folder: null,
      said: `its bytes could not be copied (${firstLine(wordsOf(failure))}), so nothing was touched`,
    }),
  );
  const copy = (await asideFolders(files.folder, "copy").catch(() => [])).at(-1) ?? null;
  return new SomoraError("STORE_UNREADABLE", `The store ${files.database} does not open (${words}); ${kept.said}.`, {
    hint:
      copy === null
        ? "Restore a backup, or move store/ away to begin with an empty one."
        : `Restore a backup, or begin from the copy made before the last update: ${fromCopy(files.folder, copy)}. What came after it is then gone.`,
    details: { file: files.database, aside: kept.folder, copy },
    cause: error,
  });
}

/** The copy lies in the folder that is moved away. */
function fromCopy(folder: string, copy: string): string {
  return `mv ${folder} ${folder}-damaged && cp -r ${join(`${folder}-damaged`, basename(copy))} ${folder}`;
}

export function firstLine(words: string): string {
  return words.split("\n", 1)[0]?.slice(0, 300) ?? "";
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
