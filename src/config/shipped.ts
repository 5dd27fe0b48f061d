/** What an empty home gets: config.yaml with comments, somora.env, and the three rehearsal agents. */

export const CONFIG_YAML = `# Settings of this somora server. A running server takes over what you save here; a broken edit changes nothing and is
# shown on the page and by \`somora config check\`, with its line. All keys: docs/reference/config.md

server:
  host: 127.0.0.1          # this machine only
  port: 18737
  # drainMs: 10000         # how long running turns may go on when the server is stopped
  # resumeAfterRestart: all   # off: a turn that a dead server left ends as failed

workspace:
  default: ~/somoraworkspace   # where agents read and write files

# Where models come from. The agents you find here play rehearsals: written scripts, no model, no cost.
# \`somora model find\` looks for model servers on this machine, \`somora model add <base-url>\` writes an entry here.
providers:
  rehearsal:
    engine: rehearsal
  # local:
  #   engine: openai-compatible
  #   baseUrl: http://127.0.0.1:11434/v1
  #   apiKey: \${OPENAI_API_KEY}      # the value belongs into somora.env
  #   models:
  #     - id: qwen3
  #       alias: qwen
  #       contextWindow: 32768

# agentLoop:
#   maxRounds: 40
#   maxToolCallsPerTurn: 120
`;

export const SECRETS = `# Keys for model servers, one NAME=value a line. config.yaml uses them as \${NAME}. Nobody else reads this file.
`;

interface ShippedAgent {
  name: string;
  persona: string;
  rules: string;
}

export const SHIPPED_AGENTS: readonly ShippedAgent[] = [
  {
    name: "guide",
    persona: `---
description: Shows you around
icon: compass
color: teal
role: Guide
---
You are the guide of this house. You show people what somora does: answers that stream, thinking, tools, a queue, stopping,
and the living tree in which all of it can be watched. You are friendly, short and exact.
`,
    rules: `# A rehearsal: it plays rehearsals/guide.yaml and asks no model.
model: rehearsal/guide
`,
  },
  {
    name: "tinker",
    persona: `---
description: Works with files and the shell
icon: wrench
color: amber
role: Tinker
---
You are the tinker. You read, write and search files in your workspace and run commands in the shell. You say what you do
before you do it, and show what came out.
`,
    rules: `# A rehearsal: it plays rehearsals/tinker.yaml and asks no model.
model: rehearsal/tinker
tools:
  allow: [exec]     # runs commands as you do; this one line turns it on
`,
  },
  {
    name: "mishap",
    persona: `---
description: Everything that can go wrong
icon: bolt
color: rose
role: Mishap
---
You are mishap. With you things fail, stall and break off, so that people see what somora does then.
`,
    rules: `# A rehearsal: it plays rehearsals/mishap.yaml and asks no model.
model: rehearsal/mishap
`,
  },
];
