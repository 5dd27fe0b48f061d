/**
 * Plays a rehearsal against a throw-away home: sends what `expect` sends, kills and starts again where it says so, and compares.
 * Owns the home and the servers on it; both are gone when it returns.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDocument } from "yaml";
import type { ActorView } from "../../protocol/actor-view.ts";
import type { HistoryRow } from "../../protocol/history.ts";
import { TOPIC } from "../../protocol/live-ops.ts";
import type { TurnResult } from "../../protocol/turn.ts";
import { Api } from "../api.ts";
import { watchTopic } from "../live.ts";
import type { Expectation, Played } from "./expect.ts";

/** A real server on the home. The start-up file knows how to start one. */
export interface PlayedServer {
  url: string;
  key: string;
  /** kill -9, and gone when it resolves. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Foreign processes of this home that still run. */
  processesLeft(): Promise<number>;
}

export interface RehearsalDependencies {
  startServer: (home: string) => Promise<PlayedServer>;
  /** Throws SomoraError REHEARSAL_INVALID with file and line. */
  checkScript(text: string, file: string): void;
  /** Serves a script as a model server in the Chat Completions shape. */
  serveModel(options: { text: string; file: string; port: number }): Promise<{ url: string; close(): Promise<void> }>;
}

interface Difference {
  /** Number of the entry, from 1. */
  entry: number;
  what: string;
  expected: string;
  seen: string;
}

const AGENT = "stage";
const TURN_MS = 60_000;
const SETTLE_MS = 3_000;

export async function playRehearsal(options: {
  script: string;
  played: Played;
  startServer: RehearsalDependencies["startServer"];
  say(line: string): void;
}): Promise<Difference[]> {
  const home = await mkdtemp(join(tmpdir(), "somora-rehearse-"));
  let server: PlayedServer | null = null;
  try {
    await makeStage(home, options.script);
    server = await options.startServer(home);
    const differences: Difference[] = [];
    let last = "";
    for (const [index, entry] of options.played.expect.entries()) {
      const note = (what: string, expected: unknown, seen: unknown): void =>
        void differences.push({ entry: index + 1, what, expected: words(expected), seen: words(seen) });
      if ("atEnd" in entry) {
        await compareEnd(entry.atEnd, server, note);
        continue;
      }
      last = entry.send ?? last;
      options.say(`${"kill" in entry ? `${entry.kill}: kill and restart; ` : ""}send ${JSON.stringify(last)}`);
      const run = await playEntry(entry, last, server, async (old) => {
        await old.kill();
        return options.startServer(home);
      });
      server = run.server;
      compareTurn(entry, run, note);
    }
    return differences;
  } finally {
    await server?.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function makeStage(home: string, script: string): Promise<void> {
  const document = parseDocument(script);
  document.set("pace", 0);
  const folder = join(home, "agents", AGENT);
  for (const path of [folder, join(home, "rehearsals"), join(home, "work")]) await mkdir(path, { recursive: true, mode: 0o700 });
  await writeFile(
    join(home, "config.yaml"),
    `server: { port: 0, drainMs: 1000 }\nworkspace: { default: ${JSON.stringify(join(home, "work"))} }\n`,
  );
  await writeFile(join(home, "rehearsals/script.yaml"), document.toString());
  await writeFile(join(folder, "agent.yaml"), "model: rehearsal/script\ntools: { allow: [exec] }\n");
  await writeFile(join(folder, "AGENTS.md"), "You stand on a stage.\n");
}

interface Run {
  server: PlayedServer;
  result: TurnResult;
  rows: HistoryRow[];
  killed: boolean;
}
type SendEntry = Exclude<Expectation, { atEnd: unknown }>;

async function playEntry(
  entry: SendEntry,
  text: string,
  first: PlayedServer,
  restart: (old: PlayedServer) => Promise<PlayedServer>,
): Promise<Run> {
  let server = first;
  let api = new Api(server.url, server.key);
  let killed = false;
  let turnId: string;
  if ("kill" in entry) {
    const moment = momentOf(entry.kill);
    const reached = deferred();
    const calls = new Map<string, string[]>();
    const watch = watchTopic(api, TOPIC.session(AGENT, "main"), (frame) => {
      if (frame.type !== "row.added") return;
      const { row } = frame.data as { row: HistoryRow };
      if (row.kind === "tool_call") {
        calls.set(row.data.callId, [row.data.modelCallId ?? "", row.data.tool]);
        if (moment.when === "during" && [row.data.modelCallId, row.data.tool].includes(moment.call)) reached.resolve();
      }
      if (row.kind === "tool_result" && moment.when === "after" && calls.get(row.data.callId)?.includes(moment.call)) reached.resolve();
    });
    try {
      await watch.ready;
      ({ turnId } = await api.post<{ turnId: string }>("/chat/send", { agent: AGENT, text }));
      const over = api.get<TurnResult>(`/chat/turns/${turnId}`, { waitMs: TURN_MS }).then(
        () => "over" as const,
        () => "over" as const,
      );
      killed = (await Promise.race([reached.promise.then(() => "reached" as const), over])) === "reached";
    } finally {
      watch.close();
    }
    server = await restart(server);
    api = new Api(server.url, server.key);
  } else ({ turnId } = await api.post<{ turnId: string }>("/chat/send", { agent: AGENT, text }));
  const result = await api.get<TurnResult>(`/chat/turns/${turnId}`, { waitMs: TURN_MS });
  const { rows } = await api.get<{ rows: HistoryRow[] }>("/chat/history", { agent: AGENT, session: "main", limit: 1_000 });
  return { server, result, rows: rows.filter((row) => row.turnId === turnId), killed };
}

function momentOf(kill: string): { when: string; call: string } {
  const [when = "", , call = ""] = kill.split(" ");
  return { when, call };
}

function compareTurn(
  entry: SendEntry,
  { result, rows, killed }: Run,
  note: (what: string, expected: unknown, seen: unknown) => void,
): void {
  if ("kill" in entry && !killed) note("kill", entry.kill, "the turn was over before that");
  const outcome = result.outcome ?? result.state;
  if (entry.outcome !== undefined && entry.outcome !== outcome)
    note("outcome", entry.outcome, result.error ? `${outcome}: ${result.error.message}` : outcome);
  const calls = rows.flatMap((row) => (row.kind === "tool_call" ? [row.data.tool] : []));
  if (entry.calls !== undefined && JSON.stringify(entry.calls) !== JSON.stringify(calls)) note("calls", entry.calls, calls);
  if (entry.text !== undefined && !new RegExp(entry.text, "iu").test(result.finalText))
    note("text", entry.text, result.finalText.slice(0, 300));
  if (entry.callsRunTwice !== undefined) {
    const twice = runTwice(rows);
    if (twice !== entry.callsRunTwice) note("callsRunTwice", entry.callsRunTwice, twice);
  }
}

/** Calls of one round with the model's own id that have more than one result. */
function runTwice(rows: readonly HistoryRow[]): number {
  const names = new Map<string, string>();
  const results = new Map<string, number>();
  for (const row of rows) {
    if (row.kind === "tool_call") names.set(row.data.callId, `${row.data.round} ${row.data.modelCallId ?? row.data.callId}`);
    if (row.kind === "tool_result") {
      const name = names.get(row.data.callId) ?? row.data.callId;
      results.set(name, (results.get(name) ?? 0) + 1);
    }
  }
  return [...results.values()].filter((count) => count > 1).length;
}

/** What ends a moment after its turn is waited for. */
async function compareEnd(
  wanted: { actorsRunning?: number | undefined; processesLeft?: number | undefined },
  server: PlayedServer,
  note: (what: string, expected: unknown, seen: unknown) => void,
): Promise<void> {
  const api = new Api(server.url, server.key);
  const running = async (): Promise<number> =>
    (await api.get<{ actors: ActorView[] }>("/actors")).actors.filter((actor) => actor.kind === "turn" || actor.kind === "call").length;
  const until = Date.now() + SETTLE_MS;
  let actors = await running();
  let processes = await server.processesLeft();
  while (Date.now() < until && ((wanted.actorsRunning ?? actors) !== actors || (wanted.processesLeft ?? processes) !== processes)) {
    await new Promise((again) => setTimeout(again, 50));
    actors = await running();
    processes = await server.processesLeft();
  }
  if (wanted.actorsRunning !== undefined && wanted.actorsRunning !== actors) note("actorsRunning", wanted.actorsRunning, actors);
  if (wanted.processesLeft !== undefined && wanted.processesLeft !== processes) note("processesLeft", wanted.processesLeft, processes);
}

function words(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
