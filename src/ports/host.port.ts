/**
 * This computer, as tools see it. Everything is bound to one call: paths go through the path policy for the call's agent,
 * changed files are kept as they were, processes carry the call's effect key. The implementation is `src/host`.
 */
import type { FileChange } from "./tools.port.ts";

/** Whose call it is. */
export interface CallScope {
  agent: string;
  session: string;
  turnId: string | null;
  callId: string;
  /** Where relative paths start. */
  cwd: string;
  effectKey: string;
  /** Asked right before an act that cannot be taken back. */
  signal: AbortSignal;
  /** A short line for watchers. */
  progress(text: string): void;
}

export interface FileStat {
  /** Real path. */
  path: string;
  type: "file" | "dir" | "other";
  size: number;
  /** Epoch milliseconds. */
  mtime: number;
  ctime: number;
}

export interface FolderEntry {
  path: string;
  type: "file" | "dir" | "other";
  size: number;
  mtime: number;
  ctime: number;
}

export interface FolderListing {
  root: string;
  entries: FolderEntry[];
  /** True when collection stopped before the end. */
  truncated: boolean;
  /** False when .gitignore was asked for and could not be honoured (no ripgrep). */
  ignoreHonoured: boolean;
}

export interface SearchRequest {
  pattern: string;
  /** False: the pattern is plain text. */
  regex: boolean;
  path: string;
  limit: number;
  include: string | null;
  caseInsensitive: boolean;
  /** Lines before and after each hit. */
  context: number;
  filesOnly: boolean;
}
export interface SearchHit {
  path: string;
  /** From 1. */
  line: number;
  /** From 1, in characters of the shown line's original. */
  col: number;
  text: string;
  /** The line was cut around the match. */
  truncated: boolean;
  before: string[];
  after: string[];
}
export interface SearchResult {
  root: string;
  hits: SearchHit[];
  files: string[];
  truncated: boolean;
  /** Which of the two searched; the walker honours no .gitignore. */
  by: "ripgrep" | "walker";
}

/** What a change makes of a file. `before` is null when the file is not there. Pure: it is asked again after a crash. */
export interface PlannedChange<Data> {
  after: Buffer;
  data: Data;
}
export type ChangePlan<Data> = (before: Buffer | null) => PlannedChange<Data>;

export interface ChangeOutcome<Data> {
  /** Real path that was written. */
  path: string;
  data: Data;
  change: FileChange;
}
export type ChangeRecovery<Data> = { kind: "done"; outcome: ChangeOutcome<Data> } | { kind: "not-started" } | { kind: "unknown" };

/** Every method throws SomoraError: PATH_DENIED, FILE_NOT_FOUND (with close names), FILE_IS_FOLDER, FILE_BINARY, FILE_FAILED. */
export interface CallFiles {
  /** Absolute path as text; `~` is the server user's home. No check, nothing is touched. */
  resolve(path: string): string;
  /** Relative to the call's folder where it lies inside, else the absolute path. */
  shown(path: string): string;
  stat(path: string): Promise<FileStat>;
  /** Regular files only. Throws FILE_FAILED when larger than `maxBytes`. */
  read(path: string, maxBytes?: number): Promise<{ path: string; bytes: Buffer; stat: FileStat }>;
  list(path: string, options: { recursive: boolean; glob: string | null; respectGitignore: boolean; max: number }): Promise<FolderListing>;
  search(request: SearchRequest): Promise<SearchResult>;
  /**
   * Reads, plans, keeps a copy, checks that the file is still what was read (else FILE_CHANGED with the fresh text around),
   * replaces it atomically. Calls for the same file go one after the other. Missing parent folders are made.
   */
  change<Data>(path: string, plan: ChangePlan<Data>): Promise<ChangeOutcome<Data>>;
  /** After a crash: did the change of this effect happen? */
  recoverChange<Data>(path: string, plan: ChangePlan<Data>): Promise<ChangeRecovery<Data>>;
  /** What this call has changed so far. */
  readonly changes: readonly FileChange[];
  readonly written: readonly string[];
}

export interface CommandRequest {
  command: string;
  /** An existing folder, else CWD_INVALID. Null: the call's folder. */
  cwd: string | null;
  env: Record<string, string>;
  timeoutMs: number;
}

/** One output stream, bounded: its beginning and its end, and how much there was. */
export interface BoundedText {
  head: string;
  /** Empty when `head` is all of it. */
  tail: string;
  /** Bytes between head and tail. */
  omittedBytes: number;
  totalBytes: number;
  /** Bytes past the disk cap, drained and not stored. */
  droppedBytes: number;
  /** The stored bytes. */
  file: string;
}
export interface NamedProcess {
  pid: number;
  command: string;
}

export interface CommandResult {
  /** Null when a signal or we ended it before it could say. */
  exitCode: number | null;
  ended: "exit" | "timeout" | "cancelled";
  stdout: BoundedText;
  stderr: BoundedText;
  ms: number;
  /** What outlived the shell and was ended by us. */
  survivors: NamedProcess[];
  /** Processes a stop or a time limit ended. */
  endedProcesses: number;
  /** What lives 5 s past the kill. */
  lost: NamedProcess[];
}
export type CommandRecovery =
  | { kind: "done"; result: CommandResult }
  | { kind: "not-started" }
  | { kind: "unknown"; stdout: BoundedText; stderr: BoundedText; endedProcesses: number };

export interface CallProcesses {
  /** Throws SomoraError only before the spawn (CWD_INVALID, FILE_FAILED). An abort gives `ended: "cancelled"`. */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Ends what is left of this effect. */
  recover(): Promise<CommandRecovery>;
  /** Keeps a stored stream under the agent's `tool-output/`; the path, or null when it cannot. */
  keep(output: BoundedText, name: string): Promise<string | null>;
  /** Over all commands of this call: how many a stop, a time limit or the end of the shell made us end, and what would not die. */
  readonly endedProcesses: number;
  readonly lost: readonly NamedProcess[];
}

export interface DocPage {
  name: string;
  title: string;
  bytes: number;
}
/** A folder of Markdown that explains somora itself. */
export interface Docs {
  list(): Promise<DocPage[]>;
  /** Throws DOC_UNKNOWN with close names. */
  read(name: string): Promise<DocPage & { text: string }>;
}

export interface ToolHost {
  files(scope: CallScope): CallFiles;
  processes(scope: CallScope): CallProcesses;
  /** Null when the folder is not there. */
  docs(folder: string): Docs | null;
  /** Whole text of a shortened result; the path, or null when it cannot be written. */
  saveOverflow(agent: string, tool: string, text: string, extension: "txt" | "json"): Promise<string | null>;
  undo(agent: string, changeId: string): Promise<{ path: string }>;
  /** Removes kept files older than 7 days and effect folders older than a day. */
  sweep(): Promise<{ removed: number }>;
}
