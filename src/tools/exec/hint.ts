/** What to do when a command failed because it wanted a terminal, an editor or a password. */
const WANTED: [RegExp, string][] = [
  [
    /terminal prompts disabled|could not read (?:username|password)|askpass|permission denied \(publickey|host key verification failed/iu,
    "It wanted a password or a confirmation, and nobody can type here. Use a credential helper, a key or a token, or ask the person.",
  ],
  [
    /a terminal is required|a password is required|no tty present|must be run from a terminal/iu,
    "It wanted a terminal for a password. Root rights are not given here; ask the person to run it.",
  ],
  [
    /problem with the editor|there was a problem with the editor|editor '?false'?|empty commit message|terminal is dumb.*editor/iu,
    "It wanted an editor, and editors are off. Give the text as an argument (git commit -m …, git rebase without -i).",
  ],
  [
    /(?:inappropriate ioctl for device|not a tty|open terminal failed|error opening terminal|\/dev\/tty)/iu,
    "It wanted a terminal. Use its non-interactive options.",
  ],
];

/** Another screen is asked for, or the cursor is put somewhere: what editors, pagers and monitors draw with. */
const FULL_SCREEN = /\u001b\[(?:\?1049h|\d+;\d+H)/u;

export function hintFor(command: string, exitCode: number | null, { stdout, stderr }: { stdout: string; stderr: string }): string | null {
  if (exitCode === 0) return null;
  if (FULL_SCREEN.test(stdout) || FULL_SCREEN.test(stderr))
    return "It drew a full-screen program, and there is no terminal here. Change files with file_patch; use programs that take arguments and print.";
  const fits = WANTED.find(([pattern]) => pattern.test(stderr));
  if (fits !== undefined) return fits[1];
  if (exitCode === 127) return "The command was not found; is it installed, is its name right?";
  if (exitCode !== null && /(?:^|[\s;&|])(?:read|select)\s/u.test(command))
    return "Standard input is empty here: `read` gets nothing. Put the answer into the command.";
  return null;
}
