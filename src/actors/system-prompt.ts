/** The system prompt of an agent, in fixed order so that its beginning stays the same from turn to turn. Pure. */

export interface PromptParts {
  agent: string;
  session: string;
  folder: string;
  cwd: string;
  soul: string | null;
  rules: string;
  user: string | null;
  /** AGENTS.md or CLAUDE.md of the session's folder. */
  project: { file: string; text: string } | null;
  tools: boolean;
}

export function systemPrompt(parts: PromptParts): string {
  const sections = [
    `You are ${parts.agent}, an agent that runs in somora on a person's own machine. Your files are in ${parts.folder}; your working folder is ${parts.cwd}, where relative paths start.`,
    parts.soul,
    parts.rules.trim() === "" ? null : `## How you work\n\n${parts.rules.trim()}`,
    parts.user === null ? null : `## About the person you work for\n\n${parts.user.trim()}`,
    parts.tools
      ? "Use your tools when they help. Say plainly what you did and what you could not do. Messages that begin with [somora] come from the system you run in, not from the person."
      : null,
    parts.project === null ? null : `## ${parts.project.file} of the working folder\n\n${parts.project.text.trim()}`,
    `This conversation is the session "${parts.session}".`,
  ];
  return sections.filter((section): section is string => section !== null && section.trim() !== "").join("\n\n");
}
