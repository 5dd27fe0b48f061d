/** What the start-up file wires into the command line. The command line itself imports no other room but protocol. */
import type { DoctorSettings } from "./doctor/check.ts";
import type { RehearsalDependencies } from "./rehearse/play.ts";

export interface RunningServer {
  url: string;
  pid: number;
  version: string;
  startedAt: number;
}

export interface ConfigProblem {
  file: string;
  line: number;
  key: string;
  message: string;
}

/** What `somora simulate` plays; loaded only when it is asked for. */
export interface Simulation {
  simulate(
    seed: string,
    options: { twice: boolean; shrink: boolean; story: boolean },
  ): Promise<{ verdict: string | null; journalHash: string; commits: number; crashes: number; story: string[] }>;
  /** One line of the report: a hash of all that was played. */
  blockOf(
    from: number,
    to: number,
    played: { seed: string; verdict: string | null; journalHash: string; commits: number; crashes: number }[],
  ): unknown;
}

export interface CliDependencies {
  version: string;
  home: string;
  /** The access key of the home; null when there is none yet. */
  key(): Promise<string | null>;
  /** The server that serves the home, when one does and answers. */
  findServer(): Promise<RunningServer | null>;
  /** Serves in this process until it is told to stop; prints the ready line and the pairing address itself. Resolves with the exit code. */
  serve(options: { port?: number; open: boolean }): Promise<number>;
  /** Starts a server that outlives this process; resolves when it serves. Rejects with what it said last. */
  startDetached(options: { port?: number; open: boolean }): Promise<RunningServer>;
  /** Sends a signal; false when there is no such process. 0 only asks. */
  signal(pid: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean;
  /** True when a browser was opened. */
  openBrowser(url: string): Promise<boolean>;
  logFile: string;
  config: {
    path: string;
    /** Rejects with CONFIG_UNREADABLE. */
    check(file: string): Promise<ConfigProblem[]>;
    /** The version a server would use, defaults filled in, keys hidden. Rejects with CONFIG_INVALID. */
    show(): Promise<unknown>;
  };
  doctor: DoctorSettings;
  rehearsal: RehearsalDependencies;
  simulation(): Promise<Simulation>;
  /** Monotonic milliseconds. */
  now(): number;
  sleep(ms: number): Promise<void>;
}
