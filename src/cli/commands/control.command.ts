/** Stop and resume, and the living tree. */
import type { ActorView } from "../../protocol/actor-view.ts";
import type { TreeFrame } from "../../protocol/frames.ts";
import { type Address, isWithin } from "../../protocol/ids.ts";
import { foldTree, type TreeView } from "../../protocol/tree-view.ts";
import { CliError, JSON_OPTION, type Command, type CommandContext } from "../command.ts";
import { sentenceOf } from "../../client/index.ts";
import { watchTopic } from "../live.ts";
import { json } from "../print.ts";
import { addressOf, placeOf } from "./team.command.ts";

interface StopAnswer {
  stopped: boolean;
  actors: number;
  cancelledQueued: number;
  processes: number;
  ms: number;
  stuck?: { pid: number; command: string }[];
  stalled?: true;
}

export const controlCommands: readonly Command[] = [
  {
    name: "stop",
    summary: "Stop a session's running turn (`agent/session`), or everything at an address, its queue too.",
    arguments: [{ name: "target", about: "`agent/session`, or an address such as /agents/guide" }],
    options: { json: JSON_OPTION },
    async run({ arguments: { target = "" }, flag, io, api }) {
      const server = await api();
      if (!target.startsWith("/")) {
        const answer = await server.post<{ aborted: boolean; turnId?: string; stuck?: { pid: number; command: string }[]; stalled?: true }>(
          "/chat/abort",
          placeOf(target),
        );
        if (flag("json")) io.out(json(answer));
        else if (answer.aborted) io.out(`stopped ${answer.turnId ?? "the turn"}\n`);
        else if (answer.stuck) throw stuck(answer.stuck);
        else io.out(answer.stalled ? "stopping; the disk does not take commits, so it is not recorded yet\n" : "nothing was running\n");
        return answer.stuck ? 1 : 0;
      }
      const answer = await server.post<StopAnswer>("/stop", { address: target });
      if (flag("json")) io.out(json(answer));
      else if (answer.stuck) throw stuck(answer.stuck);
      else if (answer.stalled) io.out("stopping; the disk does not take commits, so it is not recorded yet\n");
      else
        io.out(
          `stopped ${answer.actors} actors, ${answer.processes} processes, took ${answer.cancelledQueued} waiting messages back, in ${answer.ms} ms\n`,
        );
      return answer.stuck ? 1 : 0;
    },
  },
  {
    name: "resume",
    summary: "Let a parked actor go on; with `/` the turns that were held after crashes.",
    arguments: [{ name: "address", about: "Such as /agents/guide/sessions/main" }],
    async run({ arguments: { address = "" }, io, api }) {
      await (
        await api()
      ).post("/resume", {
        address: addressOf(address),
      });
      io.out(`resumed ${address}\n`);
      return 0;
    },
  },
  {
    name: "actors",
    summary: "The living tree.",
    options: {
      watch: { about: "Go on as it changes, until Ctrl-C" },
      under: { value: "ADDRESS", about: "Only this one and those below" },
      json: JSON_OPTION,
    },
    async run(context) {
      const { flag, option, io } = context;
      if (flag("watch")) return watchTree(context);
      const { actors } = await (await context.api()).get<{ actors: ActorView[] }>("/actors", { under: option("under") });
      io.out(flag("json") ? json({ actors }) : drawTree(actors, Date.now()));
      return 0;
    },
  },
];

function stuck(processes: { pid: number; command: string }[]): CliError {
  return new CliError(`These processes do not die: ${processes.map(({ pid, command }) => `${pid} (${command})`).join(", ")}.`, {
    hint: "The session goes on without them; end them by hand.",
  });
}

async function watchTree({ flag, option, io, api }: CommandContext): Promise<number> {
  const server = await api();
  const under = (option("under") ?? "/") as Address;
  let view: TreeView = { actors: [] };
  const watch = watchTopic(server, "tree", (frame) => {
    if (frame.type === "snapshot") view = frame.data as TreeView;
    else if (frame.type === "tree.changed") view = foldTree(view, frame as unknown as TreeFrame);
    const actors = view.actors.filter((actor) => isWithin(actor.address as Address, under));
    if (flag("json")) io.out(`${JSON.stringify({ at: frame.at, actors })}\n`);
    else io.out(`${io.outIsTerminal ? "\u001b[2J\u001b[H" : ""}${drawTree(actors, Date.now())}${io.outIsTerminal ? "" : "\n"}`);
  });
  try {
    await watch.ready;
    await new Promise<void>((resolve) => {
      const off = io.onInterrupt(() => {
        off();
        resolve();
      });
    });
    return 0;
  } finally {
    watch.close();
  }
}

/** One line an actor, indented by depth: name, state, since when, waiting for what. */
function drawTree(actors: readonly ActorView[], now: number): string {
  const sorted = [...actors].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return sorted
    .map((actor) => {
      const depth = actor.address === "/" ? 0 : actor.address.split("/").length - 1;
      const name = actor.address === "/" ? "/" : actor.address.slice(actor.address.lastIndexOf("/") + 1);
      const marks = [
        actor.status === "live" ? stateOf(actor, now) : `${actor.status}${actor.parkedReason ? `: ${actor.parkedReason}` : ""}`,
        ago(now - actor.since),
        ...(actor.waitingFor ? [`waits for ${actor.waitingFor.what}`] : []),
        ...(actor.restarts > 0 ? [`restarted ${actor.restarts} times`] : []),
        ...(typeof actor.costUsd === "number" ? [`$${actor.costUsd.toFixed(4)}`] : []),
      ];
      return `${"  ".repeat(depth)}${name}  ${marks.join(" · ")}\n`;
    })
    .join("");
}

/** A session at rest says what a person has to know of it: that its queue is held, or how its last turn failed. */
function stateOf(actor: ActorView, now: number): string {
  if (actor.kind !== "session" || actor.state !== "idle") return actor.state;
  const said = sentenceOf({ actor, now });
  return said.move === "none" ? actor.state : said.word;
}

/** Children right below their parent, whatever characters names hold. */
const key = (actor: ActorView): string => (actor.address === "/" ? "" : actor.address.replaceAll("/", "\u0000"));

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
