/**
 * The environment of a command: ours without what is internal, no pager, no editor, no prompt. An editor that is opened fails
 * (so a commit or an interactive rebase aborts instead of going on unasked), a password prompt fails at once.
 */
import { delimiter, join } from "node:path";

const INTERNAL =
  /^(?:SOMORA_(?:EFFECT|RUNNER|HOME_ID|CLAUDE_BIN|CODEX_BIN|GROK_BIN)|NODE_ENV|VITEST.*|TSX_TSCONFIG_PATH|CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT))$/u;

const UNATTENDED: Record<string, string> = {
  TERM: "dumb",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  BAT_PAGER: "cat",
  AWS_PAGER: "",
  LESS: "-FRX",
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
  KUBE_EDITOR: "false",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  SSH_ASKPASS_REQUIRE: "never",
  SUDO_ASKPASS: "/bin/false",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
  GH_PROMPT_DISABLED: "1",
  HOMEBREW_NO_AUTO_UPDATE: "1",
  npm_config_yes: "true",
};

const USER_FOLDERS = [".local/bin", "bin", ".cargo/bin", ".npm-global/bin", "go/bin", ".bun/bin", ".deno/bin"];
const SYSTEM_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/homebrew/bin"];

export interface CommandIdentity {
  agent: string;
  session: string;
}

/** `asked` wins over everything, internal names included. */
export function commandEnvironment(
  base: NodeJS.ProcessEnv,
  userHome: string,
  identity: CommandIdentity,
  asked: Record<string, string>,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && !INTERNAL.test(name)) environment[name] = value;
  }
  const known = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const extra = [...USER_FOLDERS.map((folder) => join(userHome, folder)), ...SYSTEM_FOLDERS].filter((folder) => !known.includes(folder));
  environment["PATH"] = [...known, ...extra].join(delimiter);
  return { ...environment, ...UNATTENDED, SOMORA_AGENT: identity.agent, SOMORA_SESSION: identity.session, ...asked };
}
