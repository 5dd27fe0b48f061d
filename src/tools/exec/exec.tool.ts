/** exec: a shell command in the foreground, ended with its call. */
import { z } from "zod";
import type { CommandResult } from "../../ports/host.port.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { defineTool, ToolStopped, type ToolContext } from "../define-tool.ts";
import { fitOutput } from "./fit-output.ts";
import { hintFor } from "./hint.ts";

/** TERM, grace, KILL and the wait until all are gone. */
const MARGIN_MS = 9_000;

export const exec = defineTool({
  name: "exec",
  toolset: "exec",
  description:
    "Run a shell command on this computer and wait for it. Nobody can type: stdin is empty, editors and password prompts fail at once, pagers are off; give texts and answers as arguments (git commit -m …, -y). What is still running when the shell ends is ended too, so nothing can be left in the background. Text on stderr alone is no failure: look at exit_code. For files use file_read, file_write, file_patch and file_search instead.",
  input: z.object({
    command: z
      .string()
      .min(1)
      .max(100_000)
      .refine((text) => !text.includes("\0"), "may not hold a NUL character")
      .refine((text) => Buffer.byteLength(text) <= 100_000, "may not be longer than 100,000 bytes; put it into a file and run that")
      .describe("Run by bash (sh where there is none); several lines are fine"),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe("Folder to run in: absolute, from ~, or relative to the session's folder, which is the default; must exist"),
    env: z
      .record(
        z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, "is no name of a variable"),
        z.string().refine((text) => !text.includes("\0"), "may not hold a NUL character"),
      )
      .optional()
      .describe("Environment variables for this command"),
    timeout_ms: z.number().int().min(100).max(3_600_000).default(60_000).describe("Time limit in milliseconds; then the command is ended"),
    description: z.string().min(1).max(200).optional().describe("A few words for people: what this command is for"),
  }),
  needs: ["processes"],
  repeatable: false,
  limits: { marginMs: MARGIN_MS },
  timeoutOf: ({ timeout_ms }) => timeout_ms,
  async run({ command, cwd, env, timeout_ms }, { processes }) {
    const result = await processes.run({ command, cwd: cwd ?? null, env: env ?? {}, timeoutMs: timeout_ms });
    const data = await shape(result, command, timeout_ms, processes);
    if (result.ended === "cancelled") throw new ToolStopped(stoppedFields(data));
    return data;
  },
  async recover({ command, timeout_ms }, { processes }) {
    const found = await processes.recover();
    if (found.kind === "not-started") return found;
    if (found.kind === "unknown") {
      const { stdout, stderr } = fitOutput(found.stdout, found.stderr);
      return { kind: "unknown", known: { command, stdout, stderr, ended_processes: found.endedProcesses } };
    }
    const data = await shape(found.result, command, timeout_ms, processes);
    return found.result.ended === "cancelled" ? { kind: "unknown", known: stoppedFields(data) } : { kind: "done", data };
  },
  summary: ({ exit_code, timed_out }) => (timed_out === true ? "ended at its time limit" : `exit ${exit_code ?? "unknown"}`),
});

type Shaped = Awaited<ReturnType<typeof shape>>;

async function shape(result: CommandResult, command: string, timeoutMs: number, processes: ToolContext<"processes">["processes"]) {
  const fitted = fitOutput(result.stdout, result.stderr);
  const stdoutFile = fitted.shortened.stdout ? await processes.keep(result.stdout, "exec-stdout") : null;
  const stderrFile = fitted.shortened.stderr ? await processes.keep(result.stderr, "exec-stderr") : null;
  const timedOut = result.ended === "timeout";
  const hints = [
    timedOut ? `The command was ended at its limit of ${timeoutMs} ms. Give timeout_ms for more time, or do it in smaller steps.` : null,
    result.survivors.length > 0 ? "What was still running when the shell ended was ended: nothing can be left in the background." : null,
    result.lost.length > 0 ? "Some processes do not die; they are named in `lost`." : null,
    shortenedHint(result, stdoutFile, stderrFile, fitted.shortened),
    hintFor(command, result.exitCode, fitted),
  ].filter((hint) => hint !== null);
  return {
    ok: result.exitCode === 0,
    background: false,
    target: "local",
    exit_code: result.exitCode,
    stdout: fitted.stdout,
    stderr: timedOut
      ? `${fitted.stderr}${fitted.stderr === "" || fitted.stderr.endsWith("\n") ? "" : "\n"}[ended at the time limit of ${timeoutMs} ms]`
      : fitted.stderr,
    truncated: fitted.shortened.stdout || fitted.shortened.stderr,
    ms: result.ms,
    ...(timedOut ? { timed_out: true } : {}),
    ...(stdoutFile === null ? {} : { full_stdout_file: stdoutFile }),
    ...(stderrFile === null ? {} : { full_stderr_file: stderrFile }),
    ...(fitted.shortened.stdout ? { stdout_bytes: result.stdout.totalBytes } : {}),
    ...(fitted.shortened.stderr ? { stderr_bytes: result.stderr.totalBytes } : {}),
    ...(result.survivors.length > 0 ? { survivors: result.survivors } : {}),
    ...(result.lost.length > 0 ? { lost: result.lost } : {}),
    ...(hints.length > 0 ? { hint: hints.join(" ") } : {}),
  };
}

function shortenedHint(
  result: CommandResult,
  stdoutFile: string | null,
  stderrFile: string | null,
  shortened: { stdout: boolean; stderr: boolean },
): string | null {
  if (!shortened.stdout && !shortened.stderr) return null;
  const files = [stdoutFile, stderrFile].filter((file) => file !== null);
  const dropped = result.stdout.droppedBytes + result.stderr.droppedBytes;
  const whole =
    files.length === 0
      ? ""
      : ` ${dropped > 0 ? `All but the last ${dropped} bytes` : "The whole"} is in ${files.join(" and ")}: page it with file_read or search it with file_search.`;
  return `The output was shortened (${result.stdout.totalBytes} bytes of stdout, ${result.stderr.totalBytes} of stderr); do not guess what is not shown.${whole}`;
}

/** What a stopped command had said until then, for the error. */
function stoppedFields({ stdout, stderr, truncated, ms, lost }: Shaped): JsonObject {
  return { stdout, stderr, truncated, ms, ...(lost === undefined ? {} : { lost: lost.map(({ pid, command }) => ({ pid, command })) }) };
}
