/** Globs of file tools: `*`, `**`, `?`. Without a slash they match the base name, with one the path below the root. */

export interface Glob {
  /** `path` is relative to the root, with `/`. */
  matches(path: string): boolean;
}

export function compileGlob(glob: string): Glob {
  const whole = glob.includes("/");
  const pattern = new RegExp(`^${source(glob.startsWith("/") ? glob.slice(1) : glob)}$`, "u");
  return { matches: (path) => pattern.test(whole ? path : path.slice(path.lastIndexOf("/") + 1)) };
}

function source(glob: string): string {
  let out = "";
  for (let at = 0; at < glob.length;) {
    if (glob.startsWith("**/", at)) {
      out += "(?:[^/]+/)*";
      at += 3;
    } else if (glob.startsWith("**", at)) {
      out += ".*";
      at += 2;
    } else {
      const char = glob[at] as string;
      out += char === "*" ? "[^/]*" : char === "?" ? "[^/]" : char.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
      at += 1;
    }
  }
  return out;
}
