/** Text search: ripgrep where it is, else an own walker with the same answers. Hits below blocked folders are dropped. */
import { lstat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import type { SearchHit, SearchRequest, SearchResult } from "../ports/host.port.ts";
import { SomoraError } from "../protocol/errors.ts";
import { wellFormed } from "../protocol/well-formed.ts";
import { decodeText, looksBinary } from "./files.ts";
import { compileGlob } from "./glob.ts";
import { checkPath, explain, openForRead } from "./guarded-files.ts";
import type { LookScope } from "./list-folder.ts";
import { runRipgrep } from "./ripgrep.ts";
import { walk } from "./walk.ts";

const MOST_OUTPUT = 4 * 1024 * 1024;
/** The walker leaves larger files out. */
const MOST_FILE = 16 * 1024 * 1024;
const WHOLE_LINE = 500;
const WINDOW = 200;

export async function searchFiles(scope: LookScope, request: SearchRequest): Promise<SearchResult> {
  const root = await checkPath(scope.policy, request.path, "read", scope.agent);
  let isFolder: boolean;
  try {
    isFolder = (await lstat(root)).isDirectory();
  } catch (error) {
    throw await explain(scope.policy, error, request.path, root, scope.agent);
  }
  return (await byRipgrep(scope, request, root, isFolder)) ?? (await byWalker(scope, request, root, isFolder));
}

const textOrBytes = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })]);
const lineSchema = z.object({
  type: z.enum(["match", "context"]),
  data: z.object({
    path: textOrBytes,
    lines: textOrBytes,
    line_number: z.number().int(),
    submatches: z.array(z.object({ start: z.number().int(), end: z.number().int() })),
  }),
});

async function byRipgrep(scope: LookScope, request: SearchRequest, root: string, isFolder: boolean): Promise<SearchResult | null> {
  const args = [
    ...(request.filesOnly
      ? ["--files-with-matches", "--null"]
      : ["--json", "--context", String(request.context), "--max-count", String(request.limit + 1)]),
    ...(request.caseInsensitive ? ["--ignore-case"] : ["--case-sensitive"]),
    ...(request.regex ? [] : ["--fixed-strings"]),
    ...(request.include === null ? [] : ["--glob", request.include]),
    ...(root === "/" ? ["--glob", "!/proc", "--glob", "!/sys", "--glob", "!/dev"] : []),
    "--no-require-git",
    "--no-messages",
    "--sort",
    "path",
    "--regexp",
    request.pattern,
    "--",
    isFolder ? "./" : root,
  ];
  const cwd = isFolder ? root : dirname(root);
  const run = await runRipgrep(args, {
    cwd,
    maxBytes: MOST_OUTPUT,
    signal: scope.signal,
    ...(scope.ripgrep === undefined ? {} : { binary: scope.ripgrep }),
  });
  if (run === null) return null;
  if (run.code === 2 && run.stdout.length === 0 && /regex|parse|glob/iu.test(run.stderr)) throw badPattern(request, run.stderr.trim());
  const allowed = (path: string): boolean => scope.policy.refusal(path, "read", scope.agent) === null;
  const full = (path: string): string => (isFolder ? join(root, path) : root);
  if (request.filesOnly) {
    const files = run.stdout
      .toString("utf8")
      .split("\0")
      .filter((path) => path !== "")
      .map(full)
      .filter(allowed);
    return {
      root,
      hits: [],
      files: files.slice(0, request.limit),
      truncated: run.overflowed || files.length > request.limit,
      by: "ripgrep",
    };
  }
  const whole = run.stdout.subarray(0, run.stdout.lastIndexOf(10) + 1).toString("utf8");
  const { hits, truncated } = collect(whole, request, full, allowed);
  return { root, hits, files: [], truncated: truncated || run.overflowed, by: "ripgrep" };
}

function collect(
  output: string,
  request: SearchRequest,
  full: (path: string) => string,
  allowed: (path: string) => boolean,
): { hits: SearchHit[]; truncated: boolean } {
  const hits: SearchHit[] = [];
  let recent: { path: string; line: number; text: string }[] = [];
  for (const json of output.split("\n")) {
    if (json === "") continue;
    const parsed = lineSchema.safeParse(JSON.parse(json));
    if (!parsed.success) continue;
    const { type, data } = parsed.data;
    const path = full(textOf(data.path));
    if (!allowed(path)) continue;
    const bytes = bytesOf(data.lines);
    const text = chomp(decodeText(bytes));
    const last = hits.at(-1);
    if (last !== undefined && last.path === path && data.line_number > last.line && data.line_number <= last.line + request.context)
      last.after.push(shorten(text, 0, 0).text);
    if (type === "match") {
      if (hits.length >= request.limit) return { hits, truncated: true };
      const first = data.submatches[0] ?? { start: 0, end: 0 };
      const begin = characters(bytes, first.start);
      const cut = shorten(text, begin, characters(bytes, first.end));
      const before = recent.filter(
        (line) => line.path === path && line.line >= data.line_number - request.context && line.line < data.line_number,
      );
      hits.push({
        path,
        line: data.line_number,
        col: begin + 1,
        text: cut.text,
        truncated: cut.truncated,
        before: before.map((line) => shorten(line.text, 0, 0).text),
        after: [],
      });
    }
    if (request.context > 0) recent = [...recent.slice(-request.context), { path, line: data.line_number, text }];
  }
  return { hits, truncated: false };
}

async function byWalker(scope: LookScope, request: SearchRequest, root: string, isFolder: boolean): Promise<SearchResult> {
  const pattern = compile(request);
  const negated = request.include?.startsWith("!") ?? false;
  const glob = request.include === null ? null : compileGlob(negated ? request.include.slice(1) : request.include);
  const hits: SearchHit[] = [];
  const files: string[] = [];
  async function* candidates(): AsyncGenerator<string> {
    if (!isFolder) {
      yield root;
      return;
    }
    for await (const found of walk(root, { ...scope, recursive: true, hidden: false })) {
      if (found.kind === "file" && (glob === null || glob.matches(found.inside) !== negated)) yield found.path;
    }
  }
  for await (const path of candidates()) {
    const text = await textForSearch(scope, path);
    if (text === null) continue;
    const lines = text.split("\n").map(chomp);
    if (lines.at(-1) === "") lines.pop();
    for (const [index, line] of lines.entries()) {
      const match = pattern.exec(line);
      if (match === null) continue;
      if ((request.filesOnly ? files.length : hits.length) >= request.limit) return { root, hits, files, truncated: true, by: "walker" };
      if (request.filesOnly) {
        files.push(path);
        break;
      }
      const cut = shorten(line, match.index, match.index + match[0].length);
      const near = (from: number, to: number): string[] => lines.slice(Math.max(0, from), to).map((other) => shorten(other, 0, 0).text);
      hits.push({
        path,
        line: index + 1,
        col: match.index + 1,
        text: cut.text,
        truncated: cut.truncated,
        before: near(index - request.context, index),
        after: near(index + 1, index + 1 + request.context),
      });
    }
  }
  return { root, hits, files, truncated: false, by: "walker" };
}

function compile(request: SearchRequest): RegExp {
  const source = request.regex ? request.pattern : request.pattern.replace(/[\\^$.*+?()[\]{}|]/gu, "\\$&");
  try {
    return new RegExp(source, request.caseInsensitive ? "iu" : "u");
  } catch (error) {
    throw badPattern(request, error instanceof Error ? error.message : String(error));
  }
}

function badPattern(request: SearchRequest, reason: string): SomoraError {
  return new SomoraError(
    "SEARCH_PATTERN_INVALID",
    `The search ${JSON.stringify(request.pattern)} does not compile: ${reason.slice(0, 600)}`,
    {
      hint: "Mend the regular expression, or pass regex: false to search for plain text.",
    },
  );
}

async function textForSearch(scope: LookScope, path: string): Promise<string | null> {
  try {
    const { handle } = await openForRead(scope.policy, path, scope.agent);
    try {
      if ((await handle.stat()).size > MOST_FILE) return null;
      const bytes = await handle.readFile();
      return looksBinary(bytes) ? null : decodeText(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SomoraError) return null;
    throw error;
  }
}

/** A long line becomes a window around the match; the match itself is bounded too. */
function shorten(line: string, from: number, to: number): { text: string; truncated: boolean } {
  if (line.length <= WHOLE_LINE) return { text: line, truncated: false };
  const start = Math.max(0, Math.min(from, line.length) - WINDOW);
  const end = Math.min(line.length, Math.min(to, from + WINDOW) + WINDOW);
  return { text: wellFormed(`${start > 0 ? "…" : ""}${line.slice(start, end)}${end < line.length ? "…" : ""}`), truncated: true };
}

/** Byte offset to characters (UTF-16 units); inside a character it counts that one, past the end it is the end. */
function characters(bytes: Buffer, offset: number): number {
  return bytes.subarray(0, Math.min(offset, bytes.length)).toString("utf8").length;
}

function chomp(line: string): string {
  return line.replace(/\r?\n$/u, "").replace(/\r$/u, "");
}
function bytesOf(value: z.infer<typeof textOrBytes>): Buffer {
  return "text" in value ? Buffer.from(value.text, "utf8") : Buffer.from(value.bytes, "base64");
}
function textOf(value: z.infer<typeof textOrBytes>): string {
  const path = bytesOf(value).toString("utf8");
  return path.startsWith("./") ? relative(".", path) : path;
}
