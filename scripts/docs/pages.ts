/** The reference pages, each made from the table the product itself uses. A test compares them with the committed ones. */
import type { z } from "zod";
import { agentSchema, configSchema, describeKeys } from "../../src/config/index.ts";
import { COMMANDS } from "../../src/cli/index.ts";
import { optionRows, usageOf } from "../../src/cli/help.ts";
import { ERRORS } from "../../src/protocol/errors.ts";
import { agentsFrames, clientOpSchema, serverFrames, sessionFrames, treeFrames } from "../../src/protocol/frames.ts";
import type { ToolListing } from "../../src/ports/tools.port.ts";
import { ROUTES } from "../../src/server/index.ts";
import { HEAD, markdownTable, shapeWords } from "./markdown.ts";

/** By path below the checkout. `tools` empty: no page on them. */
export function referencePages(tools: readonly ToolListing[]): Map<string, string> {
  const pages = new Map([
    ["docs/reference/commands.md", commandsPage()],
    ["docs/reference/config.md", configPage()],
    ["docs/reference/errors.md", errorsPage()],
    ["docs/reference/routes.md", routesPage()],
    ["docs/reference/frames.md", framesPage()],
  ]);
  if (tools.length > 0) pages.set("docs/reference/tools.md", toolsPage(tools));
  return pages;
}

function commandsPage(): string {
  const sections = COMMANDS.map((command) => {
    const given = (command.arguments ?? []).map(({ name, about }): [string, string] => [`\`${name}\``, about]);
    const options = optionRows(command).map(([name, about]): [string, string] => [`\`${name}\``, about]);
    const rows = [...given, ...options];
    const notes = (command.notes ?? []).map((note) => `\n${note}\n`).join("");
    return `## somora ${command.name}\n\n${command.summary}\n\n\`\`\`sh\n${usageOf(command)}\n\`\`\`\n${rows.length > 0 ? `\n${markdownTable(["", "what"], rows)}` : ""}${notes}`;
  });
  return `${HEAD}# Commands\n\n\`node bin/somora.mjs <command>\` from a checkout. \`somora <command> --help\` prints the same. Commands that ask the server find it\nthrough the home (\`SOMORA_HOME\`, else \`~/.somora\`). Durations: \`500ms\`, \`60s\`, \`2m\`, \`1h\`. An error is one sentence on stderr and a\nnon-zero exit.\n\n${sections.join("\n")}`;
}

const ENVIRONMENT: [string, string][] = [
  ["`SOMORA_HOME`", "The home, in place of `~/.somora`"],
  ["`SOMORA_HOST`", "In place of `server.host`"],
  ["`SOMORA_PORT`", "In place of `server.port`; 0 takes any free one"],
];

function keyRows(schema: z.ZodType): string[][] {
  return describeKeys(schema).map(({ key, allowed, default: value, required, about }) => [
    `\`${key}\``,
    allowed,
    value === null ? (required ? "required" : "–") : `\`${value}\``,
    about,
  ]);
}

function configPage(): string {
  const head = ["key", "allowed", "default", "what"];
  return `${HEAD}# Configuration

The command line wins over the environment, the environment over the file, the file over the default. An unknown key or a wrong value is
refused with file, line, key, value, what is allowed and the nearest known key. A broken edit of a running server changes nothing: the last
valid version stays in force, and the page and \`somora config check\` name the line. \`\${NAME}\` and \`\${NAME:-default}\` are filled from
\`somora.env\`, then from the environment.

## config.yaml

${markdownTable(head, keyRows(configSchema))}
## agents/<name>/agent.yaml

One that is broken fails closed: what its last valid version denied stays denied, what it allowed beyond the kind is gone, and the agent
says why it does not answer.

${markdownTable(head, keyRows(agentSchema))}
## Frontmatter of agents/<name>/AGENTS.md

\`name\`, \`description\`, \`icon\`, \`color\`, \`role\`: all optional, all text. A frontmatter that cannot be read counts as none.

## Environment

${markdownTable(["name", "what"], ENVIRONMENT)}`;
}

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, { status, when, again }]) => [`\`${code}\``, String(status), when, again ? "yes" : "no"]);
  return `${HEAD}# Errors

Over HTTP an error is \`{"error": {"code", "message", "hint"?, …}}\`; the message says what was refused and the rule, the hint the way out.

${markdownTable(["code", "status", "when", "again later?"], rows)}`;
}

function routesPage(): string {
  const sections = ROUTES.map((route) => {
    const lines = [`## ${route.method} /api${route.path}`, "", route.summary, ""];
    const query = shapeWords(route.query);
    if (query !== "{}") lines.push(`- query: \`${query}\``);
    if (route.body !== null) lines.push(`- body: \`${shapeWords(route.body)}\``);
    lines.push(`- answers: ${route.answers}`);
    if (route.refuses.length > 0) lines.push(`- refuses: ${route.refuses.map((code) => `\`${code}\``).join(", ")}`);
    if (route.open) lines.push("- needs no key");
    return `${lines.join("\n")}\n`;
  });
  return `${HEAD}# Routes

JSON under \`/api\`. Every request passes the same gate first: Host, then Origin, then the key (\`Authorization: Bearer <key>\`, or the cookie
from pairing; with the cookie everything but GET and HEAD must carry this server's own Origin). A body has at most 1 MiB, a message at most
262,144 characters. An unknown field of a body is refused by name. \`?\` marks what may be left out. Errors: [errors.md](errors.md).

${sections.join("\n")}`;
}

function framesPage(): string {
  const rows = (frames: Readonly<Record<string, z.ZodType>>): string[][] =>
    Object.entries(frames).map(([type, schema]) => [`\`${type}\``, `\`${shapeWords(schema)}\``]);
  return `${HEAD}# Frames of /live

One WebSocket at \`/live\` for everything a client watches, checked like a request before the upgrade; the key may also come as the
subprotocol \`somora.<key>\`. The client sends:

\`\`\`
${clientOpSchema.options.map((option) => shapeWords(option)).join("\n")}
\`\`\`

The server sends \`{topic, seq, at, type, data}\`. \`seq\` is \`"<epoch>.<n>"\`: the epoch changes with every start, \`n\` grows by one per
topic, a gap is an error. On \`watch\` come the frames after \`since\` when they are still kept (2,000 frames or 1 MB), else one frame of type
\`snapshot\` that stands for everything up to its \`seq\`. A client that cannot keep up gets a fresh snapshot. \`ping\` is answered with
\`{type: "pong"}\`, a bad frame with \`{type: "error", code, message}\`; after ten the socket closes with 1008.

Topics: \`tree\`, \`agents\`, \`server\`, \`session:<agent>/<slug>\`.

## session:<agent>/<slug>

\`offset\` counts UTF-16 units within the block; a delta never splits a character. Text is merged: the first piece of a block goes at once,
then one at most every 200 ms. The snapshot holds the last 100 rows, the running turn with its blocks and calls, the queue and the model.

${markdownTable(["type", "data"], rows(sessionFrames))}
## tree

The snapshot is \`{actors}\`. At most ten frames a second.

${markdownTable(["type", "data"], rows(treeFrames))}
## agents

The snapshot is \`{agents}\`.

${markdownTable(["type", "data"], rows(agentsFrames))}
## server

The snapshot is the same line as the frame.

${markdownTable(["type", "data"], rows(serverFrames))}`;
}

function toolsPage(tools: readonly ToolListing[]): string {
  const sections = [...tools]
    .sort((a, b) => (a.toolset === b.toolset ? (a.name < b.name ? -1 : 1) : a.toolset < b.toolset ? -1 : 1))
    .map((tool) => {
      const shape = tool.inputSchema as {
        properties?: Record<string, { type?: string; description?: string; default?: unknown }>;
        required?: string[];
      };
      const required = new Set(shape.required ?? []);
      const rows = Object.entries(shape.properties ?? {}).map(([name, field]) => [
        `\`${name}\``,
        field.type ?? "",
        field.default === undefined ? (required.has(name) ? "required" : "–") : `\`${JSON.stringify(field.default)}\``,
        field.description ?? "",
      ]);
      return `## ${tool.name}\n\n\`toolset:${tool.toolset}\` · at most ${tool.maxResultSizeChars.toLocaleString("en-US")} characters of result\n\n${tool.description}\n${rows.length > 0 ? `\n${markdownTable(["input", "type", "default", "what"], rows)}` : ""}`;
    });
  return `${HEAD}# Tools\n\nWhich agent is offered what is decided by \`tools.allow\` and \`tools.deny\` of its agent.yaml ([config.md](config.md)).\n\n${sections.join("\n")}`;
}
