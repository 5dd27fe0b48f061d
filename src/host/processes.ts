/**
 * Foreground commands of tool calls: run, bounded, ended with everything they started (design §9). The folder and the marker
 * `SOMORA_EFFECT` exist before the act, so that the next start can find both.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { copyFile, link, mkdir, stat } from "node:fs/promises";
import { homedir, setPriority } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import type { Clock } from "../ports/clock.port.ts";
import type {
  BoundedText,
  CallProcesses,
  CallScope,
  CommandRecovery,
  CommandRequest,
  CommandResult,
  NamedProcess,
} from "../ports/host.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { lastLine, readBounded } from "./bounded-output.ts";
import { commandEnvironment } from "./command-environment.ts";
import { runnerArguments } from "./command-script.ts";
import { effectFolder, makeEffectFolder, noteEnded, readEnded, readExit, readMeta, type EffectFolder } from "./effect-folder.ts";
import { endProcesses, GRACE_MS } from "./end-processes.ts";
import { hasCode } from "./files.ts";
import { outputName } from "./overflow.ts";
import { ourselves, readProcesses, readProcessesSince, withDescendants, type ProcessEntry, type ProcessTable } from "./process-table.ts";

/** What outlives the shell has this long to end by itself. */
const OUTLIVE_MS = 250;
/** Then it is asked to end, and killed after this. */
const SURVIVOR_GRACE_MS = 500;
/** The drains end with their stream; one that does not (its holder dropped every trace) is not waited for longer. */
const DRAIN_MS = 1_000;
const PROGRESS_EVERY_MS = 500;
/** Niceness of commands. */
const STEP_BACK = 5;

export interface ProcessesOptions {
  home: string;
  homeId: string;
  clock: Clock;
  environment: NodeJS.ProcessEnv;
  /** False: do without perl. */
  perl?: boolean;
}

export function createCallProcesses(options: ProcessesOptions, scope: CallScope): CallProcesses {
  const folder = effectFolder(options.home, scope.effectKey);
  const lost: NamedProcess[] = [];
  let endedProcesses = 0;
  return {
    async run(request) {
      const result = await runCommand(options, scope, folder, request);
      endedProcesses += result.endedProcesses;
      lost.push(...result.lost);
      return result;
    },
    recover: () => recoverCommand(options, scope.effectKey, folder),
    keep: (output, name) => keepOutput(options, scope.agent, output, name),
    get endedProcesses() {
      return endedProcesses;
    },
    lost,
  };
}

async function runCommand(
  options: ProcessesOptions,
  scope: CallScope,
  folder: EffectFolder,
  request: CommandRequest,
): Promise<CommandResult> {
  const { clock } = options;
  const cwd = await checkedCwd(request.cwd, scope.cwd);
  try {
    await makeEffectFolder(folder, { key: scope.effectKey, command: request.command, cwd, at: clock.now() });
  } catch (error) {
    throw new SomoraError(
      "FILE_FAILED",
      `The command was not started: its folder could not be written (${error instanceof Error ? error.message : String(error)}).`,
      { hint: "Is the disk full?", cause: error },
    );
  }
  if (scope.signal.aborted) throw new SomoraError("TOOL_CANCELLED", "Stopped before the command was started.");
  const began = clock.monotonic();
  const child = startRunner(options, scope, folder, request, cwd);
  stepBack(child.pid);
  const watch = watchProgress(clock, folder, scope);
  try {
    const ending = await firstOf(clock, child, request.timeoutMs, scope.signal);
    const stop = ending.why === "exit" ? null : await stopCommand(clock, scope.effectKey, child, folder, ending.why);
    const survivors = ending.why === "exit" ? await endSurvivors(clock, scope.effectKey, child) : null;
    await drained(clock, child);
    const [stdout, stderr] = await Promise.all([readBounded(folder.file("stdout")), readBounded(folder.file("stderr"))]);
    return {
      exitCode: ending.why === "exit" ? (ending.code ?? (await readExit(folder))) : null,
      ended: ending.why,
      stdout,
      stderr,
      ms: Math.round(clock.monotonic() - began),
      survivors: survivors?.ended ?? [],
      endedProcesses: (stop?.ended.length ?? 0) + (survivors?.ended.length ?? 0),
      lost: [...(stop?.lost ?? []), ...(survivors?.lost ?? [])],
    };
  } finally {
    watch.end();
  }
}

async function checkedCwd(asked: string | null, base: string): Promise<string> {
  const cwd =
    asked === null
      ? base
      : asked === "~" || asked.startsWith("~/")
        ? join(homedir(), asked.slice(2))
        : isAbsolute(asked)
          ? asked
          : resolve(base, asked);
  const info = await stat(cwd).catch((error: unknown) => {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  });
  if (info?.isDirectory() !== true)
    throw new SomoraError("CWD_INVALID", `The folder ${cwd} to run in ${info === null ? "does not exist" : "is not a folder"}.`, {
      hint: "Leave cwd out for the session's folder, or make the folder first.",
    });
  return cwd;
}

function startRunner(
  options: ProcessesOptions,
  scope: CallScope,
  folder: EffectFolder,
  request: CommandRequest,
  cwd: string,
): ChildProcess {
  const shell = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
  const environment = commandEnvironment(options.environment, homedir(), scope, request.env);
  try {
    return spawn(
      "/bin/sh",
      runnerArguments({ folder: folder.path, shell, command: request.command, effectKey: scope.effectKey, perl: options.perl ?? true }),
      {
        cwd,
        // The marker of the home stands on the runner from its first instruction; `SOMORA_EFFECT` is set for the command alone.
        env: { ...environment, SOMORA_HOME_ID: options.homeId, SOMORA_RUNNER: scope.effectKey },
        detached: true,
        stdio: ["ignore", "ignore", "ignore", "pipe"],
      },
    );
  } catch (error) {
    // E2BIG and its kin are thrown at once.
    throw new SomoraError("TOOL_FAILED", `The command could not be started: ${error instanceof Error ? error.message : String(error)}.`, {
      hint: "Are command and variables too long for this system? Put the text into a file with file_write and run that.",
      cause: error,
    });
  }
}

/** What a command computes must not starve the server: its whole session steps back a little. Where that is not possible it stays. */
function stepBack(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, STEP_BACK);
    if (process.platform === "linux") writeFileSync(`/proc/${pid}/autogroup`, String(STEP_BACK));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

interface Ending {
  why: CommandResult["ended"];
  code: number | null;
}

/** What comes first: the shell's end, the time limit, the signal. */
function firstOf(clock: Clock, child: ChildProcess, timeoutMs: number, signal: AbortSignal): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const finish = (ending: Ending): void => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      resolve(ending);
    };
    const onAbort = (): void => finish({ why: "cancelled", code: null });
    const cancelTimer = clock.setTimer(timeoutMs, () => finish({ why: "timeout", code: null }));
    signal.addEventListener("abort", onAbort, { once: true });
    const status = child.stdio[3] as Readable;
    let text = "";
    status.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.includes("\n")) finish({ why: "exit", code: Number.parseInt(text, 10) });
    });
    // Closed without a code: the runner was killed from outside.
    status.on("close", () => finish({ why: "exit", code: null }));
    child.on("error", (error) => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      reject(
        new SomoraError("TOOL_FAILED", `The shell could not be started: ${error.message}.`, {
          hint: "Is /bin/sh there, and is the command shorter than 100,000 characters?",
          cause: error,
        }),
      );
    });
  });
}

/** Looks for everything of one effect: by marker, by descent, by the runner's session. The runner's own parts are told apart. */
function createFinder(
  effectKey: string,
  runner: number | undefined,
): (table: ProcessTable) => { command: ProcessEntry[]; runner: ProcessEntry[] } {
  // One that was seen as a part of the runner stays one, also when its environment is gone because it is ending.
  const parts = new Set<string>();
  return (table) => {
    const never = ourselves(table);
    const entries = [...table.values()].filter((entry) => !entry.zombie && !never.has(entry.pid));
    const roots = entries.filter(
      (entry) =>
        (runner !== undefined && (entry.session === runner || entry.pid === runner)) ||
        entry.env("SOMORA_EFFECT") === effectKey ||
        entry.env("SOMORA_RUNNER") === effectKey,
    );
    const all = [...withDescendants(table, new Set(roots.map((entry) => entry.pid)))]
      .flatMap((pid) => table.get(pid) ?? [])
      .filter((entry) => !never.has(entry.pid) && !entry.zombie);
    const [command, runners]: [ProcessEntry[], ProcessEntry[]] = [[], []];
    for (const entry of all) {
      const id = `${entry.pid} ${entry.started}`;
      if (entry.env("SOMORA_RUNNER") === effectKey && entry.env("SOMORA_EFFECT") === null) parts.add(id);
      if (parts.has(id)) runners.push(entry);
      else if (entry.env("SOMORA_EFFECT") === effectKey || !entry.ending()) command.push(entry);
    }
    return { command, runner: runners };
  };
}

async function stopCommand(
  clock: Clock,
  effectKey: string,
  child: ChildProcess,
  folder: EffectFolder,
  why: "timeout" | "cancelled",
): Promise<{ ended: NamedProcess[]; lost: NamedProcess[] }> {
  const note = noteEnded(folder, why);
  const find = createFinder(effectKey, child.pid);
  // Looked at once before the first signal, so that the runner's parts are known; one reading serves all that stop together.
  const known = find(readProcesses({ since: performance.now() - 200 })).command;
  const result = await endProcesses(clock, {
    find: (table) => find(table).command,
    known,
    graceMs: GRACE_MS,
    ...(child.pid === undefined ? {} : { group: child.pid }),
  });
  await Promise.race([note, pause(clock, DRAIN_MS)]);
  return result;
}

async function endSurvivors(
  clock: Clock,
  effectKey: string,
  child: ChildProcess,
): Promise<{ ended: NamedProcess[]; lost: NamedProcess[] } | null> {
  const find = createFinder(effectKey, child.pid);
  const until = clock.monotonic() + OUTLIVE_MS;
  for (;;) {
    const table = readProcessesSince(child.pid ?? 0);
    if (find(table).command.length > 0) break;
    // Between two programs (exec) a process has no command line and no environment, so it shows no marker: look again.
    const between = [...table.values()].some((entry) => entry.group === child.pid && !entry.zombie && entry.ending());
    if (!between || clock.monotonic() >= until) return null;
    await pause(clock, 5);
  }
  while (clock.monotonic() < until) {
    const since = performance.now();
    await pause(clock, 25);
    if (find(readProcesses({ since })).command.length === 0) return null;
  }
  return endProcesses(clock, { find: (table) => find(table).command, graceMs: SURVIVOR_GRACE_MS });
}

/** The runner ends when its drains have written everything; one that hangs on is killed. */
async function drained(clock: Clock, child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let cancel = (): void => {};
  const late = new Promise<"late">((resolve) => {
    cancel = clock.setTimer(DRAIN_MS, () => resolve("late"));
  });
  if ((await Promise.race([gone, late])) === "late") {
    const until = clock.monotonic() + DRAIN_MS;
    killGroup(child.pid);
    while (isGroupAlive(child.pid) && clock.monotonic() < until) await pause(clock, 10);
  }
  cancel();
  child.stdio[3]?.destroy();
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch (error) {
    if (!hasCode(error, "ESRCH", "EPERM")) throw error;
  }
}

/** What has ended and is only not collected yet does not count. */
function isGroupAlive(group: number): boolean {
  return [...readProcessesSince(group).values()].some((entry) => entry.group === group && !entry.zombie);
}

function watchProgress(clock: Clock, folder: EffectFolder, scope: CallScope): { end(): void } {
  let ended = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    const line = await lastLine(folder.file("stdout"));
    const other = line === "" ? await lastLine(folder.file("stderr")) : line;
    if (!ended && other !== "") scope.progress(other);
    if (!ended) schedule();
  };
  const schedule = (): void => {
    cancel = clock.setTimer(PROGRESS_EVERY_MS, () => {
      // A progress line that cannot be read is no reason to disturb the command.
      look().catch(() => {
        ended = true;
      });
    });
  };
  schedule();
  return {
    end() {
      ended = true;
      cancel();
    },
  };
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(ms, resolve));
}

/** After a crash: what the folder tells, with everything of this effect ended first. */
async function recoverCommand(options: ProcessesOptions, effectKey: string, folder: EffectFolder): Promise<CommandRecovery> {
  if ((await readMeta(folder)) === null && !existsSync(folder.path)) return { kind: "not-started" };
  // Read before anything is ended: an exit code that our own signal brings about is not the command's.
  const exitCode = await readExit(folder);
  const ended = await endEffect(options.clock, effectKey);
  const [stdout, stderr, why] = await Promise.all([
    readBounded(folder.file("stdout")),
    readBounded(folder.file("stderr")),
    readEnded(folder),
  ]);
  if (exitCode === null && why === null) return { kind: "unknown", stdout, stderr, endedProcesses: ended.ended.length };
  const survivors = why === null ? ended.ended : [];
  return {
    kind: "done",
    result: {
      exitCode: why === null ? exitCode : null,
      ended: why ?? "exit",
      stdout,
      stderr,
      ms: 0,
      survivors,
      endedProcesses: ended.ended.length,
      lost: ended.lost,
    },
  };
}

/** Ends what carries the marker of an effect of a dead run. The runner goes first, so that it writes no exit code for our signal. */
async function endEffect(clock: Clock, effectKey: string): Promise<{ ended: NamedProcess[]; lost: NamedProcess[] }> {
  const find = createFinder(effectKey, undefined);
  await endProcesses(clock, { find: (table) => find(table).runner, graceMs: 0 });
  return endProcesses(clock, { find: (table) => find(table).command, graceMs: GRACE_MS });
}

/** A hard link where it works: nothing is copied. */
async function keepOutput(options: ProcessesOptions, agent: string, output: BoundedText, name: string): Promise<string | null> {
  const target = join(options.home, "agents", agent, "tool-output", outputName(name, "txt", options.clock.now()));
  try {
    await mkdir(join(options.home, "agents", agent, "tool-output"), { recursive: true, mode: 0o700 });
    await link(output.file, target).catch(() => copyFile(output.file, target));
    return target;
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

/** For tests and for the log: is anything with this marker alive? */
export function livingOf(effectKey: string): number[] {
  const { command, runner } = createFinder(effectKey, undefined)(readProcesses());
  return [...command, ...runner].map((entry) => entry.pid);
}
