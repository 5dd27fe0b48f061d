/** One question, its answer on stdout. On a terminal the answer streams; what else happens goes to stderr. */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { TOPIC } from "../../protocol/live-ops.ts";
import type { SessionFrame } from "../../protocol/frames.ts";
import type { SessionView } from "../../protocol/session-view.ts";
import { exitCodeOf, type TurnResult } from "../../protocol/turn.ts";
import { segment, type Api } from "../api.ts";
import { CliError, JSON_OPTION, type Command, type CommandContext } from "../command.ts";
import { parseDuration } from "../duration.ts";
import { watchTopic, type LiveFrame, type LiveWatch } from "../live.ts";
import { json, plainText } from "../print.ts";

const FIRST_BYTE_MS = 1_500;
const SECOND_PRESS_MS = 1_500;
const WAIT_STEP_MS = 30_000;

export const askCommand: Command = {
  name: "ask",
  summary: "Ask an agent one question.",
  arguments: [
    { name: "agent", about: "Whom to ask", optional: true },
    { name: "text", about: "The question; `-` reads it from stdin. Piped stdin is added to a text", optional: true },
  ],
  options: {
    session: { value: "S", about: "Session to ask in (main)" },
    cwd: { value: "DIR", about: "Folder for a session that has none of its own (the current one)" },
    json: JSON_OPTION,
    "no-wait": { about: "Print the turn's id and leave" },
    result: { value: "TURN", about: "Ask nothing; print what became of an earlier turn" },
    timeout: { value: "60s", about: "Wait at most so long" },
    "client-key": { value: "K", about: "The same key asks only once, however often it is sent" },
  },
  notes: [
    "Exit 0 answered, 1 failed, cut, cancelled or taken back (the reason on stderr), 3 not over yet.",
    "Ctrl-C leaves and names the turn, which goes on; a second one stops it.",
  ],
  async run(context) {
    const { option, flag, io } = context;
    const timeout = option("timeout");
    const until = timeout === undefined ? Infinity : Date.now() + parseDuration(timeout, "timeout");
    const earlier = option("result");
    const api = await context.api();
    if (earlier !== undefined) return report(context, await waitFor(api, earlier, timeout === undefined ? 0 : until, null), false);

    const agent = context.arguments["agent"];
    if (agent === undefined)
      throw new CliError("`ask` needs an agent and a text.", { hint: 'Such as: somora ask guide "What can you do?"' });
    const session = option("session") ?? "main";
    const text = await question(context);
    const body = {
      agent,
      session,
      text,
      clientKey: option("client-key") ?? `cli-${randomBytes(9).toString("base64url")}`,
      ...(await folder(context, api, agent, session)),
    };

    if (flag("no-wait")) {
      const { turnId } = await api.post<{ turnId: string }>("/chat/send", body);
      io.out(flag("json") ? json({ turnId }) : `${turnId}\n`);
      return 0;
    }
    const stream = io.outIsTerminal && !flag("json") ? new Stream(context) : null;
    const watch = stream ? watchTopic(api, TOPIC.session(agent, session), (frame) => stream.take(frame)) : null;
    try {
      if (watch) await watch.ready.catch((error: unknown) => missing(error, watch));
      const { turnId } = await api.post<{ turnId: string }>("/chat/send", body);
      stream?.follow(turnId);
      return await attend(context, api, { agent, session, turnId, until, stream });
    } finally {
      watch?.close();
    }
  },
};

/** Without a live view the answer comes whole at the end; a session that is not there is told by the send that follows. */
function missing(error: unknown, watch: LiveWatch): void {
  watch.close();
  if (!(error instanceof Error)) throw error;
}

async function question({ arguments: { text }, io }: CommandContext): Promise<string> {
  if (text === "-") {
    const read = await io.readAll();
    if (read === null || read.trim() === "")
      throw new CliError("Nothing came on stdin.", { hint: "Pipe a text in, or give it as an argument." });
    return read.trimEnd();
  }
  if (text === undefined || text.trim() === "") {
    if (io.inIsTerminal) throw new CliError("`ask` needs a text.", { hint: 'Such as: somora ask guide "What can you do?"' });
    const read = await io.readAll();
    if (read === null || read.trim() === "") throw new CliError("`ask` needs a text, as an argument or on stdin.");
    return read.trimEnd();
  }
  const piped = io.inIsTerminal ? null : await io.readAll(FIRST_BYTE_MS);
  return piped === null || piped.trim() === "" ? text : `${text}\n\n${piped.trimEnd()}`;
}

/** A session's folder is set once; then it stays. */
async function folder({ option, io }: CommandContext, api: Api, agent: string, session: string): Promise<{ cwd?: string }> {
  const named = option("cwd");
  if (named !== undefined) return { cwd: resolve(io.cwd, named) };
  const { sessions } = await api.get<{ sessions: { slug: string; cwd: string | null }[] }>(`/agents/${segment(agent)}/sessions`);
  const known = sessions.find((other) => other.slug === session);
  if (!known || known.cwd !== null) return {};
  io.err(`${agent}/${session} works in ${io.cwd} from now on\n`);
  return { cwd: io.cwd };
}

async function attend(
  context: CommandContext,
  api: Api,
  asked: { agent: string; session: string; turnId: string; until: number; stream: Stream | null },
): Promise<number> {
  const { io, dependencies } = context;
  const { agent, session, turnId, until, stream } = asked;
  let presses = 0;
  let pressed = (): void => undefined;
  const first = new Promise<"left">((leave) => (pressed = () => leave("left")));
  let pressedAgain = (): void => undefined;
  const second = new Promise<"stop">((stop) => (pressedAgain = () => stop("stop")));
  const off = io.onInterrupt(() => {
    presses += 1;
    if (presses === 1) pressed();
    else pressedAgain();
  });
  try {
    const result = await Promise.race([waitFor(api, turnId, until, stream), first]);
    if (result !== "left") return report(context, result, stream?.finish() ?? false);
    stream?.finish();
    io.err(`left; ${turnId} goes on. Its answer: somora ask --result ${turnId}   Ctrl-C again stops it\n`);
    const then = await Promise.race([second, dependencies.sleep(SECOND_PRESS_MS).then(() => "gone" as const)]);
    if (then === "gone") return 3;
    await api.post("/chat/abort", { agent, session, turnId });
    return report(context, await waitFor(api, turnId, until, null), true);
  } finally {
    off();
  }
}

/** The turn when it is over, or pending when the time is. */
async function waitFor(api: Api, turnId: string, until: number, stream: Stream | null): Promise<TurnResult> {
  for (;;) {
    const waitMs = Math.max(0, Math.min(WAIT_STEP_MS, until - Date.now()));
    const result = await api.get<TurnResult>(`/chat/turns/${segment(turnId)}`, { waitMs: Math.round(waitMs) }).catch((error: unknown) => {
      // A server that restarts takes the turn up again; the question is on its disk.
      if (error instanceof CliError && error.code === "UNREACHABLE" && stream && Date.now() + 1_000 < until) return null;
      throw error;
    });
    if (result === null) await new Promise((again) => setTimeout(again, 500));
    else if (result.state !== "pending" || Date.now() >= until) return result;
  }
}

/** `shown`: the text stands on the terminal already. */
function report({ flag, io }: CommandContext, result: TurnResult, shown: boolean): number {
  const exit = exitCodeOf(result);
  if (flag("json")) {
    io.out(json(result));
    return exit;
  }
  if (!shown && result.finalText !== "") io.out(`${plainText(result.finalText).trimEnd()}\n`);
  if (result.state === "pending") io.err(`not over yet: somora ask --result ${result.turnId}\n`);
  else if (result.error)
    io.err(
      `${result.outcome ?? result.state}: ${result.error.message} (${result.error.code})${result.error.hint ? `\n${result.error.hint}` : ""}\n`,
    );
  else if (result.outcome !== "completed")
    io.err(`${result.outcome ?? result.state}${result.outcomeReason ? `: ${result.outcomeReason}` : ""}\n`);
  return exit;
}

/** Writes the text of one turn as it comes; tools and thinking as lines on stderr. */
class Stream {
  readonly #context: CommandContext;
  readonly #early: LiveFrame[] = [];
  #turnId: string | null = null;
  #wrote = false;
  #lineOpen = false;
  /** Per block, how much of it is out. */
  readonly #written = new Map<string, number>();

  constructor(context: CommandContext) {
    this.#context = context;
  }

  take(frame: LiveFrame): void {
    if (this.#turnId === null) this.#early.push(frame);
    else this.#show(frame, this.#turnId);
  }

  follow(turnId: string): void {
    this.#turnId = turnId;
    for (const frame of this.#early.splice(0)) this.#show(frame, turnId);
  }

  /** True when text was written; ends its line. */
  finish(): boolean {
    this.#endLine();
    return this.#wrote;
  }

  #show(frame: LiveFrame, turnId: string): void {
    if (frame.type === "snapshot") {
      const { active } = frame.data as SessionView;
      if (active?.turnId === turnId)
        for (const block of active.blocks) if (block.kind === "text") this.#write(block.blockId, 0, block.text);
      return;
    }
    const { type, data } = frame as unknown as SessionFrame;
    if (!("turnId" in data) || data.turnId !== turnId) return;
    if (type === "text.delta") this.#write(data.blockId, data.offset, data.text);
    else if (type === "text.end") this.#endLine();
    else if (type === "text.reset") this.#note("(broken off; asked again)");
    else if (type === "thinking.start") this.#note("thinking …");
    else if (type === "call.started") this.#note(`→ ${data.tool}`);
    else if (type === "call.settled") this.#note(`${data.ok ? "✓" : "✗"} ${data.summary}`);
    else if (type === "turn.state" && data.until !== undefined) this.#note(`waiting${data.why ? `: ${data.why}` : ""}`);
  }

  #write(blockId: string, offset: number, text: string): void {
    const done = this.#written.get(blockId) ?? 0;
    const fresh = plainText(text.slice(Math.max(0, done - offset)));
    this.#written.set(blockId, Math.max(done, offset + text.length));
    if (fresh === "") return;
    this.#context.io.out(fresh);
    this.#wrote = true;
    this.#lineOpen = !fresh.endsWith("\n");
  }

  #endLine(): void {
    if (this.#lineOpen) this.#context.io.out("\n");
    this.#lineOpen = false;
  }

  #note(text: string): void {
    this.#endLine();
    this.#context.io.err(`${plainText(text)}\n`);
  }
}
