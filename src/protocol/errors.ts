/**
 * The catalogue: every error that leaves a room has a code here. For each code one test provokes it for real; an entry
 * nobody can provoke is deleted, a retired code is not used again. `docs/reference/errors.md` is generated from this table.
 */
import type { ErrorBody } from "./history.ts";
import type { Json } from "./json.ts";

interface Entry {
  /** HTTP status when it answers a request. */
  status: number;
  /** One line for the reference page: when it is said. */
  when: string;
  /** Does the same request make sense again later? */
  again: boolean;
}

export const ERRORS = {
  // who may
  KEY_MISSING: { status: 401, when: "No key and no pairing cookie came with the request.", again: false },
  KEY_WRONG: { status: 401, when: "The key or the cookie is not one of this home.", again: false },
  ORIGIN_FOREIGN: { status: 403, when: "A page of another origin sent the request.", again: false },
  HOST_UNKNOWN: { status: 403, when: "The Host header names no address this server serves (DNS rebinding).", again: false },
  PAIR_CODE_WRONG: { status: 401, when: "The pairing code is wrong, used or older than five minutes.", again: false },
  TOO_MANY_TRIES: { status: 429, when: "Ten wrong keys or codes within a minute.", again: true },
  // requests
  REQUEST_INVALID: { status: 400, when: "The body or a query value does not fit its schema; the field is named.", again: false },
  BODY_NOT_JSON: { status: 400, when: "The body is not JSON; the position is named.", again: false },
  BODY_TOO_LARGE: { status: 413, when: "The body is over 1 MiB.", again: false },
  TEXT_TOO_LONG: { status: 413, when: "A message is over 262,144 characters.", again: false },
  ROUTE_UNKNOWN: { status: 404, when: "No such route; the nearest is named.", again: false },
  // agents, sessions, turns
  AGENT_UNKNOWN: { status: 404, when: "No agent of that name; the known ones are listed.", again: false },
  AGENT_EXISTS: { status: 409, when: "An agent of that name is there already.", again: false },
  AGENT_NAME_INVALID: { status: 400, when: "An agent name does not match its pattern.", again: false },
  SESSION_UNKNOWN: { status: 404, when: "No such session; the known ones are listed. Sending never makes a session.", again: false },
  SESSION_EXISTS: { status: 409, when: "A session of that slug is there already.", again: false },
  SESSION_SLUG_INVALID: { status: 400, when: "A session slug does not match its pattern.", again: false },
  SESSION_FIXED: { status: 409, when: "`main` cannot be deleted.", again: false },
  FOLDER_INVALID: { status: 400, when: "`cwd` is not an existing folder, or the session has another one already.", again: false },
  TURN_UNKNOWN: { status: 404, when: "No turn of that id.", again: false },
  TURN_STARTED: { status: 409, when: "The message cannot be taken back: its turn already runs.", again: false },
  TURN_REMOVED: { status: 409, when: "The message was taken back before.", again: false },
  TURN_OVER: { status: 409, when: "The turn has ended.", again: false },
  TURN_NOT_RETRYABLE: { status: 409, when: "`retryOf` names a turn that did not fail and was not cut.", again: false },
  CLIENT_KEY_REUSED: { status: 409, when: "The same client key came with another text, attachments or steer.", again: false },
  QUEUE_FULL: { status: 429, when: "A session has 1,000 waiting messages.", again: true },
  PARKED: { status: 409, when: "The actor is parked; its reason is given. Resume or stop it.", again: true },
  ACTOR_UNKNOWN: { status: 404, when: "No actor at that address.", again: false },
  ACTOR_FIXED: { status: 409, when: "Root and fixed supervisors cannot be stopped.", again: false },
  NOT_PARKED: { status: 409, when: "Resume was asked for an actor that is not parked.", again: false },
  CANCELLED: { status: 409, when: "The turn was stopped; `reason` says by whom.", again: false },
  // the server
  STORE_STALLED: { status: 503, when: "The disk does not take commits; what was accepted waits, new commands are refused.", again: true },
  SERVER_STOPPING: { status: 503, when: "The server drains.", again: true },
  STOP_FAILED: { status: 500, when: "A process of the stopped scope does not die; it is named.", again: false },
  INTERNAL: { status: 500, when: "A fault of ours; the log has the cause.", again: true },
  CRASHED: { status: 500, when: "The actor crashed on this very event; it was dropped.", again: false },
  // starting
  HOME_LOCKED: { status: 409, when: "Another server holds this home; its pid and address are named.", again: true },
  PORT_TAKEN: { status: 409, when: "The port is taken; which and what else to do is named.", again: true },
  STORE_UNREADABLE: { status: 500, when: "The store file does not open; its bytes were kept aside.", again: false },
  STORE_NEWER: { status: 409, when: "The store was written by a newer build in a format this one does not know.", again: false },
  // configuration
  CONFIG_INVALID: {
    status: 400,
    when: "A configuration file does not fit its schema: file, line, key, value, allowed, nearest.",
    again: false,
  },
  CONFIG_UNREADABLE: { status: 400, when: "A configuration file cannot be read.", again: false },
  // models
  MODEL_UNSET: { status: 409, when: "The agent names no model; the configured ones are listed.", again: false },
  MODEL_UNKNOWN: { status: 404, when: "No model of that reference; the configured ones are listed.", again: false },
  PROVIDER_UNREACHABLE: { status: 502, when: "No connection to the model server.", again: true },
  PROVIDER_REFUSED_KEY: { status: 502, when: "The model server refused the key (401 or 403).", again: false },
  PROVIDER_LIMITED: { status: 502, when: "The model server answered 429 and the retries are used up.", again: true },
  PROVIDER_FAILED: { status: 502, when: "The model server answered with an error; its words are quoted.", again: true },
  PROVIDER_NOT_JSON: { status: 502, when: "What answered is not a model server (HTML, or a stream that is not one).", again: false },
  PROVIDER_SILENT: { status: 502, when: "The model server sent nothing for the idle limit.", again: true },
  BUDGET_SPENT: { status: 402, when: "A budget of the agent or the server is used up; which one and how much is named.", again: false },
  STREAM_CUT: { status: 502, when: "The answer broke off without an end mark and without text.", again: true },
  CONTEXT_FULL: { status: 409, when: "The conversation does not fit the model's window, even with tool results shortened.", again: false },
  REHEARSAL_INVALID: { status: 400, when: "A rehearsal script does not fit its schema; file and line are named.", again: false },
  REHEARSAL_NO_ANSWER: { status: 409, when: "A rehearsal has no entry for this message, or no round left.", again: false },
  INTERRUPTED: {
    status: 409,
    when: "The server died while it ran and `server.resumeAfterRestart` is off, or its outcome is unknown.",
    again: true,
  },
  // tools
  TOOL_UNKNOWN: { status: 404, when: "No tool of that name; close names are given.", again: false },
  TOOL_DENIED: { status: 403, when: "The agent's rules hide the tool.", again: false },
  TOOL_UNAVAILABLE: { status: 409, when: "What the tool needs is not configured or not there; it is named.", again: true },
  TOOL_INPUT_INVALID: { status: 400, when: "The input does not fit the tool's schema; the field is named.", again: false },
  TOOL_INPUT_BROKEN: { status: 400, when: "The arguments are not valid JSON; the position is named.", again: false },
  TOOL_TIMEOUT: { status: 504, when: "The call ran past its time limit and was ended.", again: true },
  TOOL_FAILED: { status: 500, when: "The tool failed; the reason is given.", again: true },
  TOOL_CANCELLED: { status: 409, when: "The call was stopped before it ended.", again: false },
  TOOL_INTERRUPTED: {
    status: 409,
    when: "The server died while the call ran; its outcome is unknown and it was not repeated.",
    again: false,
  },
  TOOL_LIMIT: { status: 429, when: "The turn's limit of tool calls is used up.", again: false },
  PATH_DENIED: { status: 403, when: "The path policy refuses the path; the rule is named.", again: false },
  FILE_NOT_FOUND: { status: 404, when: "No such file; close names are given.", again: false },
  FILE_EXISTS: { status: 409, when: "`mode: create` on a file that exists.", again: false },
  FILE_IS_FOLDER: { status: 400, when: "The path is a folder, or not one, as the tool needs it.", again: false },
  FILE_BINARY: { status: 400, when: "The file is not text.", again: false },
  FILE_CHANGED: { status: 409, when: "The file changed since; nothing was written.", again: false },
  FILE_FAILED: { status: 500, when: "The system refused the file operation; its reason is given.", again: true },
  PATCH_NOT_FOUND: { status: 409, when: "The text to replace is not in the file; the nearest lines are shown.", again: false },
  PATCH_AMBIGUOUS: { status: 409, when: "The text to replace stands in the file more than once; the lines are shown.", again: false },
  PATCH_NO_CHANGE: { status: 400, when: "Old and new text are the same.", again: false },
  SEARCH_PATTERN_INVALID: { status: 400, when: "The regular expression does not compile.", again: false },
  DOC_UNKNOWN: { status: 404, when: "No such page of documentation.", again: false },
  CHANGE_UNKNOWN: { status: 404, when: "No kept copy of that id.", again: false },
  CWD_INVALID: { status: 400, when: "The folder a command should run in does not exist.", again: false },
  // the socket
  FRAME_NOT_JSON: { status: 400, when: "A frame on /live is not JSON.", again: false },
  OP_UNKNOWN: { status: 400, when: "A frame on /live has an unknown op.", again: false },
  TOPIC_UNKNOWN: { status: 404, when: "A frame on /live names an unknown topic.", again: false },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERRORS;

/** An error that travels. `message` says what was refused, the value seen and the rule; `hint` the way out. */
export class SomoraError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: { [field: string]: Json } | undefined;

  constructor(code: ErrorCode, message: string, more: { hint?: string; details?: { [field: string]: Json }; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "SomoraError";
    this.code = code;
    this.hint = more.hint;
    this.details = more.details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  toBody(): ErrorBody {
    return { ...this.details, code: this.code, message: this.message, ...(this.hint === undefined ? {} : { hint: this.hint }) };
  }
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
