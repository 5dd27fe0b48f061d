/** Content hashes of source trees, so that what has not changed is not made again. No dependency: also runs before an install. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** All files at or below the paths (relative to the root), sorted, that `wanted` takes. What is missing is left out. */
export function filesUnder(paths, wanted = () => true) {
  const found = [];
  const visit = (path) => {
    if (!existsSync(path)) return;
    if (!statSync(path).isDirectory()) return void (wanted(path) && found.push(path));
    for (const name of readdirSync(path)) if (name !== "node_modules" && !name.startsWith(".")) visit(join(path, name));
  };
  for (const path of paths) visit(join(root, path));
  return found.sort();
}

/** One hash over names and contents. */
export function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files) {
    hash.update(`${relative(root, file).split(sep).join("/")}\0`);
    hash.update(createHash("sha256").update(readFileSync(file)).digest());
  }
  return hash.digest("hex").slice(0, 16);
}

/** The JSON of a file, or null when there is none or it is broken. */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error instanceof SyntaxError) return null;
    throw error;
  }
}
