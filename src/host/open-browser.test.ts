/** Opening a browser, with a fake `xdg-open` first on PATH. Would catch: a browser opened on a server, in CI, over ssh. */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBrowser, whyNoBrowser } from "./open-browser.ts";
import type { BrowserPlace } from "./open-browser.ts";

const ADDRESS = 'http://127.0.0.1:18737/#pair=a\'b "c" $(d) & e';

let folder: string;
let desktop: BrowserPlace;

async function fakeOpener(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "somora-open-"));
  desktop = { platform: "linux", env: { PATH: folder, DISPLAY: ":0" }, terminal: true, wanted: true };
});
afterEach(() => rm(folder, { recursive: true }));

describe("a desktop with a terminal", () => {
  it.each([
    ["linux", "xdg-open", { DISPLAY: ":0" }],
    ["linux", "xdg-open", { WAYLAND_DISPLAY: "wayland-0" }],
    ["darwin", "open", {}],
  ] as const)("on %s hands the address to %s, whole and as one argument", async (platform, opener, env) => {
    await fakeOpener(opener, `printf '%s|' "$#" "$1" > "${join(folder, "opened")}"`);
    expect(await openBrowser(ADDRESS, { ...desktop, platform, env: { PATH: folder, ...env } })).toBe(true);
    expect(await readFile(join(folder, "opened"), "utf8")).toBe(`1|${ADDRESS}|`);
  });
  it("without an opener, or with one that fails, is told so", async () => {
    expect(await openBrowser(ADDRESS, desktop)).toBe(false);
    await fakeOpener("xdg-open", "exit 3");
    expect(await openBrowser(ADDRESS, desktop)).toBe(false);
  });
});

describe("no browser is opened", () => {
  it.each([
    ["--no-open", { wanted: false }],
    ["no terminal", { terminal: false }],
    ["CI", { env: { DISPLAY: ":0", CI: "true" } }],
    ["ssh session", { env: { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" } }],
    ["ssh session", { platform: "darwin", env: { SSH_TTY: "/dev/pts/1" } }],
    ["no desktop", { env: {} }],
  ] as const)("and the reason names it: %s", async (reason, change) => {
    await fakeOpener("xdg-open", `touch "${join(folder, "opened")}"`);
    await fakeOpener("open", `touch "${join(folder, "opened")}"`);
    const place = {
      ...desktop,
      ...change,
      env: { PATH: folder, DISPLAY: ":0", ...("env" in change ? { DISPLAY: undefined, ...change.env } : {}) },
    };
    expect(whyNoBrowser(place)).toContain(reason);
    expect(await openBrowser(ADDRESS, place)).toBe(false);
    await expect(readFile(join(folder, "opened"))).rejects.toThrow("ENOENT");
  });
});
