/**
 * Which paths file tools may touch: the one table. It is asked twice, for the path as written and for the real path of what
 * is there (links followed, dangling ones too), and once more for what was really opened (`guarded-files.ts`). It prevents
 * accidents and argument tricks; `exec` runs as the user and is not bound by it.
 */
import { lstat, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { realpathSync } from "node:fs";
import { SomoraError } from "../protocol/errors.ts";
import { hasCode } from "./files.ts";

export type Access = "read" | "write";

export interface PathPolicyOptions {
  /** `SOMORA_HOME`. */
  home: string;
  /** The home folder of the user the server runs as. */
  userHome?: string;
}

/** Why a path is refused, in words; null when it is allowed. */
export interface PathPolicy {
  refusal(path: string, access: Access, agent: string): string | null;
  readonly home: string;
  readonly userHome: string;
}

const SECRET = "it holds keys or secrets";
const SYSTEM = "the system's own files are not for tools";
const SYSTEM_WRITE = "system folders are read-only for tools";

/** Below the user's home: never read or written. */
const USER_SECRETS = [
  ".ssh",
  ".gnupg",
  ".aws/credentials",
  ".kube/config",
  ".netrc",
  ".git-credentials",
  ".docker/config.json",
  ".claude/.credentials.json",
  ".codex/auth.json",
  ".grok/auth.json",
];
const SYSTEM_NEVER = [
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/sudoers",
  "/etc/sudoers.d",
  "/etc/ssh",
  "/boot",
  "/sys",
  "/proc",
  "/private/etc/sudoers",
  "/private/etc/ssh",
];
const SYSTEM_READ_ONLY = ["/etc", "/usr", "/dev", "/bin", "/sbin", "/lib", "/lib64", "/private/etc", "/System"];

/** Below SOMORA_HOME: never read or written. */
const HOME_NEVER = ["key", "somora.env", "store", "run", "audit"];
/** Below SOMORA_HOME: rules that bind the agents. */
const HOME_READ_ONLY = ["config.yaml", "team.yaml", "skills", "hooks", "hooks.yaml", "known_hosts.json", "logs"];
/** Below one's own agent folder: what we keep for people, and rules. */
const OWN_READ_ONLY = ["agent.yaml", "skills", "hooks", "hooks.yaml", "sessions", "tool-output", "exec-jobs", "changes"];

export function createPathPolicy(options: PathPolicyOptions): PathPolicy {
  const home = resolve(options.home);
  const userHome = resolve(options.userHome ?? homedir());
  const homes = forms(home);
  const userHomes = forms(userHome);

  function refusal(path: string, access: Access, agent: string): string | null {
    const full = resolve(path);
    for (const root of homes) {
      const inside = below(root, full);
      if (inside !== null) return homeRefusal(inside, access, agent);
    }
    for (const root of userHomes) {
      const inside = below(root, full);
      if (inside !== null && USER_SECRETS.some((secret) => covers(secret, inside))) return SECRET;
    }
    if (SYSTEM_NEVER.some((root) => covers(root, full))) return SYSTEM;
    if (access === "write" && SYSTEM_READ_ONLY.some((root) => covers(root, full))) return SYSTEM_WRITE;
    if (access === "write" && homes.some((root) => covers(full, root))) return "it holds SOMORA_HOME";
    return null;
  }

  return { refusal, home, userHome };
}

function homeRefusal(inside: string, access: Access, agent: string): string | null {
  if (HOME_NEVER.some((name) => covers(name, inside)))
    return "`key`, `somora.env`, `store/`, `run/` and `audit/` of SOMORA_HOME are never for tools";
  if (access === "write" && HOME_READ_ONLY.some((name) => covers(name, inside)))
    return "settings, skills and hooks bind the agent itself and are read-only for tools";
  if (access === "write" && isKeptCopy(inside)) return "backups of settings are read-only for tools";
  const [room, owner, ...rest] = inside.split(sep);
  if (fold(room ?? "") !== "agents") return access === "write" && inside === "" ? "it is SOMORA_HOME itself" : null;
  if (owner === undefined) return access === "write" ? "it is the folder of all agents" : null;
  const within = rest.join(sep);
  if (fold(owner) === fold(agent)) {
    return access === "write" && OWN_READ_ONLY.some((name) => covers(name, within))
      ? "what binds the agent and what is kept for people is read-only for tools"
      : null;
  }
  // Of another agent only its persona and settings are open, as files right in its folder.
  if (rest.length > 1 || (within !== "" && !/\.(?:md|ya?ml)$/iu.test(within)))
    return "another agent's memory, sessions, outputs and changes are private";
  return access === "write" && !/\.md$/iu.test(within) ? "another agent's settings are read-only for tools" : null;
}

/** Backups our own settings page leaves beside the files. */
function isKeptCopy(inside: string): boolean {
  return /(?:^|[\\/])(?:config|team|agent)\.yaml\.bak/iu.test(inside);
}

/** File names that differ only in case are one file on macOS. */
function fold(text: string): string {
  return process.platform === "darwin" ? text.toLowerCase().normalize("NFC") : text;
}

function covers(root: string, path: string): boolean {
  const a = fold(root);
  const b = fold(path);
  return a === b || b.startsWith(a.endsWith(sep) ? a : `${a}${sep}`);
}

/** `path` relative to `root` where it lies inside ("" for the root itself), else null. */
function below(root: string, path: string): string | null {
  return covers(root, path) ? relative(fold(root), fold(path)) : null;
}

/** A folder as written and as it really is. */
function forms(folder: string): string[] {
  try {
    const real = realpathSync.native(folder);
    return real === folder ? [folder] : [folder, real];
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [folder];
    throw error;
  }
}

const MOST_LINKS = 40;

/**
 * Where a path really leads: every link followed, also where the end does not exist yet (a dangling link gives the place it
 * points to). Unlike `realpath` it does not fail on missing tails.
 */
export async function realPathOf(path: string): Promise<string> {
  let links = 0;
  let pending = resolve(path)
    .slice(parse(path).root.length || 1)
    .split(sep)
    .filter((part) => part !== "");
  let at = parse(resolve(path)).root;
  while (pending.length > 0) {
    const [part, ...rest] = pending as [string, ...string[]];
    if (part === "." || part === "") {
      pending = rest;
      continue;
    }
    if (part === "..") {
      at = dirname(at);
      pending = rest;
      continue;
    }
    const next = join(at, part);
    const target = await linkTarget(next);
    if (target === null) {
      at = next;
      pending = rest;
      continue;
    }
    links += 1;
    if (links > MOST_LINKS)
      throw new SomoraError("PATH_DENIED", `The path ${path} goes through more than ${MOST_LINKS} links.`, {
        hint: "Name the file without the links.",
      });
    if (isAbsolute(target)) at = parse(target).root;
    pending = [...target.split(sep).filter((piece) => piece !== ""), ...rest];
  }
  return at;
}

async function linkTarget(path: string): Promise<string | null> {
  try {
    const stat = await lstat(path);
    return stat.isSymbolicLink() ? await readlink(path) : null;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES", "EINVAL", "ENAMETOOLONG")) return null;
    throw error;
  }
}

/** Throws PATH_DENIED, naming the rule. */
export function denied(path: string, access: Access, reason: string): SomoraError {
  return new SomoraError("PATH_DENIED", `${path} may not be ${access === "read" ? "read" : "written"} by a tool: ${reason}.`, {
    hint:
      access === "read"
        ? "Work with another path; a person can show you what you need from it."
        : "Write somewhere else, or ask the person to make this change.",
  });
}
