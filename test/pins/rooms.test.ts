/** Rooms import only along the arrows of `rooms.ts`, and nothing in `src` or `ui` imports in a circle. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ROOMS } from "./rooms.ts";
import type { Room } from "./rooms.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const toPosix = (path: string) => relative(root, path).split(sep).join("/");

interface Import {
  from: string;
  to: string;
  /** Gone once compiled: it may close a circle. */
  typeOnly: boolean;
}

const files = ["src", "ui"].flatMap((folder) => sourcesIn(join(root, folder)));
const imports = files.flatMap((file) => importsOf(toPosix(file), readFileSync(file, "utf8")));

function sourcesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sourcesIn(path);
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts") ? [path] : [];
  });
}

/** Relative imports only; `import type` and re-exports count, and so does `import(…)`. */
export function importsOf(file: string, text: string): Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statement = /\b(import|export)\s+(type\s)?[^"';]*?from\s*["'](\.[^"']+)["']|\bimport\s*\(?\s*["'](\.[^"']+)["']/g;
  return [...code.matchAll(statement)].map((found) => ({
    from: file,
    to: posix.normalize(posix.join(dirname(file), found[3] ?? found[4] ?? "")),
    typeOnly: found[2] !== undefined,
  }));
}

const patternOf = (path: string, name = "[^/]+") => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("*", name)}`);

/** The room a file belongs to, and what `*` stands for in it. */
function roomOf(file: string): { room: Room; pattern: RegExp } | null {
  const matches = ROOMS.flatMap((room) => {
    const found = patternOf(room.path).exec(file)?.[0];
    return found === undefined ? [] : [{ room, pattern: patternOf(found), length: found.length }];
  });
  return matches.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** Why an import is not allowed, or null. */
export function objection({ from, to }: { from: string; to: string }): string | null {
  // Tests of a room may use everything.
  if (/\.test\.tsx?$/.test(from) || from.startsWith("src/main/")) return null;
  const place = roomOf(from);
  if (place === null) return `${from} belongs to no room of test/pins/rooms.ts: give it one.`;
  if (place.pattern.test(to) && roomOf(to)?.room === place.room) return null;
  if (place.room.mayImport.some((path) => patternOf(path).test(to))) return null;
  const allowed = place.room.mayImport.join(", ") || "nothing but itself";
  return `${from} imports ${to}. ${place.room.path} may import: ${allowed}.`;
}

describe("the rooms", () => {
  it("import only along their arrows", () => {
    expect(imports.length).toBeGreaterThan(10);
    expect(imports.flatMap((each) => objection(each) ?? [])).toEqual([]);
  });
  it("name files that exist, with their ending", () => {
    expect(
      imports
        .filter(({ to }) => !/\.(css|svg|json)$/.test(to) && !existsSync(join(root, to)))
        .map(({ from, to }) => `${from} imports ${to}`),
    ).toEqual([]);
  });
  it.each([
    ["src/machines/turn.machine.ts", "src/ports/clock.port.ts"],
    ["src/engines/rehearsal/play.ts", "src/engines/openai-compatible/stream.ts"],
    ["src/tools/file/read.ts", "src/tools/exec/exec.tool.ts"],
    ["src/tools/file/read.ts", "src/tools/registry.ts"],
    ["src/server/app.ts", "src/actors/tree.ts"],
    ["src/actors/kernel/round.ts", "src/machines/turn.machine.ts"],
    ["src/store/journal.ts", "src/main/server.ts"],
    ["ui/app.tsx", "src/ports/handles.port.ts"],
    ["src/brand-new/x.ts", "src/protocol/ids.ts"],
  ])("would refuse that %s imports %s", (from, to) => {
    expect(objection({ from, to })).toContain(from);
  });
  it.each([
    ["src/actors/tree.ts", "src/actors/kernel/kernel.ts"],
    ["src/engines/rehearsal/play.ts", "src/engines/shared/sse.ts"],
    ["src/engines/rehearsal/play.ts", "src/engines/rehearsal/script/parse.ts"],
    ["src/tools/file/read.tool.ts", "src/tools/define-tool.ts"],
    ["src/tools/registry.ts", "src/tools/file/index.ts"],
    ["src/main/server.ts", "src/actors/tree.ts"],
    ["src/store/x.test.ts", "test/support/node-script.ts"],
  ])("would let %s import %s", (from, to) => {
    expect(objection({ from, to })).toBeNull();
  });
});

describe("imports that stay after compiling", () => {
  it("form no circle", () => {
    const next = new Map<string, string[]>();
    for (const { from, to, typeOnly } of imports) if (!typeOnly) next.set(from, [...(next.get(from) ?? []), to]);
    expect(circlesIn(next)).toEqual([]);
  });
  it("would be found when they do", () => {
    const next = new Map([
      ["a", ["b", "x"]],
      ["b", ["c"]],
      ["c", ["a"]],
      ["x", ["c"]],
    ]);
    expect(circlesIn(next)).toEqual(["a → b → c → a"]);
  });
  it("are read from every form of import, comments aside", () => {
    const text = `import { a } from "./a.ts"; import type { B } from "../b.ts";\nexport * from "./c.ts"; import "./d.css"; await import("./e.ts");
      // import x from "./no.ts"\n/* import y from "./no.ts" */ import z from "zod";\nimport {\n  many,\n} from "./f.ts";`;
    expect(importsOf("src/room/file.ts", text).map(({ to, typeOnly }) => `${to}${typeOnly ? " type" : ""}`)).toEqual([
      "src/room/a.ts",
      "src/b.ts type",
      "src/room/c.ts",
      "src/room/d.css",
      "src/room/e.ts",
      "src/room/f.ts",
    ]);
  });
});

/** One line per file at which a walk runs into itself. */
function circlesIn(next: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    const seen = path.indexOf(file);
    if (seen >= 0) return void circles.push([...path.slice(seen), file].join(" → "));
    if (done.has(file)) return;
    for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return circles;
}
